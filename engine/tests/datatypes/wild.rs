//! Constructors with arguments that no program should pass: whatever comes out
//! is an error, or a type whose numbers fit together. Nothing panics.

use crate::generate::Random;
use serried_engine::datatype::{Basic, Datatype, Distribution, Order};
use serried_engine::Result;
use std::sync::Arc;

/// A number near one of the places where arithmetic breaks.
fn wild(random: &mut Random) -> i64 {
    const EDGES: [i64; 9] =
        [0, 1, -1, i32::MAX as i64, i32::MIN as i64, i64::MAX, i64::MIN, 1 << 31, 1 << 62];
    match random.below(4) {
        0 => random.bits() as i64,
        1 => random.below(6),
        _ => EDGES[random.below(9) as usize].wrapping_add(random.below(3) - 1),
    }
}

fn made(random: &mut Random, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
    let (a, b, c) = (wild(random), wild(random), wild(random));
    let number = random.below(4);
    let mut row = || (0..number).map(|_| wild(random)).collect::<Vec<i64>>();
    let (first, second, third, fourth) = (row(), row(), row(), row());
    let order = if a % 2 == 0 { Order::C } else { Order::Fortran };
    match random.below(12) {
        0 => Datatype::contiguous(a, old),
        1 => Datatype::vector(a, b, c, old),
        2 => Datatype::hvector(a, b, c, old),
        3 => Datatype::indexed(&first, &second, old),
        4 => Datatype::hindexed(&first, &second, old),
        5 => Datatype::indexed_block(a, &first, old),
        6 => Datatype::hindexed_block(a, &first, old),
        7 => Datatype::structure(&first, &second, &vec![old.clone(); number as usize]),
        8 => Datatype::resized(a, b, old),
        9 => Datatype::subarray(&first, &second, &third, order, old),
        10 => {
            let kinds: Vec<_> =
                first.iter().map(|kind| Distribution::from_number(kind.rem_euclid(3))).collect();
            Datatype::darray(a, b, &second, &kinds, &third, &fourth, order, old)
        }
        _ => Datatype::f90_real(Some(a), Some(b)),
    }
}

/// A chain of such types: each is asked everything, and the next made of it.
pub fn check(random: &mut Random) {
    let mut datatype = Datatype::basic(Basic::all()[random.below(Basic::NUMBER as i64) as usize]);
    for _ in 0..1 + random.below(5) {
        match made(random, &datatype) {
            Ok(new) => datatype = new,
            Err(error) => assert!(error.message().len() > 10, "{error:?}"),
        }
        let count = wild(random) as u64;
        if let Ok(bytes) = datatype.bytes(count) {
            assert_eq!(u128::from(bytes), u128::from(datatype.size()) * u128::from(count));
        }
        if let Ok((begin, end)) = datatype.span(count) {
            assert!(begin <= end);
        }
        if let Some(elements) = datatype.get_elements(datatype.size()) {
            assert!(elements == datatype.elements() || datatype.size() == 0);
        }
        let _ = (datatype.external_size(count), datatype.bytes_of_elements(count), datatype.dense(count));
        let mut list = Vec::new();
        let covered = datatype.segments(std::ptr::null_mut(), count, random.bits() >> 20, 100, &mut list, 4);
        assert_eq!(covered, list.iter().map(|piece| piece.1 as u64).sum::<u64>());
    }
}
