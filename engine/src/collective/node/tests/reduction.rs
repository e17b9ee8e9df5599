//! Reductions over a block have the same bits at every length, and those of the
//! message forms.

use super::*;
use crate::kept::Kept;
use crate::reduce::Builtin;
use std::sync::Mutex;

/// What member `rank` contributes to a sum: numbers of very different size.
pub fn numbers(rank: u32, count: usize) -> Vec<f64> {
    let mut random = Random::new(u64::from(rank) + 5);
    let power = |random: &mut Random| 10f64.powi(random.below(30) as i32 - 15);
    (0..count).map(|_| (random.below(1 << 40) as f64) * power(&mut random)).collect()
}

pub fn doubles(numbers: &mut [f64]) -> Data {
    let double = Datatype::basic(Basic::Float64);
    Data::new(numbers.as_mut_ptr().cast(), 0, numbers.len() as i64, &double).unwrap()
}

#[test]
fn long_sums_have_the_bits_of_short_ones() {
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    const LONG: usize = 20_001;
    for size in [2u32, 3, 5, 8] {
        at_seats(size, |seat, wait| {
            let part = 100;
            let mut expected = numbers(seat.rank, LONG);
            for piece in expected.chunks_mut(part) {
                let receive = doubles(piece);
                let operation = Operation::Allreduce { send: None, receive, operator: (&operator).into() };
                run(seat, &operation, wait).unwrap();
            }
            for (kind, root) in [(0, 0), (1, 0), (2, 0), (2, size - 1), (3, 1)] {
                let (mut send, mut result) = (numbers(seat.rank, LONG), vec![0f64; LONG]);
                let in_place = kind == 1 || (kind == 3 && seat.rank == root);
                if in_place {
                    result.clone_from(&send);
                }
                let given = (!in_place).then(|| doubles(&mut send));
                let (receive, operator) = (doubles(&mut result), Kept::from(&operator));
                let is_root = kind < 2 || seat.rank == root;
                let operation = match kind {
                    0 | 1 => Operation::Allreduce { send: given, receive, operator },
                    _ => {
                        let receive = is_root.then_some(receive);
                        Operation::Reduce { root: Root::Rank(root), send: given, receive, operator }
                    }
                };
                assert!(wants(seat, &operation) && can(seat, &operation, wait).unwrap());
                run_large(seat, &operation, wait).unwrap();
                let same = result.iter().zip(&expected).all(|(one, other)| one.to_bits() == other.to_bits());
                assert!(same || !is_root, "kind {kind}, root {root}, {size} ranks");
                assert!(is_root || result.iter().all(|number| *number == 0.0), "nothing comes elsewhere");
            }
        });
    }
}

#[test]
fn sums_have_the_bits_of_the_message_forms() {
    let double = Datatype::basic(Basic::Float64);
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    for size in [2u32, 3, 5, 6, 8, 9, 13] {
        for count in [1usize, 6, 7, 500] {
            let numbers = |rank: u32| -> Vec<f64> {
                let mut random = Random::new(u64::from(rank) + 5);
                let power = |random: &mut Random| 10f64.powi(random.below(30) as i32 - 15);
                (0..count).map(|_| (random.below(1 << 40) as f64) * power(&mut random)).collect()
            };
            let data = |numbers: &mut Vec<f64>| {
                Data::new(numbers.as_mut_ptr().cast(), 0, numbers.len() as i64, &double).unwrap()
            };
            let members = collective::tests::buffer::group(size);
            let mut sends: Vec<_> = (0..size).map(numbers).collect();
            let mut expected = vec![vec![0f64; count]; size as usize];
            let mut schedules: Vec<_> = members
                .iter()
                .zip(sends.iter_mut().zip(&mut expected))
                .map(|(members, (send, result))| {
                    collective::allreduce(*members, Some(data(send)), data(result), &operator).unwrap()
                })
                .collect();
            collective::tests::twin::run(&members, &mut schedules, 3);
            let results = Mutex::new(Vec::new());
            at_seats(size, |seat, wait| {
                let (mut send, mut receive) = (numbers(seat.rank), vec![0f64; count]);
                let (send, receive_data) = (Some(data(&mut send)), data(&mut receive));
                let operation =
                    Operation::Allreduce { send, receive: receive_data, operator: (&operator).into() };
                assert!(fits(seat, &operation));
                run(seat, &operation, wait).unwrap();
                results.lock().unwrap().push(receive);
            });
            let bits = |numbers: &Vec<f64>| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            for result in results.lock().unwrap().iter() {
                assert_eq!(bits(result), bits(&expected[0]), "{size} ranks, {count} numbers");
            }
        }
    }
}

/// The sums that a member gets from a scan and a reduce_scatter of numbers, in
/// pieces of `part` numbers.
fn partial_sums(seat: &Member, by: &Sleeper, part: usize, is_long: bool) -> Vec<u64> {
    const LONG: usize = 6000;
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    let size = seat.size as usize;
    let (mut given, mut all) = (numbers(seat.rank, LONG), Vec::new());
    for piece in given.chunks_mut(part) {
        let mut result = vec![0f64; piece.len()];
        let (send, receive) = (Some(doubles(piece)), doubles(&mut result));
        let scan = Operation::Scan { send, receive, operator: (&operator).into() };
        assert_eq!(run_any(seat, &scan, by), is_long);
        all.extend(result.iter().map(|number| number.to_bits()));
    }
    for piece in given.chunks_mut(part) {
        // All goes to one member, so that the pieces of it are its whole.
        let mut counts = vec![0; size];
        counts[size - 1] = piece.len() as u64;
        let mut result = vec![0f64; piece.len()];
        let mine = counts[seat.rank as usize] as usize;
        let (send, receive) = (Some(doubles(piece)), doubles(&mut result[..mine]));
        let counts = Counts::Each(counts);
        let scattered = Operation::ReduceScatter { send, receive, counts, operator: (&operator).into() };
        assert_eq!(run_any(seat, &scattered, by), is_long);
        all.extend(result.iter().map(|number| number.to_bits()));
    }
    all
}

#[test]
fn long_partial_sums_have_the_bits_of_short_ones() {
    for size in [2, 3, 5, 8, 11] {
        at_seats(size, |seat, by| {
            let short = partial_sums(seat, by, 500, false);
            assert!(partial_sums(seat, by, 6000, true) == short, "{size} ranks, rank {}", seat.rank);
        });
    }
}

#[test]
fn pairs_of_value_and_index_are_reduced_at_every_length() {
    let pair = Datatype::basic(Basic::DoubleInt);
    let operator = Arc::new(Operator::builtin(Builtin::MaxLocation));
    #[repr(C)]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Pair(f64, i32);
    at_seats(5, |seat, wait| {
        for (count, is_long) in [(1usize, false), (2, false), (256, false), (257, true), (9001, true)] {
            let mut pairs: Vec<Pair> =
                (0..count).map(|at| Pair(f64::from((seat.rank + at as u32) % 5), seat.rank as i32)).collect();
            let receive = Data::new(pairs.as_mut_ptr().cast(), 0, count as i64, &pair).unwrap();
            let operation = Operation::Allreduce { send: None, receive, operator: (&operator).into() };
            assert_eq!(run_any(seat, &operation, wait), is_long, "{count}");
            for (at, pair) in pairs.iter().enumerate() {
                assert_eq!(*pair, Pair(4.0, (4 + 4 * at as i32) % 5), "pair {at}");
            }
        }
    });
}

#[test]
fn scans_have_the_bits_of_the_message_form() {
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    const COUNT: usize = 50;
    for size in [2u32, 3, 5, 8, 13] {
        let members = collective::tests::buffer::group(size);
        let mut sends: Vec<_> = (0..size).map(|rank| numbers(rank, COUNT)).collect();
        let mut expected = vec![vec![0f64; COUNT]; size as usize];
        let mut schedules: Vec<_> = members
            .iter()
            .zip(sends.iter_mut().zip(&mut expected))
            .map(|(members, (send, result))| {
                collective::scan(*members, Some(doubles(send)), doubles(result), &operator).unwrap()
            })
            .collect();
        collective::tests::twin::run(&members, &mut schedules, 5);
        at_seats(size, |seat, by| {
            let (mut send, mut result) = (numbers(seat.rank, COUNT), vec![0f64; COUNT]);
            let (send, receive) = (Some(doubles(&mut send)), doubles(&mut result));
            run_any(seat, &Operation::Scan { send, receive, operator: (&operator).into() }, by);
            let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&result), bits(&expected[seat.rank as usize]), "{size} ranks");
        });
    }
}

/// Where `numbers` can begin in `room` so that the others reach them as `plain` says.
pub fn placed(seat: &Member, by: &Sleeper, room: &mut Vec<f64>, numbers: &[f64], plain: Reachable) -> Data {
    let bytes = 8 * numbers.len() as u64;
    room.resize(numbers.len() + 8, 0.0);
    let first =
        [0, 2, 4, 6].into_iter().find(|&at| by.lend(seat, (room[at..].as_ptr().cast(), bytes), 1) == plain);
    let place = &mut room[first.unwrap()..][..numbers.len()];
    place.copy_from_slice(numbers);
    doubles(place)
}

#[test]
fn where_ranks_share_cores_a_sum_has_an_epoch_less_if_all_can_write_the_result() {
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    for size in [3u32, 5, 8] {
        at_wide_seats(size, |seat, by| {
            let mine = numbers(seat.rank, 20_000);
            let mut expected = mine.clone();
            for piece in expected.chunks_mut(100) {
                let operation = Operation::Allreduce {
                    send: None,
                    receive: doubles(piece),
                    operator: (&operator).into(),
                };
                run(seat, &operation, by).unwrap();
            }
            for (closed, in_place) in [(size, false), (size, true), (1, false), (1, true)] {
                let (mut send, mut room) = (mine.clone(), Vec::new());
                let plain = if seat.rank == closed { Reachable::Nothing } else { Reachable::All };
                let receive = placed(seat, by, &mut room, &mine, plain);
                let result = receive.address.cast_const().cast::<f64>();
                let send = (!in_place).then(|| doubles(&mut send));
                let operation = Operation::Allreduce { send, receive, operator: (&operator).into() };
                assert!(can(seat, &operation, by).unwrap());
                let before = seat.epochs();
                run_large(seat, &operation, by).unwrap();
                assert_eq!(seat.epochs() - before, if closed < size { 3 } else { 2 });
                // SAFETY: it lies in `room`, which nobody writes any more.
                let result = unsafe { std::slice::from_raw_parts(result, expected.len()) };
                let same = result.iter().zip(&expected).all(|(one, other)| one.to_bits() == other.to_bits());
                assert!(same, "{size} ranks, closed {closed}, in place {in_place}");
            }
        });
    }
}
