//! Short operands of two members, which each of them lends or not.

use super::reduction::{doubles, numbers, placed};
use super::*;
use crate::reduce::Builtin;

/// How many epochs an operation takes: one more where a member lends its own data, since they can be read,
/// or since neither its slot nor another place has room for a copy.
fn epochs(lends: bool, is_long: bool, count: usize, (seat, by): (&Seat, &Sleeper)) -> u64 {
    let has_room = by.room(seat, 8 * count as u64).is_some();
    1 + u64::from(lends || is_long && !has_room)
}

/// Has the members settle how they reach each other.
fn settle(seat: &Seat, by: &Sleeper) {
    let settled = Operation::Allgather { send: None, receive: doubles(&mut numbers(seat.rank, 1000)) };
    assert!(can(seat, &settled, by).unwrap());
}

#[test]
fn whoever_lends_its_operand_both_get_the_sum_in_its_place_or_elsewhere() {
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    at_seats(2, |seat, by| {
        settle(seat, by);
        for round in 0..240 {
            // Each of the five bits in turn: who lends, whose result takes the place of its operand, and
            // whether slots have room.
            let is = |bit: u32| round >> bit & 1 == 1;
            let (lends, in_place) = (is(seat.rank), is(2 + seat.rank));
            let is_long = is(4);
            let count = if is_long { 513 + 16 * round } else { 257 + round };
            let (mine, theirs) = (numbers(seat.rank, count), numbers(1 - seat.rank, count));
            let (mut room, mut result) = (Vec::new(), vec![0f64; count]);
            let plain = if lends { Plain::All } else { Plain::Nothing };
            let operand = placed(seat, by, &mut room, &mine, plain);
            let (send, receive) = match in_place {
                true => (None, operand),
                false => (Some(operand), doubles(&mut result)),
            };
            let at = receive.address.cast_const().cast::<f64>();
            let before = seat.epochs();
            let operation = Operation::Allreduce { send, receive, operator: (&operator).into() };
            assert!(fits(seat, &operation));
            run(seat, &operation, by).unwrap();
            // From 8 KiB on it takes two as well where both can write the other's result.
            let least = epochs(is(0) || is(1), is_long, count, (seat, by));
            let most = if count <= 1024 { least } else { 2 };
            assert!((least..=most).contains(&(seat.epochs() - before)), "round {round}");
            // SAFETY: it lies in `room` or `result`, which nobody writes any more.
            let result = unsafe { std::slice::from_raw_parts(at, count) };
            let sums = mine.iter().zip(&theirs).map(|(mine, theirs)| mine + theirs);
            assert!(sums.eq(result.iter().copied()), "round {round}, rank {}", seat.rank);
        }
    });
}

#[test]
fn whoever_lends_its_block_both_get_both_in_their_places() {
    at_seats(2, |seat, by| {
        settle(seat, by);
        for round in 0..240 {
            // Each of the four bits in turn: who lends, whether the blocks are in place, and whether slots
            // have room.
            let is = |bit: u32| round >> bit & 1 == 1;
            let (in_place, is_long) = (is(2), is(3));
            let count = if is_long { 513 + 31 * round } else { 257 + round };
            let blocks = [0, 1].map(|rank| numbers(rank, count));
            let plain = if is(seat.rank) { Plain::All } else { Plain::Nothing };
            let (mut room, mut all) = (Vec::new(), vec![0f64; 2 * count]);
            let send = match in_place {
                true => {
                    all[seat.rank as usize * count..][..count].copy_from_slice(&blocks[seat.rank as usize]);
                    None
                }
                false => Some(placed(seat, by, &mut room, &blocks[seat.rank as usize], plain)),
            };
            let receive = Data { count: count as u64, ..doubles(&mut all) };
            let before = seat.epochs();
            let operation = Operation::Allgather { send, receive };
            assert!(fits(seat, &operation));
            run(seat, &operation, by).unwrap();
            if !in_place {
                assert_eq!(seat.epochs() - before, epochs(is(0) || is(1), is_long, count, (seat, by)));
            }
            assert!(all.iter().eq(blocks.iter().flatten()), "round {round}, rank {}", seat.rank);
        }
    });
}
