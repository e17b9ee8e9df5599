//! Operations of all kinds that others may do for a member, with their buffers.

use super::super::*;
use crate::collective::{Blocks, Neighbourhood, Sent};
use crate::reduce::Builtin;
use std::ops::Range;

/// Elements of the buffers: long enough for several pieces each, and odd.
const LENGTH: usize = 23_457;

fn number(rank: u32, index: usize) -> i64 {
    i64::from(rank + 1) * 1_000_003 + index as i64 * 7
}

fn numbers(rank: u32, count: usize) -> Vec<i64> {
    (0..count).map(|index| number(rank, index)).collect()
}

fn data(numbers: &mut [i64]) -> Data {
    let int = Datatype::basic(Basic::Int64);
    Data::new(numbers.as_mut_ptr().cast(), 0, numbers.len() as i64, &int).unwrap()
}

/// A block for each member, of the length that it has.
fn cut(numbers: &mut [i64], size: u32, length: &dyn Fn(u32) -> usize) -> Blocks {
    let mut left = numbers;
    (0..size).map(|member| data(left.split_off_mut(..length(member)).unwrap())).collect()
}

/// What a member sends, where its result goes, and what that shall be.
pub struct Sides {
    send: Vec<i64>,
    receive: Vec<i64>,
    pub expected: Vec<i64>,
}

impl Sides {
    fn new(send: Vec<i64>, receive: Vec<i64>, expected: Vec<i64>) -> Sides {
        Sides { send, receive, expected }
    }

    pub fn are_right(&self) -> bool {
        self.receive == self.expected
    }
}

pub const KINDS: u32 = 25;
/// In those from here on only the root looks at all.
pub const FIRST_ROOTED: u32 = 16;
/// From here on roots alone know all blocks.
pub const FIRST_UNEVEN: u32 = 20;
/// A function of the program.
const FUNCTION: u32 = 24;
/// From here on to those a member knows only its own blocks.
pub const FIRST_OF_TABLES: u32 = 12;

/// An operation of some kind, and the buffers that it names. `away` is a member that matters.
pub fn operation(kind: u32, (rank, size, away): (u32, u32, u32)) -> (Operation, Sides) {
    match kind {
        7..FIRST_OF_TABLES => return of_parts(kind, rank, size),
        FIRST_OF_TABLES..FIRST_ROOTED => return of_tables(kind, rank, size),
        FIRST_UNEVEN..FUNCTION => return uneven(kind, (rank, size, away)),
        _ => {}
    }
    let operator = Kept::from(Arc::new(match kind {
        FUNCTION => of_program(),
        _ => Operator::builtin(Builtin::Sum),
    }));
    let all = size as usize * LENGTH;
    let sums: Vec<i64> = (0..LENGTH).map(|index| (0..size).map(|rank| number(rank, index)).sum()).collect();
    let joined = || (0..size).flat_map(|rank| numbers(rank, LENGTH)).collect::<Vec<i64>>();
    let blocks = |from| numbers(from, all)[rank as usize * LENGTH..][..LENGTH].to_vec();
    let root = if [3, 19].contains(&kind) { away } else { (away + 1) % size };
    let (mut sides, in_place) = match kind {
        0 | FUNCTION => (Sides::new(numbers(rank, LENGTH), vec![0; LENGTH], sums), false),
        1 => (Sides::new(vec![], numbers(rank, LENGTH), sums), true),
        2 | 3 if rank == root => (Sides::new(numbers(rank, LENGTH), vec![0; LENGTH], sums), false),
        2 | 3 => (Sides::new(numbers(rank, LENGTH), vec![], vec![]), false),
        4 => (Sides::new(numbers(rank, LENGTH), vec![0; all], joined()), false),
        5 => {
            let mut receive = vec![0; all];
            receive[rank as usize * LENGTH..][..LENGTH].copy_from_slice(&numbers(rank, LENGTH));
            (Sides::new(vec![], receive, joined()), true)
        }
        16 if rank == root => (Sides::new(vec![], numbers(root, LENGTH), numbers(root, LENGTH)), true),
        16 => (Sides::new(vec![], vec![0; LENGTH], numbers(root, LENGTH)), true),
        17 => {
            let send = if rank == root { numbers(rank, all) } else { vec![] };
            (Sides::new(send, vec![0; LENGTH], blocks(root)), rank != root)
        }
        18 | 19 if rank == root => (Sides::new(numbers(rank, LENGTH), vec![0; all], joined()), false),
        18 | 19 => (Sides::new(numbers(rank, LENGTH), vec![], vec![]), false),
        _ => {
            let expected = (0..size).flat_map(blocks).collect();
            (Sides::new(numbers(rank, all), vec![0; all], expected), false)
        }
    };
    let send = (!in_place).then(|| data(&mut sides.send));
    let block = |whole: Data| Data { count: LENGTH as u64, ..whole };
    let receive = data(&mut sides.receive);
    let operation = match kind {
        0 | 1 | FUNCTION => Operation::Allreduce { send, receive, operator },
        2 | 3 => {
            let receive = (rank == root).then_some(receive);
            Operation::Reduce { root: Root::Rank(root), send, receive, operator }
        }
        4 | 5 => Operation::Allgather { send, receive: block(receive) },
        6 => Operation::Alltoall { send: send.map(block), receive: block(receive) },
        16 => Operation::Broadcast { root: Root::Rank(root), data: receive },
        17 => {
            let (root, receive) = (Root::Rank(root), Some(receive));
            Operation::Scatter { root, send: send.map(block), receive }
        }
        _ => {
            let receive = (rank == root).then(|| block(receive));
            Operation::Gather { root: Root::Rank(root), send, receive }
        }
    };
    (operation, sides)
}

/// The same for results that are parts of a sum, or sums of some.
fn of_parts(kind: u32, rank: u32, size: u32) -> (Operation, Sides) {
    let operator = Kept::from(Arc::new(Operator::builtin(Builtin::Sum)));
    let sum = |ranks: Range<u32>, index| ranks.map(|rank| number(rank, index)).sum::<i64>();
    let sums = |ranks: Range<u32>| (0..LENGTH).map(|index| sum(ranks.clone(), index)).collect::<Vec<i64>>();
    // Rank 0 gets nothing.
    let (part, before) = (rank as usize * 9001, (0..rank as usize).sum::<usize>() * 9001);
    let all = (0..size as usize).sum::<usize>() * 9001;
    let (is_scan, is_behind) = (kind >= 9, u32::from(kind == 11));
    let (length, expected) = match is_scan {
        true => (LENGTH, sums(0..rank + 1 - is_behind)),
        false => (all, (before..before + part).map(|index| sum(0..size, index)).collect()),
    };
    let mut sides = match kind {
        7 => Sides::new(numbers(rank, length), vec![0; part], expected),
        9 | 11 => Sides::new(numbers(rank, length), vec![0; length], expected),
        _ => {
            let mut after = numbers(rank, length);
            after[..expected.len()].copy_from_slice(&expected);
            Sides::new(vec![], numbers(rank, length), after)
        }
    };
    let send = [7, 9, 11].contains(&kind).then(|| data(&mut sides.send));
    let receive = data(&mut sides.receive);
    let counts = Counts::Each((0..u64::from(size)).map(|rank| rank * 9001).collect());
    let operation = match kind {
        7 | 8 => Operation::ReduceScatter { send, receive, counts, operator },
        11 => Operation::Exscan { send, receive, operator },
        _ => Operation::Scan { send, receive, operator },
    };
    (operation, sides)
}

/// The same for blocks that only two members know; some are empty, and each member has one for itself.
fn of_tables(kind: u32, rank: u32, size: u32) -> (Operation, Sides) {
    let in_place = kind == 14;
    let length = |from: u32, to: u32| match kind {
        12 => from as usize * 9001,
        14 => ((from + to) % 3) as usize * 8011,
        _ => ((from * 3 + to * 5) % 4) as usize * 8011,
    };
    let block = |from: u32, to: u32| -> Vec<i64> {
        let key = if kind == 12 { from } else { from * size + to };
        (0..length(from, to)).map(|index| number(key, index)).collect()
    };
    let all = |which: &dyn Fn(u32) -> Vec<i64>| (0..size).flat_map(which).collect::<Vec<i64>>();
    let expected = all(&|from| block(from, rank));
    let given = if kind == 12 { block(rank, 0) } else { all(&|to| block(rank, to)) };
    let mut sides = match in_place {
        true => Sides::new(vec![], given, expected),
        false => Sides::new(given, vec![0; expected.len()], expected),
    };
    let cut = |numbers: &mut [i64], length: &dyn Fn(u32) -> usize| cut(numbers, size, length);
    let receive = cut(&mut sides.receive, &|from| length(from, rank));
    let operation = match kind {
        12 => Operation::Allgatherv { send: Some(data(&mut sides.send)), receive },
        13 | 14 => {
            let send = (!in_place).then(|| cut(&mut sides.send, &|to| length(rank, to)));
            Operation::Alltoallw { send, receive }
        }
        _ => {
            let everybody: Vec<_> = (0..size).map(Some).collect();
            let (sources, destinations) = (everybody.clone(), everybody);
            let hood = Neighbourhood { sources, destinations, cartesian: false };
            let send = Sent::Each(cut(&mut sides.send, &|to| length(rank, to)));
            Operation::Neighbours { hood, send, receive }
        }
    };
    (operation, sides)
}

/// The same for blocks that only a root knows all of: a short one, and with many members an empty one.
/// The root is the member after the one that matters, or that one.
fn uneven(kind: u32, (rank, size, away): (u32, u32, u32)) -> (Operation, Sides) {
    let (is_scatter, root) = (kind < 22, if kind.is_multiple_of(2) { (away + 1) % size } else { away });
    let length = |member: u32| match (member + size - away) % size {
        2 => 60,
        3 => 0,
        behind => LENGTH - behind as usize * 1001,
    };
    let block = |member: u32| numbers(member, length(member));
    let all = || (0..size).flat_map(block).collect::<Vec<i64>>();
    let is_root = rank == root;
    let of_root = if is_root { all() } else { vec![] };
    let (send, expected) = if is_scatter { (of_root, block(rank)) } else { (block(rank), of_root) };
    let mut sides = Sides::new(send, vec![0; expected.len()], expected);
    let cut = |numbers: &mut [i64]| cut(numbers, size, &length);
    let root = Root::Rank(root);
    let operation = match is_scatter {
        true => {
            let send = if is_root { cut(&mut sides.send) } else { Blocks::new() };
            Operation::Scatterv { root, send, receive: Some(data(&mut sides.receive)) }
        }
        false => {
            let receive = if is_root { cut(&mut sides.receive) } else { Blocks::new() };
            Operation::Gatherv { root, send: Some(data(&mut sides.send)), receive }
        }
    };
    (operation, sides)
}

/// Sums as a function of the program makes them.
fn of_program() -> Operator {
    let function = |left: *const u8, right: *mut u8, count: u64, _: &Arc<Datatype>| {
        for index in 0..count as usize {
            // SAFETY: arrays of `count` integers of eight bytes, apart from each other.
            unsafe { *right.cast::<i64>().add(index) += *left.cast::<i64>().add(index) };
        }
    };
    Operator::user(Box::new(function), false)
}
