//! A rank that measures both ways around crossovers, together with the others.

use super::crossing::{best, Point};
use super::curve_table;
use super::probes::Probe;
use crate::bench::blocks::Memory;
use crate::bench::measuring::Bench;
use serried_engine::tuning::crossovers::place_of;
use serried_engine::tuning::{file, ALL};
use serried_engine::{Class, Engine, Error, Result};
use std::path::Path;
use std::time::Duration;

/// How long a batch of calls takes about, and how many of each there are.
const BATCH: Duration = Duration::from_micros(800);
const ROUNDS: usize = 9;
/// How often more lengths are measured, where the two ways have not crossed.
const PARTS: usize = 4;

/// A bench on each sort of memory.
type Benches<'a> = [(Memory, Bench<'a>); 3];

/// Measures; rank 0 tells what it has found and, if there is a file, adds it there.
///
/// # Errors
/// What goes wrong on the way.
pub fn measure(engine: &Engine, probes: &[&Probe], into: Option<&Path>) -> Result<()> {
    let mut values = match into.filter(|file| file.is_file()) {
        Some(file) => file::read(file)?,
        None => ALL.map(|crossover| crossover.default),
    };
    let bytes = probes.iter().map(|probe| probe.most_bytes()).max().unwrap_or(8);
    let mut benches = [Memory::Heap, Memory::Window, Memory::Apart]
        .map(|memory| (memory, Bench::new(engine, memory, bytes)));
    for probe in probes {
        let (points, found) = locate(&mut benches, probe)?;
        if let Some(at) = place_of(probe.crossover.name) {
            values[at] = found;
        }
        if engine.rank() == 0 {
            curve_table::tell(probe, &points, found);
        }
    }
    match into.filter(|_| engine.rank() == 0) {
        Some(file) => std::fs::write(file, file::text(&curve_table::machine(), &values)).map_err(|cause| {
            Error::new(Class::NoSuchFile, format!("cannot write {}: {cause}", file.display()))
        }),
        None => Ok(()),
    }
}

/// The times of both ways around a crossover, and where it lies. Where they do not cross, more is measured on that side.
fn locate(benches: &mut Benches<'_>, probe: &Probe) -> Result<(Vec<Point>, u32)> {
    let (mut all, mut center, mut found) = (Vec::new(), probe.crossover.default, probe.crossover.default);
    for _ in 0..PARTS {
        let lengths: Vec<u64> =
            probe.lengths(center).into_iter().filter(|&length| is_new(&all, length)).collect();
        if lengths.is_empty() {
            break;
        }
        all.extend(curves(benches, probe, &lengths)?);
        all.sort_by_key(|point: &Point| point.length);
        // All ranks have the same times, and so come to the same place.
        let (place, is_inside) = place(probe, &all);
        (found, center) = (place, place);
        if is_inside {
            break;
        }
    }
    Ok((all, found))
}

/// Whether a length is not nearly one that has been measured.
fn is_new(points: &[Point], length: u64) -> bool {
    points.iter().all(|point| point.length.abs_diff(length) > length / 8)
}

/// The times of both ways at some lengths. The crossover is as before afterwards. All sorts of memory count alike, and so do
/// programs that touch all of their data and those that touch nothing: a time is the geometric mean of all these.
fn curves(benches: &mut Benches<'_>, probe: &Probe, lengths: &[u64]) -> Result<Vec<Point>> {
    let before = probe.crossover.bytes() as u32;
    let (mut sums, mut count) = (vec![[0.0; 2]; lengths.len()], 0.0);
    for (_, bench) in benches.iter_mut().filter(|(memory, _)| probe.memories.contains(memory)) {
        for touches in [true, false] {
            bench.touch(touches);
            for (sums, times) in sums.iter_mut().zip(times(bench, probe, lengths)?) {
                sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time.ln());
            }
            count += 1.0;
        }
    }
    probe.crossover.set(before);
    let point = |(&length, sums): (&u64, &[f64; 2])| {
        let [below, beyond] = sums.map(|sum: f64| (sum / count).exp());
        Point { length, below, beyond }
    };
    Ok(lengths.iter().zip(&sums).map(point).collect())
}

/// Seconds of both ways at each length; all of them take turns.
fn times(bench: &mut Bench<'_>, probe: &Probe, lengths: &[u64]) -> Result<Vec<[f64; 2]>> {
    let ways = [probe.crossover.most, probe.crossover.least];
    let mut times = vec![[Vec::new(), Vec::new()]; lengths.len()];
    let mut calls = Vec::new();
    for &length in lengths {
        // Peers map each other's memory within the first calls.
        bench.batch(probe.cell(length), 20)?;
        let one = bench.batch(probe.cell(length), 4)? / 4;
        calls.push((BATCH.as_nanos() / one.as_nanos().max(1)).clamp(2, 1000) as usize);
    }
    for _ in 0..ROUNDS {
        for (index, &length) in lengths.iter().enumerate() {
            for (way, times) in ways.iter().zip(&mut times[index]) {
                probe.crossover.set(*way);
                let cell = probe.cell(length);
                bench.batch(cell, 2)?;
                times.push(bench.batch(cell, calls[index])?.as_secs_f64() / calls[index] as f64);
            }
        }
    }
    Ok(times.iter_mut().map(|ways| ways.each_mut().map(|times| median(times))).collect())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Where the crossover lies by these times, and whether there are lengths on both sides of it.
fn place(probe: &Probe, points: &[Point]) -> (u32, bool) {
    let default = probe.crossover.default;
    let now = points.iter().filter(|point| probe.goes_below(point.length, default)).count();
    let below = best(points, now);
    let length = |at: usize| points.get(at).map(|point| point.length);
    match (below == now, below.checked_sub(1).and_then(length), length(below)) {
        (false, Some(shorter), Some(longer)) => (probe.between(shorter, longer), true),
        // What is beyond the lengths measured, nobody knows.
        (false, Some(last), None) => (probe.between(last, last), false),
        (false, None, Some(first)) => (probe.between(first, first).saturating_sub(8), false),
        (true, ..) | (_, None, None) => (default, true),
    }
}
