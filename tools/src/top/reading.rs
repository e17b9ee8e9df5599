//! All that moves, read at one moment: what is counted in one interval has to be divided
//! by the length of that very interval, also where the machine is so busy that a look
//! around is cut in two.

use crate::attach::{Attached, Snapshot};
use serried_engine::progress::clock;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

/// A reading that was off its core for longer than this (nanoseconds) is made again.
const CUT: u64 = 300_000;
/// How often, at most; the best is taken then.
const TRIES: u32 = 8;

/// What the pages and the rows of traffic said at one moment.
pub struct Reading {
    /// The moment, by the clock of the pages.
    pub now: u64,
    /// The same in seconds since 1970.
    pub time: f64,
    /// The pages.
    pub snapshots: Vec<Snapshot>,
    /// Messages and bytes, `[from * ranks + to]`. Bytes that a rank has taken by itself stand in
    /// its own row.
    pub flows: Vec<(u64, u64)>,
}

impl Reading {
    /// Reads all of them.
    pub fn of(job: &Attached) -> Reading {
        let (mut off, mut best) = Reading::once(job);
        for _ in 1..TRIES {
            if off < CUT {
                break;
            }
            let (again, reading) = Reading::once(job);
            if again < off {
                (off, best) = (again, reading);
            }
        }
        best
    }

    /// One try, and for how long it was off its core.
    fn once(job: &Attached) -> (u64, Reading) {
        let (began, worked_before) = (clock::nanoseconds(), worked());
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let snapshots = job.snapshot();
        let flows = flows(job, snapshots.len());
        let (worked, took) = (worked() - worked_before, clock::nanoseconds() - began);
        let reading = Reading { now: began + took / 2, time: time + took as f64 / 2e9, snapshots, flows };
        (took.saturating_sub(worked), reading)
    }
}

fn flows(job: &Attached, size: usize) -> Vec<(u64, u64)> {
    let mut now = vec![(0, 0); size * size];
    for rank in 0..size {
        for (peer, flow) in job.view().flows(rank as u32).iter().enumerate() {
            now[rank * size + peer].0 += flow.messages.load(Relaxed);
            now[rank * size + peer].1 += flow.bytes.load(Relaxed) + flow.given.load(Relaxed);
            now[peer * size + rank].1 += flow.taken.load(Relaxed);
        }
    }
    now
}

/// Nanoseconds for which this thread has had a core.
fn worked() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
