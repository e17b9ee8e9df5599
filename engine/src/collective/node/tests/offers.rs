//! Short operands of two members, which each of them lends or not.

use super::reduction::{doubles, numbers, placed};
use super::*;
use crate::reduce::Builtin;

#[test]
fn whoever_lends_its_operand_both_get_the_sum_in_its_place_or_elsewhere() {
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    at_seats(2, |seat, by| {
        let settled = Operation::Allreduce {
            send: None,
            receive: doubles(&mut numbers(seat.rank, 1000)),
            operator: (&operator).into(),
        };
        assert!(can(seat, &settled, by).unwrap());
        for round in 0..240 {
            // Each of the four bits in turn: who lends, and whose result takes the place of its operand.
            let is = |bit: u32| round >> bit & 1 == 1;
            let (lends, in_place) = (is(seat.rank), is(2 + seat.rank));
            let count = 257 + round;
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
            run(seat, &operation, by).unwrap();
            assert_eq!(seat.epochs() - before, if is(0) || is(1) { 2 } else { 1 });
            // SAFETY: it lies in `room` or `result`, which nobody writes any more.
            let result = unsafe { std::slice::from_raw_parts(at, count) };
            let sums = mine.iter().zip(&theirs).map(|(mine, theirs)| mine + theirs);
            assert!(sums.eq(result.iter().copied()), "round {round}, rank {}", seat.rank);
        }
    });
}
