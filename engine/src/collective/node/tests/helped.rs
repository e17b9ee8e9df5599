//! Members that begin an operation and stay away: the others do it without them.

use super::later::as_members;
use super::*;
use crate::collective::reduce_scatter::Counts;
use crate::collective::{Neighbourhood, Sent};
use crate::reduce::Builtin;
use crate::world::topology::Neighbours;
use std::ops::Range;
use std::sync::Barrier;
use std::task::Poll;

/// Items of the buffers: long enough for several pieces each, and odd.
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

/// What a member sends, where its result goes, and what that shall be.
struct Sides {
    send: Vec<i64>,
    receive: Vec<i64>,
    expected: Vec<i64>,
}

impl Sides {
    fn new(send: Vec<i64>, receive: Vec<i64>, expected: Vec<i64>) -> Sides {
        Sides { send, receive, expected }
    }

    fn are_right(&self) -> bool {
        self.receive == self.expected
    }
}

const KINDS: u32 = 20;
/// In those from here on only the root looks at all.
const FIRST_ROOTED: u32 = 16;
/// From here on to those a member knows only its own blocks.
const FIRST_OF_TABLES: u32 = 12;

/// An operation of some kind, and the buffers that it names. `away` is a member that matters.
fn operation(kind: u32, (rank, size, away): (u32, u32, u32)) -> (Operation, Sides) {
    match kind {
        7..FIRST_OF_TABLES => return of_parts(kind, rank, size),
        FIRST_OF_TABLES..FIRST_ROOTED => return of_tables(kind, rank, size),
        _ => {}
    }
    let operator = Kept::from(Arc::new(Operator::builtin(Builtin::Sum)));
    let all = size as usize * LENGTH;
    let sums: Vec<i64> = (0..LENGTH).map(|index| (0..size).map(|rank| number(rank, index)).sum()).collect();
    let joined = || (0..size).flat_map(|rank| numbers(rank, LENGTH)).collect::<Vec<i64>>();
    let blocks = |from| numbers(from, all)[rank as usize * LENGTH..][..LENGTH].to_vec();
    let root = if [3, 19].contains(&kind) { away } else { (away + 1) % size };
    let (mut sides, in_place) = match kind {
        0 => (Sides::new(numbers(rank, LENGTH), vec![0; LENGTH], sums), false),
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
        0 | 1 => Operation::Allreduce { send, receive, operator },
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
    let cut = |numbers: &mut [i64], length: &dyn Fn(u32) -> usize| {
        let mut left = numbers;
        (0..size).map(|member| data(left.split_off_mut(..length(member)).unwrap())).collect::<Vec<Data>>()
    };
    let receive = cut(&mut sides.receive, &|from| length(from, rank));
    let operation = match kind {
        12 => Operation::Allgatherv { send: Some(data(&mut sides.send)), receive },
        13 | 14 => {
            let send = (!in_place).then(|| cut(&mut sides.send, &|to| length(rank, to)));
            Operation::Alltoallw { send, receive }
        }
        _ => {
            let everybody: Vec<_> = (0..size).map(Some).collect();
            let neighbours = Neighbours { sources: everybody.clone(), destinations: everybody };
            let hood = Neighbourhood { neighbours, cartesian: false };
            let send = Sent::Each(cut(&mut sides.send, &|to| length(rank, to)));
            Operation::Neighbours { hood, send, receive }
        }
    };
    (operation, sides)
}

/// Settles how members reach each other.
fn settle(seat: &Seat, by: &Sleeper) {
    if seat.reaches.get().is_none() {
        let receive = Data::nothing();
        can(seat, &Operation::Allgather { send: None, receive }, by).unwrap();
    }
}

/// Goes on with an operation that waits, does something for others, or sleeps.
fn drive(later: &mut Later, by: &Sleeper) -> Poll<Result<bool>> {
    if !later.is_due() && later.can_help() {
        later.help();
    } else if !later.is_due() {
        later.lie_down();
        // No limit: a wake that is missed hangs the test.
        by.doorbell.sleep_unless(|| later.has_something(), None);
        later.get_up();
    }
    later.go_on(std::ptr::null())
}

#[test]
fn a_member_that_is_away_is_not_waited_for_and_finds_all_done() {
    for size in [2, 3, 5] {
        let barrier = Barrier::new(size as usize);
        as_members(size, |rank, member| {
            for round in 0..4 * KINDS {
                let (kind, away) = (round % KINDS, round / KINDS % size);
                let seat = &member.seats[round as usize % member.seats.len()];
                settle(seat, member.by);
                let (operation, sides) = operation(kind, (rank, size, away));
                let mut later = Later::new(seat, Arc::new(operation), &Arc::default(), member.by);
                let is_first = (rank == away).then(|| later.go_on(std::ptr::null()));
                barrier.wait();
                let mut over = is_first.unwrap_or_else(|| later.go_on(std::ptr::null()));
                while rank != away && over.is_pending() {
                    over = drive(&mut later, member.by);
                }
                let is_right = rank == away || sides.are_right();
                barrier.wait();
                assert!(is_right, "round {round} of {size}, rank {rank}");
                if rank == away {
                    assert!(over.is_pending() && later.is_due(), "others have done it all");
                    // It takes home what they could not put to its place.
                    over = later.go_on(std::ptr::null());
                    assert!(sides.are_right(), "round {round} of {size}, away");
                }
                assert!(matches!(over, Poll::Ready(Ok(true))));
            }
        });
    }
}

#[test]
fn members_that_come_and_go_share_the_work() {
    for size in [2, 3, 5] {
        as_members(size, |rank, member| {
            let mut random = Random::new(u64::from(rank) + 3);
            for round in 0..60 {
                let seat = &member.seats[round as usize % member.seats.len()];
                settle(seat, member.by);
                let (operation, sides) = operation(round * 5 % KINDS, (rank, size, round % size));
                let mut later = Later::new(seat, Arc::new(operation), &Arc::default(), member.by);
                let mut over = later.go_on(std::ptr::null());
                (0..random.below(40)).for_each(|_| std::thread::yield_now());
                while over.is_pending() {
                    over = drive(&mut later, member.by);
                }
                assert!(
                    matches!(over, Poll::Ready(Ok(true))) && sides.are_right(),
                    "round {round} of {size}"
                );
            }
        });
    }
}

/// What becomes of an operation that is driven to its end.
fn ended(seat: &Arc<Seat>, operation: Operation, by: &'static Sleeper<'static>) -> Poll<Result<bool>> {
    let mut later = Later::new(seat, Arc::new(operation), &Arc::default(), by);
    let mut over = later.go_on(std::ptr::null());
    while over.is_pending() {
        over = drive(&mut later, by);
    }
    over
}

#[test]
fn members_that_disagree_about_shared_work_all_hear_of_it_and_go_on() {
    as_members(3, |rank, member| {
        let seat = &member.seats[0];
        settle(seat, member.by);
        for round in 0..4 * FIRST_OF_TABLES {
            let (kind, is_wrong) = (round / 2 % FIRST_OF_TABLES, round % 2 == 0);
            let (mut operation, sides) = operation(kind, (rank, 3, round % 3));
            if is_wrong && rank == 1 {
                shorten(&mut operation);
            }
            match (ended(seat, operation, member.by), is_wrong) {
                (Poll::Ready(Err(error)), true) => assert_eq!(error.class(), Class::Truncate),
                (Poll::Ready(Ok(true)), false) => assert!(sides.are_right()),
                other => panic!("round {round}: {other:?}"),
            }
        }
    });
}

#[test]
fn a_block_that_is_longer_than_awaited_is_reported_by_who_awaits_it_and_one_that_is_shorter_is_taken() {
    as_members(3, |rank, member| {
        let seat = &member.seats[0];
        settle(seat, member.by);
        for round in 0..20 {
            let (longer, shorter) = (round % 2 == 0, round % 2 == 1);
            let (mut operation, mut sides) = operation(13, (rank, 3, 0));
            let Operation::Alltoallw { send: Some(send), receive } = &mut operation else { unreachable!() };
            // Rank 1 has 8011 items for rank 2, which come last there.
            if rank == 2 && longer {
                receive[1].count -= 1;
            }
            if rank == 1 && shorter {
                send[2].count -= 1000;
            }
            if rank == 2 && shorter {
                let end = sides.expected.len() - receive[2].count as usize;
                sides.expected[end - 1000..end].fill(0);
            }
            match ended(seat, operation, member.by) {
                Poll::Ready(Err(error)) if longer && rank == 2 => assert_eq!(error.class(), Class::Truncate),
                Poll::Ready(Ok(true)) if shorter || rank != 2 => assert!(sides.are_right(), "round {round}"),
                other => panic!("round {round}, rank {rank}: {other:?}"),
            }
        }
    });
}

#[test]
fn a_member_that_disagrees_with_a_root_hears_of_it_and_all_go_on() {
    as_members(3, |rank, member| {
        let seat = &member.seats[0];
        settle(seat, member.by);
        for round in 0..8 * (KINDS - FIRST_ROOTED) {
            let (kind, is_wrong) = (FIRST_ROOTED + round / 2 % (KINDS - FIRST_ROOTED), round % 2 == 0);
            // The root is the last one.
            let (mut operation, sides) = operation(kind, (rank, 3, if kind == 19 { 2 } else { 1 }));
            if is_wrong && rank == 1 {
                shorten(&mut operation);
            }
            match (ended(seat, operation, member.by), is_wrong && rank > 0) {
                (Poll::Ready(Err(error)), true) => assert_eq!(error.class(), Class::Truncate),
                (Poll::Ready(Ok(true)), true) => assert!(rank == 2, "the root need not see it"),
                (Poll::Ready(Ok(true)), false) => assert!(sides.are_right(), "round {round}"),
                other => panic!("round {round}: {other:?}"),
            }
        }
    });
}

/// Takes an item off what a member gives and wants.
fn shorten(operation: &mut Operation) {
    let shorten = |data: &mut Data| data.count -= 1;
    match operation {
        Operation::Allreduce { send, receive, .. }
        | Operation::Scan { send, receive, .. }
        | Operation::Exscan { send, receive, .. }
        | Operation::Allgather { send, receive }
        | Operation::Alltoall { send, receive } => {
            send.iter_mut().for_each(shorten);
            shorten(receive);
        }
        Operation::Reduce { send, receive, .. }
        | Operation::Gather { send, receive, .. }
        | Operation::Scatter { send, receive, .. } => send.iter_mut().chain(receive).for_each(shorten),
        Operation::ReduceScatter { counts: Counts::Each(counts), .. } => counts[1] -= 1,
        Operation::Broadcast { data, .. } => shorten(data),
        _ => unreachable!("not one of these"),
    }
}
