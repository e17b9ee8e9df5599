//! Operators on elements: what comes out, and that nothing is lost.

use super::*;

/// Bytes that are no special numbers of any type, and small ones.
fn samples(basic: Basic, seed: usize) -> Vec<u8> {
    let number = |value: usize, basic: Basic| -> Vec<u8> {
        let value = value % 7 + 1;
        match basic {
            Basic::Float32 => (value as f32).to_ne_bytes().to_vec(),
            Basic::Float64 => (value as f64).to_ne_bytes().to_vec(),
            // 1.0 or 2.0 with 80 bits.
            Basic::LongDouble => {
                let exponent = 0x3fffu16 + (value % 2) as u16;
                let mut bytes = (1u64 << 63).to_ne_bytes().to_vec();
                bytes.extend(exponent.to_ne_bytes());
                bytes.resize(16, 0);
                bytes
            }
            other => {
                let mut bytes = (value as u128).to_ne_bytes().to_vec();
                bytes.resize(other.size() as usize, 0);
                bytes
            }
        }
    };
    let parts: Vec<Basic> = match basic {
        Basic::ComplexFloat32 => vec![Basic::Float32; 2],
        Basic::ComplexFloat64 => vec![Basic::Float64; 2],
        Basic::ComplexLongDouble => vec![Basic::LongDouble; 2],
        Basic::Bool => return vec![(seed % 2) as u8],
        pair => pair.pair().map_or(vec![pair], |(first, second)| vec![first, second]),
    };
    parts.into_iter().enumerate().flat_map(|(at, part)| number(seed * 3 + at, part)).collect()
}

/// So many items in memory, as C lays them out, from packed samples.
fn items(basic: Basic, count: usize, seed: usize) -> Vec<u8> {
    let mut memory = vec![0u8; count * basic.extent() as usize];
    let packed: Vec<u8> = (0..count).flat_map(|at| samples(basic, seed + at)).collect();
    let datatype = Datatype::basic(basic);
    // SAFETY: `memory` has room for the items.
    unsafe { datatype.unpack(memory.as_mut_ptr(), count as u64, 0, &packed) };
    memory
}

fn bytes(memory: &mut [u8], basic: Basic, count: usize) -> Data {
    Data::new(memory.as_mut_ptr(), 0, count as i64, &Datatype::basic(basic)).unwrap()
}

const COUNT: usize = 5;

#[test]
fn every_operator_gives_what_a_reduction_gives_for_every_type() {
    each_way(2, |engine, world| {
        let (me, peer) = (engine.rank(), 1 - engine.rank());
        // At odd places too, where no instruction changes an element at once.
        for shift in [0, 4, 1] {
            let mut mine = vec![0u8; 8 + COUNT * 32 + 64];
            let exposure = engine.expose(world, given(&mut mine), 1).unwrap();
            lock_all(engine, &exposure);
            for &basic in Basic::all() {
                let datatype = Datatype::basic(basic);
                let place = target(peer, shift, COUNT, &datatype);
                let mut first = items(basic, COUNT, 1);
                engine.put(&exposure, &bytes(&mut first, basic, COUNT), &place).unwrap();
                let mut expected = first.clone();
                for builtin in Builtin::all() {
                    let operator = operator(builtin);
                    let mut origin = items(basic, COUNT, 2);
                    let mut before = items(basic, COUNT, 0);
                    let changed = engine.get_accumulate(
                        &exposure,
                        &bytes(&mut origin, basic, COUNT),
                        &bytes(&mut before, basic, COUNT),
                        &place,
                        &operator,
                    );
                    match builtin {
                        Builtin::NoOp => {}
                        Builtin::Replace => assert!(changed.is_ok()),
                        _ if operator.check(&datatype).is_err() => {
                            let class = operator.check(&datatype).unwrap_err().class();
                            assert_eq!(changed.unwrap_err().class(), class);
                            continue;
                        }
                        _ => {}
                    }
                    changed.unwrap();
                    assert_eq!(before, masked(basic, &expected, &before), "{basic:?} {builtin:?} at {shift}");
                    match builtin {
                        Builtin::NoOp => {}
                        Builtin::Replace => expected = origin,
                        // SAFETY: both are items of the type.
                        _ => unsafe {
                            operator.apply(origin.as_ptr(), expected.as_mut_ptr(), COUNT as u64, &datatype);
                        },
                    }
                    let mut now = expected.clone();
                    engine.get(&exposure, &bytes(&mut now, basic, COUNT), &place).unwrap();
                    assert_eq!(now, expected, "{basic:?} {builtin:?} at {shift}");
                }
            }
            engine.unlock_all(&exposure).unwrap();
            engine.unexpose(&exposure).unwrap();
            let _ = me;
        }
    });
}

/// Items with the padding of others.
fn masked(basic: Basic, of: &[u8], padding: &[u8]) -> Vec<u8> {
    let mut result = padding.to_vec();
    let datatype = Datatype::basic(basic);
    let count = (of.len() / basic.extent() as usize) as u64;
    let mut packed = vec![0u8; of.len()];
    // SAFETY: all have room for the items.
    unsafe {
        let length = datatype.pack(of.as_ptr(), count, 0, &mut packed);
        datatype.unpack(result.as_mut_ptr(), count, 0, &packed[..length]);
    }
    result
}

/// Each member adds to the memory of all; nothing is lost.
fn hammer<T: Copy + PartialEq + Sync + std::fmt::Debug>(
    basic: Basic,
    zero: T,
    one: T,
    sum: impl Fn(u32) -> T + Sync,
) {
    const ROUNDS: u32 = 200;
    each_way(4, |engine, world| {
        let mut mine = [zero; 9];
        let unit = size_of::<T>() as i64;
        let exposure = engine.expose(world, given(&mut mine), unit).unwrap();
        let datatype = Datatype::basic(basic);
        lock_all(engine, &exposure);
        let add = operator(Builtin::Sum);
        for round in 0..ROUNDS {
            let rank = round % engine.size();
            let (mut origin, mut old) = ([one; 9], [zero; 9]);
            engine
                .accumulate(&exposure, &data(&mut origin, basic), &target(rank, 0, 9, &datatype), &add)
                .unwrap();
            let (by, was) = (origin.as_ptr().cast(), old.as_mut_ptr().cast());
            engine.fetch_and_op(&exposure, by, was, &datatype, (rank, 4), &add).unwrap();
        }
        meet(engine, &exposure);
        let each = ROUNDS / engine.size() * engine.size();
        let expected: Vec<T> = (0..9).map(|at| sum(if at == 4 { 2 * each } else { each })).collect();
        assert_eq!(mine[..], expected[..]);
        engine.unlock_all(&exposure).unwrap();
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn no_addition_is_lost() {
    hammer(Basic::Int32, 0i32, 1, |sum| sum as i32);
    hammer(Basic::Uint8, 0u8, 1, |sum| sum as u8);
    hammer(Basic::Int16, 0i16, 1, |sum| sum as i16);
    hammer(Basic::Int64, 0i64, 1, i64::from);
    hammer(Basic::Float64, 0.0f64, 1.0, f64::from);
    hammer(Basic::Float32, 0.0f32, 1.0, |sum| sum as f32);
    hammer(Basic::ComplexFloat64, [0.0f64; 2], [1.0, 2.0], |sum| [f64::from(sum), 2.0 * f64::from(sum)]);
    hammer(Basic::ComplexFloat32, [0.0f32; 2], [1.0, 2.0], |sum| [sum as f32, 2.0 * sum as f32]);
}

#[test]
fn each_swap_that_succeeds_does_so_alone() {
    each_way(3, |engine, world| {
        let mut mine = [0i64; 1];
        let exposure = engine.expose(world, given(&mut mine), 8).unwrap();
        let long = Datatype::basic(Basic::Int64);
        lock_all(engine, &exposure);
        let mut old = 0i64;
        for _ in 0..200 {
            loop {
                let (new, compare) = (old + 1, old);
                let items = ((&raw const new).cast(), (&raw const compare).cast(), (&raw mut old).cast());
                engine.compare_and_swap(&exposure, items, &long, (0, 0)).unwrap();
                if old == compare {
                    break;
                }
            }
        }
        let double = Datatype::basic(Basic::Float64);
        let items = ((&raw const old).cast(), (&raw const old).cast(), (&raw mut old).cast());
        let refused = engine.compare_and_swap(&exposure, items, &double, (0, 0));
        assert_eq!(refused.unwrap_err().class(), Class::Type);
        meet(engine, &exposure);
        if engine.rank() == 0 {
            assert_eq!(mine, [600]);
        }
        engine.unlock_all(&exposure).unwrap();
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn what_cannot_be_accumulated_is_refused() {
    each_way(1, |engine, world| {
        let mut mine = [0i32; 8];
        let exposure = engine.expose(world, given(&mut mine), 1).unwrap();
        lock_all(engine, &exposure);
        let (int, double) = (Datatype::basic(Basic::Int32), Datatype::basic(Basic::Float64));
        let mixed = Datatype::structure(&[1, 1], &[0, 8], &[int.clone(), double.clone()]).unwrap();
        let own = Operator::user(Box::new(|_, _, _, _| {}), true);
        let class = |origin: &Data, place: &Target, operator: &Operator| {
            engine.accumulate(&exposure, origin, place, operator).unwrap_err().class()
        };
        let mut ints = [1i32; 8];
        let origin = data(&mut ints, Basic::Int32);
        let add = operator(Builtin::Sum);
        assert_eq!(class(&origin, &target(0, 0, 8, &int), &own), Class::Op);
        assert_eq!(class(&origin, &target(0, 0, 8, &int), &operator(Builtin::MinLocation)), Class::Op);
        assert_eq!(class(&origin, &target(0, 0, 4, &double), &add), Class::Type);
        assert_eq!(class(&origin, &target(0, 0, 1, &mixed), &add), Class::Type);
        assert_eq!(class(&origin, &target(0, 0, 7, &int), &add), Class::Count);
        assert_eq!(class(&origin, &target(0, 4, 8, &int), &add), Class::RmaRange);
        assert_eq!(mine, [0; 8]);
        engine.unlock_all(&exposure).unwrap();
        engine.unexpose(&exposure).unwrap();
    });
}

/// Long accumulates, which one member does alone, beside short ones and single ones.
#[test]
fn nothing_is_lost_between_long_accumulates_and_single_words() {
    const LENGTH: usize = 5000;
    each_way(4, |engine, world| {
        let mut mine = vec![0.0f64; LENGTH];
        let exposure = engine.expose(world, given(&mut mine), 8).unwrap();
        let double = Datatype::basic(Basic::Float64);
        let add = operator(Builtin::Sum);
        lock_all(engine, &exposure);
        let mut ones = vec![1.0f64; LENGTH];
        for round in 0..20usize {
            let all = data(&mut ones, Basic::Float64);
            engine.accumulate(&exposure, &all, &target(0, 0, LENGTH, &double), &add).unwrap();
            for at in 0..40 {
                let (one, mut old) = (1.0f64, 0.0f64);
                let place = (0, ((round * 40 + at) % LENGTH) as i64);
                let items = ((&raw const one).cast(), (&raw mut old).cast());
                engine.fetch_and_op(&exposure, items.0, items.1, &double, place, &add).unwrap();
            }
        }
        meet(engine, &exposure);
        if engine.rank() == 0 {
            let expected =
                |at: usize| f64::from(engine.size()) * (20.0 + if at < 20 * 40 { 1.0 } else { 0.0 });
            assert!(mine.iter().enumerate().all(|(at, &item)| item == expected(at)));
        }
        engine.unlock_all(&exposure).unwrap();
        engine.unexpose(&exposure).unwrap();
    });
}
