//! Reductions within one group, with an operator that does not commute.

use super::buffer::{check, composed, composition, group, items, shapes, Item, Side, UNTOUCHED};
use super::twin;
use crate::collective::selection::Reduction;
use crate::collective::{self as collective, Counts, Data, Members, Root, Schedule};
use crate::datatype::{Basic, Datatype};
use crate::reduce::{Builtin, Operator};
use crate::Class;
use std::ops::Range;
use std::sync::Arc;

const COUNTS: [usize; 4] = [0, 1, 5, 16];
const ALGORITHMS: [Reduction; 2] = [Reduction::Tree, Reduction::Halving];

/// The combination of the vectors of some ranks, from left to right.
fn combined(ranks: Range<u32>, count: usize) -> Vec<Item> {
    let vectors = ranks.map(|rank| items(rank, count));
    let both = |left: Vec<Item>, right: Vec<Item>| {
        left.into_iter().zip(right).map(|(l, r)| composed(l, r)).collect()
    };
    vectors.reduce(both).unwrap_or_default()
}

/// A rank that contributes its items, in place or not.
fn side(rank: u32, count: usize, expected: Vec<Item>, datatype: &Arc<Datatype>, in_place: bool) -> Side {
    match in_place {
        true => Side::in_place(&items(rank, count), expected, datatype),
        false => Side::new(&items(rank, count), expected, (datatype, datatype)),
    }
}

/// Runs `body` for all sizes, counts, types, and in place or not.
fn for_all(body: impl Fn(u32, usize, &Arc<Datatype>, bool)) {
    for size in (1..=9).chain([13]) {
        for count in COUNTS {
            for datatype in shapes() {
                body(size, count, &datatype, false);
                body(size, count, &datatype, true);
            }
        }
    }
}

#[test]
fn reduce_combines_in_the_order_of_ranks_for_every_root() {
    let operator = composition();
    for_all(|size, count, datatype, in_place| {
        for root in 0..size {
            for algorithm in ALGORITHMS {
                let side = |rank| match rank == root {
                    true => side(rank, count, combined(0..size, count), datatype, in_place),
                    false => Side::new(&items(rank, count), vec![], (datatype, datatype)),
                };
                check("reduce", &group(size), (0..size).map(side).collect(), |members, side| {
                    let is_root = members.rank == root;
                    let send = (!(is_root && in_place)).then(|| side.send.data());
                    let receive = is_root.then(|| side.receive.data());
                    collective::reduce::build(members, Root::Rank(root), send, receive, &operator, algorithm)
                });
            }
        }
    });
}

#[test]
fn allreduce_combines_in_the_order_of_ranks() {
    let operator = composition();
    for_all(|size, count, datatype, in_place| {
        for algorithm in ALGORITHMS {
            let side = |rank| side(rank, count, combined(0..size, count), datatype, in_place);
            check("allreduce", &group(size), (0..size).map(side).collect(), |members, side| {
                let send = (!in_place).then(|| side.send.data());
                collective::allreduce::build(members, send, side.receive.data(), &operator, algorithm)
            });
        }
    });
}

#[test]
fn scan_and_exscan_combine_the_lower_ranks() {
    let operator = composition();
    for_all(|size, count, datatype, in_place| {
        let inclusive = |rank| side(rank, count, combined(0..rank + 1, count), datatype, in_place);
        check("scan", &group(size), (0..size).map(inclusive).collect(), |members, side| {
            let send = (!in_place).then(|| side.send.data());
            collective::scan(members, send, side.receive.data(), &operator)
        });
        let exclusive = |rank| {
            let expected = match (rank, in_place) {
                (0, true) => items(0, count),
                (0, false) => vec![UNTOUCHED; count],
                _ => combined(0..rank, count),
            };
            side(rank, count, expected, datatype, in_place)
        };
        check("exscan", &group(size), (0..size).map(exclusive).collect(), |members, side| {
            let send = (!in_place).then(|| side.send.data());
            collective::exscan(members, send, side.receive.data(), &operator)
        });
    });
}

#[test]
fn reduce_scatter_gives_each_rank_its_block() {
    let operator = composition();
    for_all(|size, salt, datatype, in_place| {
        let counts: Vec<u64> = (0..u64::from(size)).map(|rank| (rank * 7 + salt as u64) % 5).collect();
        let each = Counts::Each(counts.clone());
        let total = counts.iter().sum::<u64>() as usize;
        let side = |rank: u32| {
            let first = counts[..rank as usize].iter().sum::<u64>() as usize;
            let count = counts[rank as usize] as usize;
            let mut expected = combined(0..size, total)[first..][..count].to_vec();
            if in_place {
                expected.extend(&items(rank, total)[count..]);
            }
            side(rank, total, expected, datatype, in_place)
        };
        check("reduce_scatter", &group(size), (0..size).map(side).collect(), |members, side| {
            let send = (!in_place).then(|| side.send.data());
            collective::reduce_scatter(members, send, side.receive.part(0, 0), &each, &operator)
        });
    });
}

#[test]
fn reduce_scatter_block_gives_each_rank_its_block() {
    let operator = composition();
    for_all(|size, count, datatype, in_place| {
        let total = count * size as usize;
        let side = |rank: u32| {
            let mut expected = combined(0..size, total)[rank as usize * count..][..count].to_vec();
            if in_place {
                expected.extend(&items(rank, total)[count..]);
            }
            side(rank, total, expected, datatype, in_place)
        };
        check("reduce_scatter_block", &group(size), (0..size).map(side).collect(), |members, side| {
            let send = (!in_place).then(|| side.send.data());
            collective::reduce_scatter(members, send, side.receive.part(0, count), &Counts::Equal, &operator)
        });
    });
}

/// Numbers whose sum depends on the order of additions.
fn uneven_numbers(rank: u32, count: usize) -> Vec<f64> {
    let mut random = twin::Random::new(u64::from(rank) + 5);
    (0..count).map(|_| (random.below(1 << 40) as f64) * 10f64.powi(random.below(30) as i32 - 15)).collect()
}

/// The sums that each rank gets, as bits.
fn sums(size: u32, count: usize, build: impl Fn(Members, Data, Data) -> Schedule) -> Vec<Vec<u64>> {
    let double = Datatype::basic(Basic::Float64);
    let mut sends: Vec<_> = (0..size).map(|rank| uneven_numbers(rank, count)).collect();
    let mut results = vec![vec![0f64; count]; size as usize];
    let data = |numbers: &mut Vec<f64>| {
        Data::new(numbers.as_mut_ptr().cast(), 0, numbers.len() as i64, &double).unwrap()
    };
    let members = group(size);
    let mut schedules: Vec<_> = members
        .iter()
        .zip(sends.iter_mut().zip(&mut results))
        .map(|(members, (send, result))| build(*members, data(send), data(result)))
        .collect();
    twin::run(&members, &mut schedules, u64::from(size));
    results.iter().map(|result| result.iter().map(|number| number.to_bits()).collect()).collect()
}

#[test]
fn sums_are_the_same_bits_for_every_algorithm_root_and_rank() {
    let count = 18;
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    for size in [2, 3, 5, 6, 8, 9] {
        let allreduce = |algorithm| {
            sums(size, count, |members, send, receive| {
                collective::allreduce::build(members, Some(send), receive, &operator, algorithm).unwrap()
            })
        };
        let expected = &allreduce(Reduction::Tree)[0];
        for algorithm in ALGORITHMS {
            assert!(allreduce(algorithm).iter().all(|sum| sum == expected), "allreduce {algorithm:?} {size}");
            for root in 0..size {
                let reduced = sums(size, count, |members, send, receive| {
                    let root = Root::Rank(root);
                    collective::reduce::build(members, root, Some(send), Some(receive), &operator, algorithm)
                        .unwrap()
                });
                assert_eq!(&reduced[root as usize], expected, "reduce {algorithm:?} {size} {root}");
            }
        }
        let mut counts = vec![0; size as usize];
        counts[0] = count as u64;
        let counts = Counts::Each(counts);
        let scattered = sums(size, count, |members, send, receive| {
            collective::reduce_scatter(members, Some(send), receive, &counts, &operator).unwrap()
        });
        assert_eq!(&scattered[0], expected, "reduce_scatter {size}");
    }
}

#[test]
fn an_operator_that_does_not_take_the_type_is_refused() {
    let operator = Arc::new(Operator::builtin(Builtin::BitAnd));
    let double = Datatype::basic(Basic::Float64);
    let data = Data::new(std::ptr::null_mut(), 0, 0, &double).unwrap();
    let refused = collective::allreduce(group(1)[0], None, data, &operator);
    assert_eq!(refused.err().map(|failure| failure.class()), Some(Class::Op));
}
