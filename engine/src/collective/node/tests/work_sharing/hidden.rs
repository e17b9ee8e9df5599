//! Operations of some KiB whose buffers others do not reach: what is given is copied, and stays behind; what comes
//! is taken by who wants it.

use super::super::nonblocking::as_members;
use super::super::*;
use super::{drive, settle};
use std::sync::Barrier;
use std::task::Poll;

const BLOCK: usize = 5003;
const KINDS: u32 = 5;

/// Memory that others do not reach, or that they do.
struct Hidden {
    memory: Vec<u8>,
    first: usize,
    bytes: usize,
}

impl Hidden {
    fn of(contents: &[u8], is_hidden: bool) -> Hidden {
        let (bytes, memory) = (contents.len(), vec![0; contents.len() + 64]);
        // As `lend` of these tests wants it.
        let wanted = if bytes.is_multiple_of(2) == is_hidden { 48 } else { 32 };
        let first = (64 + wanted - memory.as_ptr() as usize % 64) % 64;
        let mut hidden = Hidden { memory, first, bytes };
        hidden.bytes().copy_from_slice(contents);
        hidden
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..self.first + self.bytes]
    }

    /// As a buffer of blocks: the first one, or all of it.
    fn data(&mut self, bytes: usize) -> Data {
        let packed = Datatype::basic(Basic::Packed);
        Data::new(self.bytes().as_mut_ptr(), 0, bytes.min(self.bytes) as i64, &packed).unwrap()
    }
}

/// Blocks from members to members.
fn blocks(round: u32, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u8> {
    pairs.flat_map(|(from, to)| [(round * 31 + from * 7 + to * 3 + 1) as u8; BLOCK]).collect()
}

/// An operation, what it gives, which others may reach, where its result goes, and what that shall be.
fn operation(round: u32, (rank, size): (u32, u32), gives_hidden: bool) -> (Operation, [Hidden; 2], Vec<u8>) {
    let (kind, root) = (round % KINDS, round / KINDS % size);
    let is_root = rank == root;
    let to_all = |from: u32| blocks(round, (0..size).map(move |to| (from, to)));
    let of_all = |to: u32| blocks(round, (0..size).map(move |from| (from, to)));
    let one = |from: u32, to: u32| blocks(round, [(from, to)].into_iter());
    let (given, expected) = match kind {
        0 => (to_all(rank), of_all(rank)),
        1 => (one(rank, 0), of_all(0)),
        2 => (if is_root { to_all(root) } else { vec![] }, one(root, rank)),
        3 => (one(rank, root), if is_root { of_all(root) } else { vec![] }),
        _ => (vec![], one(root, 0)),
    };
    let before = if kind == 4 && is_root { expected.clone() } else { vec![0; expected.len()] };
    let (mut send, mut receive) = (Hidden::of(&given, gives_hidden), Hidden::of(&before, true));
    let (of_send, of_receive) = (send.data(BLOCK), receive.data(BLOCK));
    let root = Root::Rank(root);
    let operation = match kind {
        0 => Operation::Alltoall { send: Some(of_send), receive: of_receive },
        1 => Operation::Allgather { send: Some(of_send), receive: of_receive },
        2 => Operation::Scatter { root, send: is_root.then_some(of_send), receive: Some(of_receive) },
        3 => Operation::Gather { root, send: Some(of_send), receive: is_root.then_some(of_receive) },
        _ => Operation::Broadcast { root, data: of_receive },
    };
    (operation, [send, receive], expected)
}

#[test]
fn what_stays_behind_is_not_waited_for_and_nobody_writes_where_others_do_not_reach() {
    for size in [2, 4] {
        let barrier = Barrier::new(size as usize);
        as_members(size, |rank, member| {
            for round in 0..12 * KINDS {
                let seat = &member.seats[round as usize % member.seats.len()];
                settle(seat, member.by);
                let (operation, [_send, mut receive], expected) = operation(round, (rank, size), true);
                let mut later = Task::new(seat, Arc::new(operation), member.by);
                let mut over = later.go_on();
                barrier.wait();
                // Rank 0 stays away until the others have done.
                while rank != 0 && over.is_pending() {
                    over = drive(&mut later, member.by);
                }
                barrier.wait();
                while over.is_pending() {
                    over = drive(&mut later, member.by);
                }
                assert!(matches!(over, Poll::Ready(Ok(true))), "round {round}: {over:?}");
                assert!(*receive.bytes() == *expected, "round {round} of {size}");
            }
            assert_eq!(member.by.writes.get(), 0);
        });
    }
}

#[test]
fn a_result_that_others_do_not_reach_is_the_work_of_its_owner() {
    let barrier = Barrier::new(2);
    as_members(2, |rank, member| {
        for round in (0..8).map(|round| round * KINDS) {
            let seat = &member.seats[round as usize % member.seats.len()];
            settle(seat, member.by);
            let (operation, [_send, mut receive], expected) = operation(round, (rank, 2), false);
            let mut later = Task::new(seat, Arc::new(operation), member.by);
            let begin = |later: &mut Task| assert!(later.go_on().is_pending());
            if rank == 0 {
                begin(&mut later);
            }
            barrier.wait();
            // Rank 0 has begun and is away.
            if rank == 1 {
                begin(&mut later);
                assert!(!later.has_something(), "round {round}");
            }
            barrier.wait();
            let mut over = later.go_on();
            while over.is_pending() {
                over = drive(&mut later, member.by);
            }
            assert!(matches!(over, Poll::Ready(Ok(true))) && *receive.bytes() == *expected, "round {round}");
        }
        assert_eq!(member.by.writes.get(), 0);
    });
}
