//! Short operands of two members, which each of them lends or not.

use super::reduction::{doubles, numbers, placed};
use super::*;
use crate::reduce::Builtin;

/// How many epochs an operation takes: one more where a member lends its own data, since they can be read,
/// or since neither its slot nor another place has room for a copy.
pub fn epochs(lends: bool, is_long: bool, count: usize, (seat, by): (&Member, &Sleeper)) -> u64 {
    let has_room = by.scratch(seat, 8 * count as u64).is_some();
    1 + u64::from(lends || is_long && !has_room)
}

/// Has the members settle how they reach each other.
pub fn settle(seat: &Member, by: &Sleeper) {
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
            let plain = if lends { Reachable::All } else { Reachable::Nothing };
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
