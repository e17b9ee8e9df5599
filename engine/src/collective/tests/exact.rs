//! Exact sums by messages: every rank gets what adding up all operands at once gives.

use super::buffer::group;
use super::twin::{self, Random};
use crate::collective::{self as collective, Counts, Data, Members, Root, Schedule};
use crate::datatype::{Basic, Datatype};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// Numbers that mostly take each other away, and some that nothing can be added to.
fn numbers(rank: u32, count: usize) -> Vec<f64> {
    let mut random = Random::new(u64::from(rank / 2) + 5);
    let sign = if rank.is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut number = |at: usize| match at % 7 {
        0 => f64::from(rank) * 2f64.powi(-60),
        1 if rank == 1 => [f64::NAN, f64::INFINITY, -0.0][at % 3],
        2 => sign * f64::MAX,
        _ => sign * random.below(1 << 53) as f64 * 10f64.powi(random.below(60) as i32 - 30) + f64::from(rank),
    };
    (0..count).map(&mut number).collect()
}

/// The bits of the exact sum of the numbers of some ranks.
fn expected(ranks: impl Iterator<Item = u32>, count: usize) -> Vec<u64> {
    let operands: Vec<Vec<f64>> = ranks.map(|rank| numbers(rank, count)).collect();
    let pointers: Vec<*const u8> = operands.iter().map(|operand| operand.as_ptr().cast()).collect();
    let mut sums = vec![0f64; count];
    let exact = Operator::exact_sum().exact(&Datatype::basic(Basic::Float64)).unwrap();
    // SAFETY: all are vectors of `count` numbers.
    unsafe { exact.sum(&pointers, sums.as_mut_ptr().cast(), count) };
    bits(&sums)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

fn data(numbers: &mut [f64]) -> Data {
    let double = Datatype::basic(Basic::Float64);
    Data::new(numbers.as_mut_ptr().cast(), 0, numbers.len() as i64, &double).unwrap()
}

/// What every rank has in its result when the schedules have run. In place, the
/// operands lie there before.
fn results(
    members: &[Members],
    count: usize,
    in_place: bool,
    build: impl Fn(Members, Option<Data>, Data) -> Result<Schedule>,
) -> Vec<Vec<u64>> {
    let mut sends: Vec<Vec<f64>> = (0..members.len() as u32).map(|rank| numbers(rank, count)).collect();
    let mut receives = if in_place { sends.clone() } else { vec![vec![0f64; count]; members.len()] };
    let mut schedules: Vec<Schedule> = members
        .iter()
        .zip(sends.iter_mut().zip(&mut receives))
        .map(|(members, (send, receive))| {
            build(*members, (!in_place).then(|| data(send)), data(receive)).unwrap()
        })
        .collect();
    twin::run(members, &mut schedules, count as u64);
    receives.iter().map(|receive| bits(receive)).collect()
}

fn for_all(body: impl Fn(u32, usize, bool, &Arc<Operator>)) {
    let operator = Arc::new(Operator::exact_sum());
    for size in 1..=9 {
        for count in [1, 7, 250, 3000] {
            body(size, count, false, &operator);
            body(size, count, true, &operator);
        }
    }
}

#[test]
fn allreduce_and_reduce() {
    for_all(|size, count, in_place, operator| {
        let sum = expected(0..size, count);
        let everywhere = results(&group(size), count, in_place, |members, send, receive| {
            collective::allreduce(members, send, receive, operator)
        });
        assert!(everywhere.iter().all(|result| *result == sum), "{size} ranks, {count} numbers");
        let root = size / 2;
        let reduced = results(&group(size), count, in_place, |members, send, receive| {
            let is_root = members.rank == root;
            let operand = send.or_else(|| (!is_root).then(|| receive.clone()));
            collective::reduce(members, Root::Rank(root), operand, is_root.then_some(receive), operator)
        });
        assert_eq!(reduced[root as usize], sum, "{size} ranks, {count} numbers");
    });
}

#[test]
fn scan_and_exscan() {
    for_all(|size, count, in_place, operator| {
        let inclusive = results(&group(size), count, in_place, |members, send, receive| {
            collective::scan(members, send, receive, operator)
        });
        let exclusive = results(&group(size), count, in_place, |members, send, receive| {
            collective::exscan(members, send, receive, operator)
        });
        for rank in 0..size {
            assert_eq!(inclusive[rank as usize], expected(0..rank + 1, count), "{rank} of {size}");
            let below = match (rank, in_place) {
                (0, true) => bits(&numbers(0, count)),
                (0, false) => vec![0; count],
                _ => expected(0..rank, count),
            };
            assert_eq!(exclusive[rank as usize], below, "{rank} of {size}");
        }
    });
}

#[test]
fn reduce_scatter_with_blocks_of_all_sizes() {
    for_all(|size, count, in_place, operator| {
        let mut counts: Vec<u64> =
            (0..u64::from(size)).map(|rank| rank * 5 % 7 * count as u64 / 40).collect();
        counts[size as usize - 1] += count as u64 - counts.iter().sum::<u64>();
        let sum = expected(0..size, count);
        let scattered = results(&group(size), count, in_place, |members, send, receive| {
            collective::reduce_scatter(members, send, receive, &Counts::Each(counts.clone()), operator)
        });
        let mut first = 0;
        for (rank, &own) in counts.iter().enumerate() {
            assert_eq!(scattered[rank][..own as usize], sum[first..][..own as usize], "{rank} of {size}");
            first += own as usize;
        }
    });
}

#[test]
fn between_two_groups() {
    let operator = Arc::new(Operator::exact_sum());
    let members = super::buffer::groups(3, 4);
    let exchanged = results(&members, 250, false, |members, send, receive| {
        collective::allreduce(members, send, receive, &operator)
    });
    let (first, second) = (expected(0..3, 250), expected(3..7, 250));
    assert!(exchanged[..3].iter().all(|result| *result == second));
    assert!(exchanged[3..].iter().all(|result| *result == first));
}
