//! Operations in which members know only their own blocks: short blocks, long ones,
//! and both by turns, in every operation and datatype.

use super::*;
use crate::collective::{Blocks, Neighbourhood, Sent};

/// One operation: how long the block from one member to another is, in items.
struct Round {
    number: usize,
    size: u32,
    symmetric: bool,
}

const LENGTHS: [usize; 8] = [1, 0, 3, 20, 2, 90, 500, 7];

impl Round {
    fn length(&self, from: u32, to: u32) -> usize {
        let (from, to) = if self.symmetric { (from.min(to), from.max(to)) } else { (from, to) };
        // In some rounds everything is short.
        let kinds = if self.number.is_multiple_of(3) { 5 } else { LENGTHS.len() };
        LENGTHS[(from as usize * 5 + to as usize * 3 + self.number) % kinds]
    }

    fn block(&self, from: u32, to: u32) -> Vec<Item> {
        items(from * self.size + to, self.length(from, to))
    }

    fn datatype(&self, rank: u32) -> Arc<Datatype> {
        shapes().swap_remove((rank as usize + self.number) % 3)
    }

    /// All blocks from a member, or to it, one after the other.
    fn from(&self, rank: u32) -> Vec<Item> {
        (0..self.size).flat_map(|to| self.block(rank, to)).collect()
    }

    fn to(&self, rank: u32) -> Vec<Item> {
        (0..self.size).flat_map(|from| self.block(from, rank)).collect()
    }
}

/// Parts of a buffer, of these lengths.
fn parts(buffer: &mut Buffer, lengths: impl Iterator<Item = usize>) -> Blocks {
    let mut first = 0;
    let part = |length| {
        first += length;
        buffer.part(first - length, length)
    };
    lengths.map(part).collect()
}

fn compare(
    seat: &Member,
    by: &Sleeper,
    what: &str,
    mut side: Side,
    build: impl FnOnce(&mut Side) -> Operation,
) {
    let before = side.send.clone();
    let operation = build(&mut side);
    run_any(seat, &operation, by);
    side.compare(what, seat.rank, &before);
}

fn alltoall(seat: &Member, by: &Sleeper, round: &Round) {
    let (rank, size) = (seat.rank, seat.size);
    let datatype = &round.datatype(rank);
    let side = match round.symmetric {
        true => Side::in_place(&round.from(rank), round.to(rank), datatype),
        false => Side::new(&round.from(rank), round.to(rank), (datatype, &round.datatype(rank + 1))),
    };
    compare(seat, by, &format!("alltoallw {}", round.number), side, |side| {
        let send = parts(&mut side.send, (0..size).map(|to| round.length(rank, to)));
        let receive = parts(&mut side.receive, (0..size).map(|from| round.length(from, rank)));
        Operation::Alltoallw { send: (!round.symmetric).then_some(send), receive }
    });
}

/// In an allgatherv a member's block is that for member 0.
fn allgather(seat: &Member, by: &Sleeper, round: &Round) {
    let (rank, size) = (seat.rank, seat.size);
    let datatype = &round.datatype(rank);
    let side = Side::new(&round.block(rank, 0), round.to(0), (datatype, datatype));
    compare(seat, by, &format!("allgatherv {}", round.number), side, |side| {
        let receive = parts(&mut side.receive, (0..size).map(|from| round.length(from, 0)));
        Operation::Allgatherv { send: Some(side.send.data()), receive }
    });
}

fn rooted(seat: &Member, by: &Sleeper, round: &Round) {
    let (rank, size) = (seat.rank, seat.size);
    let datatype = &round.datatype(rank);
    let root = round.number as u32 % size;
    let is_root = rank == root;
    let expected = if is_root { round.to(root) } else { vec![] };
    let side = Side::new(&round.block(rank, root), expected, (datatype, datatype));
    compare(seat, by, &format!("gatherv {}", round.number), side, |side| {
        let lengths = (0..size).map(|from| round.length(from, root));
        let receive = if is_root { parts(&mut side.receive, lengths) } else { Blocks::new() };
        Operation::Gatherv { root: Root::Rank(root), send: Some(side.send.data()), receive }
    });
    let given = if is_root { round.from(root) } else { vec![] };
    let side = Side::new(&given, round.block(root, rank), (datatype, datatype));
    compare(seat, by, &format!("scatterv {}", round.number), side, |side| {
        let lengths = (0..size).map(|to| round.length(root, to));
        let send = if is_root { parts(&mut side.send, lengths) } else { Blocks::new() };
        Operation::Scatterv { root: Root::Rank(root), send, receive: Some(side.receive.data()) }
    });
}

/// A ring in which everybody has two edges to the next member and one to itself.
fn neighbours(seat: &Member, by: &Sleeper, round: &Round) {
    let (rank, size) = (seat.rank, seat.size);
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let hood = || {
        let sources = vec![Some(before), None, Some(rank), Some(before)];
        let destinations = vec![Some(next), Some(rank), None, Some(next)];
        Neighbourhood { sources, destinations, cartesian: false }
    };
    let datatype = &round.datatype(rank);
    // The second block to the next one is that which the other would get back.
    let given = [round.block(rank, next), round.block(rank, rank), vec![[1, 2]], round.block(next, rank)];
    let expected =
        [round.block(before, rank), vec![UNTOUCHED], round.block(rank, rank), round.block(rank, before)];
    let lengths = |blocks: &[Vec<Item>; 4]| blocks.clone().map(|block| block.len()).into_iter();
    let side = Side::new(&given.concat(), expected.concat(), (datatype, datatype));
    compare(seat, by, &format!("neighbours {}", round.number), side, |side| {
        let send = Sent::Each(parts(&mut side.send, lengths(&given)));
        let receive = parts(&mut side.receive, lengths(&expected));
        Operation::Neighbours { hood: hood(), send, receive }
    });
    let same = |from| round.block(from, 0);
    let expected = [same(before), vec![UNTOUCHED], same(rank), same(before)];
    let side = Side::new(&same(rank), expected.concat(), (datatype, datatype));
    compare(seat, by, &format!("neighbours get the same {}", round.number), side, |side| {
        let receive = parts(&mut side.receive, lengths(&expected));
        Operation::Neighbours { hood: hood(), send: Sent::Same(side.send.data()), receive }
    });
}

#[test]
fn blocks_that_only_two_members_know_come_to_where_they_belong() {
    for size in [2, 3, 5, 8] {
        let all = |seat: &Member, by: &Sleeper| {
            for number in 0..24 {
                let round = &Round { number, size, symmetric: number.is_multiple_of(4) };
                alltoall(seat, by, round);
                allgather(seat, by, round);
                rooted(seat, by, round);
                neighbours(seat, by, round);
            }
        };
        at_seats(size, all);
        at_wide_seats(size, all);
    }
}

#[test]
fn tables_longer_than_a_slot_are_read_where_they_are() {
    // One entry is 16 bytes, a slot of so many members 1 KiB.
    at_seats(70, |seat, by| {
        for number in 0..2 {
            let round = &Round { number, size: 70, symmetric: false };
            alltoall(seat, by, round);
            rooted(seat, by, round);
        }
    });
}

#[test]
fn a_block_that_is_too_long_is_an_error_and_the_members_go_on() {
    at_seats(3, |seat, by| {
        let packed = Datatype::basic(Basic::Packed);
        for length in [10usize, 9000] {
            let mut bytes = vec![seat.rank as u8; 4 * length];
            let mut gather = |mine: usize, theirs: usize| {
                let mut data = |at: usize, count| {
                    Data::new(bytes.as_mut_ptr().wrapping_add(at), 0, count as i64, &packed).unwrap()
                };
                let receive = (0..3).map(|from| data((1 + from) * length, theirs)).collect();
                run_large(seat, &Operation::Allgatherv { send: Some(data(0, mine)), receive }, by)
            };
            let theirs = if seat.rank == 1 { length - 1 } else { length };
            match (seat.rank, gather(length, theirs)) {
                (1, done) => assert_eq!(done.unwrap_err().class(), Class::Truncate),
                (_, done) => done.unwrap(),
            }
            gather(length, length).unwrap();
            assert!((0..3).all(|from| bytes[(1 + from) * length] == from as u8));
        }
    });
}

/// Blocks of a length at places of which others reach nothing, or, if the length is even, all.
struct Places(Vec<u8>);

impl Places {
    const EACH: usize = 32_000;

    fn new(blocks: usize) -> Places {
        Places(vec![0; (blocks + 1) * Places::EACH])
    }

    fn block(&mut self, index: usize, bytes: usize) -> &mut [u8] {
        let at = (96 - self.0.as_ptr() as usize % 64) % 64 + index * Places::EACH;
        &mut self.0[at..at + bytes]
    }

    fn data(&mut self, index: usize, bytes: usize) -> Data {
        let packed = Datatype::basic(Basic::Packed);
        Data::new(self.block(index, bytes).as_mut_ptr(), 0, bytes as i64, &packed).unwrap()
    }
}

#[test]
fn an_epoch_ends_what_is_lent_but_not_where_copies_stay_behind_nor_a_gatherv() {
    at_seats(3, |seat, by| {
        let mut places = Places::new(4);
        for round in 0..24 {
            let (bytes, is_gatherv) = ([5003, 5004][round / 2 % 2], round % 2 == 0);
            let value = |rank: u32| round as u8 * 8 + rank as u8;
            places.block(0, bytes).fill(value(seat.rank));
            let (root, send) = (round as u32 / 2 % 3, Some(places.data(0, bytes)));
            let gets = !is_gatherv || seat.rank == root;
            let receive = (1..4).filter(|_| gets).map(|index| places.data(index, bytes)).collect();
            let operation = match is_gatherv {
                true => Operation::Gatherv { root: Root::Rank(root), send, receive },
                false => Operation::Allgatherv { send, receive },
            };
            assert!(can(seat, &operation, by).unwrap());
            let before = seat.epochs();
            run_large(seat, &operation, by).unwrap();
            let ends = !is_gatherv && bytes == 5004;
            assert_eq!(seat.epochs() - before, if ends { 2 } else { 1 }, "round {round}");
            let mut has_come =
                |from: u32| places.block(1 + from as usize, bytes).iter().all(|&byte| byte == value(from));
            assert!(!gets || (0..3).all(&mut has_come), "round {round}");
        }
    });
}

#[test]
fn copies_stay_behind_with_tables_in_wide_halves() {
    at_wide_seats(4, |seat, by| {
        // Two blocks have room in a wide half, and one has not.
        let (mut places, bytes) = (Places::new(8), 31_001);
        for round in 0..16u32 {
            let value = |from: u32, to: u32| (round * 16 + from * 4 + to) as u8;
            (0..4).for_each(|to| places.block(to as usize, bytes).fill(value(seat.rank, to)));
            let send = Some((0..4).map(|to| places.data(to, bytes)).collect());
            let receive = (4..8).map(|from| places.data(from, bytes)).collect();
            let operation = Operation::Alltoallw { send, receive };
            assert!(can(seat, &operation, by).unwrap());
            let before = seat.epochs();
            run_large(seat, &operation, by).unwrap();
            assert_eq!(seat.epochs() - before, 1, "round {round}");
            let mut has_come = |from: u32| {
                places.block(4 + from as usize, bytes).iter().all(|&byte| byte == value(from, seat.rank))
            };
            assert!((0..4).all(&mut has_come), "round {round}");
        }
    });
}
