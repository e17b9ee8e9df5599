//! Many pieces at once, for faces without epochs.

use super::*;
use crate::collective::Operation;
use crate::onesided::{Pieces, Scattered, Strided};
use crate::reduce::Factor;

fn barrier(engine: &Engine, world: &Arc<Communicator>) {
    engine.run_collective(world, &Operation::Barrier).unwrap();
}

/// Exposes numbers of this member and gives the address of those of another.
fn exposed(engine: &Engine, world: &Arc<Communicator>, mine: &mut [f64], rank: u32) -> (Arc<Exposure>, u64) {
    let exposure = engine.expose(world, given(mine), 1).unwrap();
    let there = engine.region(&exposure, rank).unwrap().address();
    (exposure, there)
}

#[test]
fn strides_and_lists_go_there_and_back() {
    each_way(3, |engine, world| {
        let (mut mine, peer) = (vec![0.0f64; 1000], (engine.rank() + 1) % 3);
        let (exposure, there) = exposed(engine, world, &mut mine, peer);
        let region = engine.region(&exposure, peer).unwrap();
        let data: Vec<f64> = (0..500).map(|at| f64::from(1000 * engine.rank() + at)).collect();
        let mut back = vec![0.0f64; 500];
        let lines = |from: *const f64| {
            Strided::new(from.cast_mut().cast(), there + 80, 24)
                .repeat(5, 40, 32)
                .and_then(|row| row.repeat(4, 400, 1600))
        };
        // SAFETY: the pieces lie in `data` and `back`.
        unsafe {
            engine.put_pieces_to(region, &lines(data.as_ptr()).unwrap()).unwrap();
            engine.get_pieces_from(region, &lines(back.as_mut_ptr()).unwrap()).unwrap();
        }
        for (at, &number) in back.iter().enumerate() {
            let inside = at < 200 && at % 50 % 5 < 3 && at % 50 < 25;
            assert_eq!(number, if inside { data[at] } else { 0.0 }, "{at}");
        }
        let here: Vec<*mut u8> = (0..100).map(|at| data[at..].as_ptr().cast_mut().cast()).collect();
        let places: Vec<*mut u8> = (0..100).map(|at| (there + 8 * (999 - at)) as *mut u8).collect();
        // SAFETY: the pieces lie in `data`.
        unsafe {
            engine.put_pieces_to(region, &Scattered { here: &here, there: &places, bytes: 8 }).unwrap()
        };
        barrier(engine, world);
        let left = (engine.rank() + 2) % 3;
        assert!((0..100).all(|at| mine[999 - at] == (1000 * left as usize + at) as f64));
        assert_eq!(mine[10 + 4 * 4 + 2], f64::from(1000 * left + 22));
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn sums_lose_nothing_whatever_their_shape() {
    const ROUNDS: usize = 5;
    each_way(4, |engine, world| {
        let mut mine = vec![0.0f64; 3000];
        let (exposure, there) = exposed(engine, world, &mut mine, 0);
        let region = engine.region(&exposure, 0).unwrap();
        let ones = vec![1.0f64; 3000];
        let address: *mut u8 = ones.as_ptr().cast_mut().cast();
        let how = (Basic::Float64, Some(Factor::Double(0.5)));
        for _ in 0..ROUNDS {
            let whole = Strided::new(address, there, 24_000);
            let few = Strided::new(address, there, 8).repeat(30, 8, 800).unwrap();
            // SAFETY: the pieces lie in `ones`.
            unsafe {
                engine.add_pieces_to(region, &whole, how).unwrap();
                engine.add_pieces_to(region, &few, (Basic::Float64, None)).unwrap();
            }
        }
        barrier(engine, world);
        if engine.rank() == 0 {
            let rounds = (4 * ROUNDS) as f64;
            let right = |at: usize| rounds * if at.is_multiple_of(100) { 1.5 } else { 0.5 };
            assert!(mine.iter().enumerate().all(|(at, &number)| number == right(at)));
        }
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn elements_are_fetched_swapped_and_compared_at_their_addresses() {
    each_way(4, |engine, world| {
        let mut mine = [0.0f64; 4];
        let (exposure, there) = exposed(engine, world, &mut mine, 0);
        let region = engine.region(&exposure, 0).unwrap();
        let mut seen = Vec::new();
        for _ in 0..100 {
            let (by, mut was) = (1i64, 0i64);
            let items = ((&raw const by).cast(), (&raw mut was).cast());
            // SAFETY: both are such numbers.
            unsafe { engine.change_element(region, there, (Basic::Int64, Builtin::Sum), items).unwrap() };
            seen.push(was);
            loop {
                let (compare, new, mut found) = (was, was + 1, 0i64);
                let items = ((&raw const new).cast(), (&raw const compare).cast(), (&raw mut found).cast());
                // SAFETY: as above.
                unsafe { engine.compare_and_swap_element(region, (there + 8, 8), items).unwrap() };
                if found == was {
                    break;
                }
                std::thread::yield_now();
            }
        }
        assert!(seen.windows(2).all(|two| two[0] < two[1]));
        barrier(engine, world);
        if engine.rank() == 0 {
            assert_eq!((mine[0].to_bits(), mine[1].to_bits()), (400, 400));
        }
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn what_is_not_all_inside_is_refused_and_nothing_is_written() {
    each_way(2, |engine, world| {
        let mut mine = vec![0.0f64; 100];
        let (exposure, there) = exposed(engine, world, &mut mine, 1 - engine.rank());
        let region = engine.region(&exposure, 1 - engine.rank()).unwrap();
        let ones = [1.0f64; 200];
        let from: *mut u8 = ones.as_ptr().cast_mut().cast();
        let class = |pieces: &Strided| {
            // SAFETY: the pieces lie in `ones`.
            let (put, added) = unsafe {
                (
                    engine.put_pieces_to(region, pieces),
                    engine.add_pieces_to(region, pieces, (Basic::Float64, None)),
                )
            };
            (put.map_err(|error| error.class()), added.map_err(|error| error.class()))
        };
        let beyond = (Err(Class::RmaRange), Err(Class::RmaRange));
        assert_eq!(class(&Strided::new(from, there + 8, 800)), beyond);
        assert_eq!(class(&Strided::new(from, there - 8, 16)), beyond);
        assert_eq!(class(&Strided::new(from, there, 8).repeat(2, 8, 800).unwrap()), beyond);
        assert_eq!(class(&Strided::new(from, there, 8).repeat(2, 8, -8).unwrap()), beyond);
        assert_eq!(class(&Strided::new(from, there, 12)).1, Err(Class::Count));
        let nothing = Strided::new(from, 0, 0);
        assert_eq!((nothing.number(), class(&nothing)), (1, (Ok(()), Ok(()))));
        barrier(engine, world);
        assert_eq!(mine.iter().filter(|&&number| number != 0.0).count(), 1); // of the 12 bytes
        engine.unexpose(&exposure).unwrap();
        assert_eq!(engine.region(&exposure, 2).unwrap_err().class(), Class::Rank);
    });
}

#[test]
fn all_memory_of_a_rank_is_a_region_for_itself() {
    each_way(2, |engine, _| {
        let (own, mut numbers, one) = (engine.own_region(), [1.0f64, 2.0], [5.0f64]);
        let pieces = Strided::new(one.as_ptr().cast_mut().cast(), numbers.as_mut_ptr() as u64, 8);
        // SAFETY: the pieces lie in `one` and `numbers`.
        unsafe { engine.add_pieces_to(&own, &pieces, (Basic::Float64, None)).unwrap() };
        assert_eq!(numbers, [6.0, 2.0]);
    });
}
