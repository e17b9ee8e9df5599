//! Members that begin an operation and stay away: the others do it without them.

use self::kinds::{operation, Sides, FIRST_OF_TABLES, FIRST_ROOTED, FIRST_UNEVEN, KINDS};
use super::nonblocking::as_members;
use super::*;
use std::sync::Barrier;
use std::task::Poll;

mod hidden;
mod kinds;

/// Settles how members reach each other.
fn settle(seat: &Member, by: &Sleeper) {
    if seat.access.get().is_none() {
        let receive = Data::nothing();
        can(seat, &Operation::Allgather { send: None, receive }, by).unwrap();
    }
}

/// Goes on with an operation that waits, does something for others, or sleeps.
fn drive(later: &mut Task, by: &Sleeper) -> Poll<Result<bool>> {
    if !later.is_due() && later.can_help() {
        later.help();
    } else if !later.is_due() {
        later.lie_down();
        // No limit: a wake that is missed hangs the test.
        by.doorbell.sleep_unless(|| later.has_something(), None);
        later.get_up();
    }
    later.go_on()
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
                let mut later = Task::new(seat, Arc::new(operation), member.by);
                let is_first = (rank == away).then(|| later.go_on());
                barrier.wait();
                let mut over = is_first.unwrap_or_else(|| later.go_on());
                while rank != away && over.is_pending() {
                    over = drive(&mut later, member.by);
                }
                let is_right = rank == away || sides.are_right();
                barrier.wait();
                assert!(is_right, "round {round} of {size}, rank {rank}");
                if rank == away {
                    assert!(over.is_pending() && later.is_due(), "others have done it all");
                    // It takes home what they could not put to its place.
                    over = later.go_on();
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
                let mut later = Task::new(seat, Arc::new(operation), member.by);
                let mut over = later.go_on();
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
fn ended(seat: &Arc<Member>, operation: Operation, by: &'static Sleeper<'static>) -> Poll<Result<bool>> {
    let mut later = Task::new(seat, Arc::new(operation), by);
    let mut over = later.go_on();
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

/// A member hears that a block is too long for it, or else has what it shall have.
fn hears_or_has(over: Poll<Result<bool>>, hears: bool, sides: &Sides, (round, rank): (u32, u32)) {
    match over {
        Poll::Ready(Err(error)) if hears => assert_eq!(error.class(), Class::Truncate),
        Poll::Ready(Ok(true)) if !hears => assert!(sides.are_right(), "round {round}"),
        other => panic!("round {round}, rank {rank}: {other:?}"),
    }
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
            let over = ended(seat, operation, member.by);
            hears_or_has(over, longer && rank == 2, &sides, (round, rank));
        }
    });
}

#[test]
fn of_blocks_that_only_a_root_knows_a_longer_one_is_reported_and_a_shorter_one_is_taken() {
    as_members(3, |rank, member| {
        let seat = &member.seats[0];
        settle(seat, member.by);
        for round in 0..16 {
            let (longer, is_scatter) = (round % 2 == 0, round & 2 == 0);
            // Rank 2 is the root, and rank 1 has or gets a long block.
            let kind = if is_scatter { FIRST_UNEVEN } else { FIRST_UNEVEN + 2 };
            let (mut operation, mut sides) = operation(kind, (rank, 3, 1));
            let (given, wanted) = match &mut operation {
                Operation::Scatterv { send, receive, .. } => (send.get_mut(1), receive.as_mut()),
                Operation::Gatherv { send, receive, .. } => (send.as_mut(), receive.get_mut(1)),
                _ => unreachable!("not one of these"),
            };
            let (giver, taker) = if is_scatter { (2, 1) } else { (1, 2) };
            let mut missing = 0..0;
            match (given, wanted) {
                (Some(given), _) if rank == giver && !longer => given.count -= 1000,
                (_, Some(wanted)) if rank == taker && longer => wanted.count -= 1,
                (_, Some(wanted)) if rank == taker => {
                    // In the results of the root there is a short block before it.
                    let end = wanted.count as usize + if is_scatter { 0 } else { 60 };
                    missing = end - 1000..end;
                }
                _ => {}
            }
            sides.expected[missing].fill(0);
            let over = ended(seat, operation, member.by);
            hears_or_has(over, longer && rank == taker, &sides, (round, rank));
        }
    });
}

#[test]
fn a_member_that_disagrees_with_a_root_hears_of_it_and_all_go_on() {
    as_members(3, |rank, member| {
        let seat = &member.seats[0];
        settle(seat, member.by);
        for round in 0..8 * (FIRST_UNEVEN - FIRST_ROOTED) {
            let (kind, is_wrong) = (FIRST_ROOTED + round / 2 % (FIRST_UNEVEN - FIRST_ROOTED), round % 2 == 0);
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
