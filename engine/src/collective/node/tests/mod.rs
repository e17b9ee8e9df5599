//! All members as threads over one block: long sequences of different operations,
//! so that members run ahead, payloads change between mark and slot, and epochs
//! of both parities meet.

use super::*;
use crate::collective::tests::buffer::{composed, composition, items, shapes, Buffer, Item, Side, UNTOUCHED};
use crate::collective::tests::twin::Random;
use crate::collective::{self as collective, Counts, Data, Members, Operation, Root};
use crate::datatype::{Basic, Datatype};
use crate::kept::Kept;
use crate::progress::Doorbell;
use crate::reduce::Operator;
use crate::test_ranks::play;
use crate::{Class, Result};
use std::alloc::Layout;
use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;

mod irregular;
mod nonblocking;
mod offer;
mod pair_broadcast;
mod pair_exchange;
mod peer_memory;
mod reduction;
mod work_sharing;

/// Zeroed memory for blocks.
struct Memory {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: only an address; what lies there is guarded by the rules of blocks.
unsafe impl Send for Memory {}

impl Memory {
    fn new(bytes: usize) -> Memory {
        let layout = Layout::from_size_align(bytes, 4096).unwrap();
        // SAFETY: the size is not zero. Never given back: seats point into it.
        Memory { base: unsafe { std::alloc::alloc_zeroed(layout) }, bytes }
    }
}

impl pool::Area for Memory {
    fn base(&self) -> *mut u8 {
        self.base
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn reserve(&self, offset: usize, bytes: usize) -> Result<()> {
        assert!(offset + bytes <= self.bytes);
        Ok(())
    }
    fn give_back(&self, offset: usize, bytes: usize) -> Result<()> {
        // SAFETY: inside the memory, and nobody uses it any more.
        unsafe { std::ptr::write_bytes(self.base.add(offset), 0, bytes) };
        Ok(())
    }
}

/// Waits by sleeping on doorbells, as the engine does, or by looking.
struct Sleeper<'a> {
    doorbell: &'a Doorbell,
    looks: u32,
    /// How often it has written into the memory of others.
    writes: Cell<usize>,
}

impl Wait for Sleeper<'_> {
    fn wait<'a>(&'a self, seat: &'a Member, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        self.wait_now(seat, until);
        std::future::ready(Ok(()))
    }
}

impl Sleeper<'_> {
    fn new(doorbell: &Doorbell, looks: u32) -> Sleeper<'_> {
        Sleeper { doorbell, looks, writes: Cell::default() }
    }

    fn wait_now(&self, seat: &Member, until: Until) {
        for _ in 0..self.looks {
            if seat.control_block().holds(until) {
                return;
            }
            std::thread::yield_now();
        }
        while !seat.control_block().holds(until) {
            seat.control_block().lie_down(seat.rank, until);
            // No limit: a wake that is missed hangs the test.
            self.doorbell.sleep_unless(|| seat.control_block().holds(until), None);
            seat.control_block().get_up(seat.rank);
        }
    }
}

/// A member that waits and reaches the memory of others as `by` says.
fn party<'a, 'b>(member: &'a Member, by: &'a Sleeper<'b>) -> Party<'a, Sleeper<'b>, Sleeper<'b>> {
    Party { member, waits: by, memory: by }
}

fn run(seat: &Member, operation: &Operation, by: &Sleeper) -> Result<()> {
    super::run(&party(seat, by), operation)
}

fn run_large(seat: &Member, operation: &Operation, by: &Sleeper) -> Result<()> {
    at_once(super::run_large(&party(seat, by), operation))
}

fn can(seat: &Member, operation: &Operation, by: &Sleeper) -> Result<bool> {
    at_once(super::can(&party(seat, by), operation))
}

/// Runs `body` at each of `size` seats.
fn at_seats(size: u32, body: impl Fn(&Member, &Sleeper) + Sync) {
    at_block(Shape::new(size), size, body);
}

/// The same at a block with wide halves, of members that share CPUs.
fn at_wide_seats(size: u32, body: impl Fn(&Member, &Sleeper) + Sync) {
    let shape = Shape::with_wide_halves(size);
    assert!(shape.is_wide());
    at_block(shape, size, body);
}

fn at_block(shape: Shape, size: u32, body: impl Fn(&Member, &Sleeper) + Sync) {
    // SAFETY: fresh memory of the right size, which stays.
    let block = unsafe { ControlBlock::new(Memory::new(shape.bytes()).base, shape) };
    block.found();
    let place = |peer: u32| Endpoint { doorbell: Box::leak(Box::new(Doorbell::new())), peer: peer.into() };
    let places: Vec<Endpoint> = (0..size).map(place).collect();
    std::thread::scope(|scope| {
        for rank in 0..size {
            let (places, body) = (&places, &body);
            scope.spawn(move || {
                let seat = Member::new(block, rank, 2, places.clone().into_boxed_slice());
                let seat = seat.sharing_cpus(shape.is_wide());
                let doorbell = places[rank as usize].doorbell;
                play(|| body(&seat, &Sleeper::new(doorbell, rank % 3 * 5)));
            });
        }
    });
    assert!(block.is_left());
}

/// One operation of a sequence, the same at all members.
struct Turn {
    kind: u64,
    root: u32,
    count: usize,
    in_place: bool,
    shape: u64,
}

impl Turn {
    fn next(random: &mut Random, size: u32) -> Turn {
        Turn::of_length(random, size, &[1, 2, 3, 4, 17, 60])
    }

    fn of_length(random: &mut Random, size: u32, counts: &[usize]) -> Turn {
        let count = counts[random.below(counts.len() as u64) as usize];
        Turn {
            kind: random.below(12),
            root: random.below(u64::from(size)) as u32,
            count,
            in_place: random.below(3) == 0,
            shape: random.below(3),
        }
    }

    /// A type of a member: reductions want the same type everywhere.
    fn datatype(&self, rank: u32) -> Arc<Datatype> {
        let shape = if self.kind >= 6 { self.shape } else { self.shape + u64::from(rank) };
        shapes().swap_remove(shape as usize % 3)
    }

    fn is_in_place(&self, is_root: bool) -> bool {
        self.in_place && (is_root || [4, 5].contains(&self.kind) || self.kind > 6)
    }

    /// Who gets how much of a reduce_scatter: `count` for each rank, or the same
    /// in all unevenly.
    fn counts(&self, size: u32) -> Counts {
        if self.kind == 8 {
            return Counts::Equal;
        }
        let mut counts = vec![self.count as u64; size as usize];
        let moved = counts[self.root as usize];
        counts[self.root as usize] = 0;
        counts[(self.root as usize + 1) % size as usize] += moved;
        Counts::Each(counts)
    }

    /// What a member has and what it shall get.
    fn side(&self, seat: &Member) -> Side {
        let (rank, size, count) = (seat.rank, seat.size, self.count);
        let datatype = &self.datatype(rank);
        let is_root = rank == self.root;
        let joined = || -> Vec<Item> { (0..size).flat_map(|rank| items(rank, count)).collect() };
        let own_block = || {
            let mut before = vec![UNTOUCHED; size as usize * count];
            before[rank as usize * count..][..count].copy_from_slice(&items(rank, count));
            before
        };
        let blocks = |rank| items(rank, count * size as usize);
        let block_of = |rank: u32, of: u32| blocks(rank)[of as usize * count..][..count].to_vec();
        let combined = |ranks: std::ops::Range<u32>, count| {
            let both = |left: Vec<Item>, right: Vec<Item>| {
                left.into_iter().zip(right).map(|(l, r)| composed(l, r)).collect()
            };
            ranks.map(|rank| items(rank, count)).reduce(both).unwrap()
        };
        let reduced = || combined(0..size, count);
        let same = (datatype, datatype);
        let in_place = self.is_in_place(is_root);
        let either = |has: &[Item], expected| match in_place {
            true => Side::in_place(has, expected, datatype),
            false => Side::new(has, expected, same),
        };
        match (self.kind, in_place) {
            (0, _) => Side::new(&[], vec![], same),
            (1, _) if is_root => Side::in_place(&items(rank, count), items(rank, count), datatype),
            (1, _) => Side::in_place(&vec![UNTOUCHED; count], items(self.root, count), datatype),
            (2, true) => Side::in_place(&own_block(), joined(), datatype),
            (2, false) => Side::new(&items(rank, count), if is_root { joined() } else { vec![] }, same),
            (3, true) => Side::new(&blocks(rank), vec![], same),
            (3, false) if is_root => Side::new(&blocks(rank), block_of(self.root, rank), same),
            (3, false) => Side::new(&[], block_of(self.root, rank), same),
            (4, true) => Side::in_place(&own_block(), joined(), datatype),
            (4, false) => Side::new(&items(rank, count), joined(), same),
            (5, _) => either(&blocks(rank), (0..size).flat_map(|from| block_of(from, rank)).collect()),
            (8 | 9, in_place) => {
                let (first, mine) =
                    self.counts(size).part(&Data { count: count as u64, ..Data::nothing() }, rank);
                let total = count * size as usize;
                let mut expected = combined(0..size, total)[first as usize..][..mine as usize].to_vec();
                match in_place {
                    true => {
                        expected.extend(&items(rank, total)[mine as usize..]);
                        Side::in_place(&items(rank, total), expected, datatype)
                    }
                    false => Side::new(&items(rank, total), expected, same),
                }
            }
            (10 | 11, in_place) => {
                let expected = match (self.kind, rank) {
                    (10, _) => combined(0..rank + 1, count),
                    (_, 0) if in_place => items(0, count),
                    (_, 0) => vec![UNTOUCHED; count],
                    _ => combined(0..rank, count),
                };
                either(&items(rank, count), expected)
            }
            (_, true) => Side::in_place(&items(rank, count), reduced(), datatype),
            (6, false) if !is_root => Side::new(&items(rank, count), vec![], same),
            (_, false) => Side::new(&items(rank, count), reduced(), same),
        }
    }

    fn operation(&self, seat: &Member, side: &mut Side, operator: &Arc<Operator>) -> Operation {
        let root = Root::Rank(self.root);
        let is_root = seat.rank == self.root;
        let count = self.count;
        let in_place = self.is_in_place(is_root);
        let whole = |buffer: &mut Buffer, is_there: bool| is_there.then(|| buffer.data());
        let first = |buffer: &mut Buffer, is_there: bool| is_there.then(|| buffer.part(0, count));
        let operator = Kept::from(operator);
        let Side { send, receive, .. } = side;
        match self.kind {
            0 => Operation::Barrier,
            1 => Operation::Broadcast { root, data: receive.data() },
            2 => Operation::Gather { root, send: whole(send, !in_place), receive: first(receive, is_root) },
            3 => Operation::Scatter { root, send: first(send, is_root), receive: whole(receive, !in_place) },
            4 => Operation::Allgather { send: whole(send, !in_place), receive: receive.part(0, count) },
            5 => Operation::Alltoall { send: first(send, !in_place), receive: receive.part(0, count) },
            6 => {
                let (send, receive) = (whole(send, !in_place), whole(receive, is_root));
                Operation::Reduce { root, send, receive, operator }
            }
            7 => Operation::Allreduce { send: whole(send, !in_place), receive: receive.data(), operator },
            8 | 9 => {
                let counts = self.counts(seat.size);
                let mine = counts.part(&Data { count: count as u64, ..Data::nothing() }, seat.rank).1;
                let (send, receive) = (whole(send, !in_place), receive.part(0, mine as usize));
                Operation::ReduceScatter { send, receive, counts, operator }
            }
            10 => Operation::Scan { send: whole(send, !in_place), receive: receive.data(), operator },
            _ => Operation::Exscan { send: whole(send, !in_place), receive: receive.data(), operator },
        }
    }
}

#[test]
fn any_sequence_of_operations_gives_what_mpi_says() {
    let operator = composition();
    for size in [2, 3, 4, 5, 7, 8] {
        at_seats(size, |seat, wait| {
            let mut random = Random::new(u64::from(size));
            let mut over_block = 0;
            for number in 0..400 {
                let turn = Turn::next(&mut random, size);
                let mut side = turn.side(seat);
                let before = side.send.clone();
                let operation = turn.operation(seat, &mut side, &operator);
                operation.check(&Members { rank: seat.rank, size, remote: None }).unwrap();
                if !fits(seat, &operation) {
                    continue;
                }
                over_block += 1;
                run(seat, &operation, wait).unwrap();
                side.compare(&format!("operation {number} ({}) of {size}", turn.kind), seat.rank, &before);
            }
            assert!(over_block > 280, "{over_block}");
        });
    }
}

/// A sequence of short operations and long ones; says how many were long.
fn mixed(seat: &Member, wait: &Sleeper, operator: &Arc<Operator>, counts: &[usize]) -> u32 {
    let size = seat.size;
    let mut random = Random::new(u64::from(size) + 100);
    let mut large = 0;
    for number in 0..90 {
        let turn = Turn::of_length(&mut random, size, counts);
        let mut side = turn.side(seat);
        let before = side.send.clone();
        let operation = turn.operation(seat, &mut side, operator);
        match fits(seat, &operation) {
            true => run(seat, &operation, wait).unwrap(),
            false if wants(seat, &operation) => {
                assert!(can(seat, &operation, wait).unwrap());
                large += 1;
                run_large(seat, &operation, wait).unwrap();
            }
            false => continue,
        }
        side.compare(&format!("operation {number} ({}) of {size}", turn.kind), seat.rank, &before);
    }
    large
}

#[test]
fn long_payload_goes_between_the_buffers_of_the_program() {
    let operator = composition();
    for size in [2, 3, 5, 8] {
        at_seats(size, |seat, by| {
            let large = mixed(seat, by, &operator, &[3, 900, 1501, 5000]);
            assert!(large > 30, "{large}");
            // Two members have settled by now how they reach each other, and lend some of these.
            mixed(seat, by, &operator, &[100, 130, 200, 250, 256]);
        });
        at_wide_seats(size, |seat, by| {
            let large = mixed(seat, by, &operator, &[3, 300, 900, 1501, 2049]);
            assert!((8..70).contains(&large), "some need no wide halves and some are too long: {large}");
        });
    }
}

#[test]
fn members_that_disagree_about_long_payload_get_an_error_and_go_on() {
    at_seats(3, |seat, wait| {
        let mut bytes = vec![7u8; 20_000];
        let packed = Datatype::basic(Basic::Packed);
        let mut broadcast = |count| {
            let data = Data::new(bytes.as_mut_ptr(), 0, count, &packed).unwrap();
            run_large(seat, &Operation::Broadcast { root: Root::Rank(0), data }, wait)
        };
        match (seat.rank, broadcast(if seat.rank == 1 { 9000 } else { 10_000 })) {
            (1, done) => assert_eq!(done.unwrap_err().class(), Class::Truncate),
            (_, done) => done.unwrap(),
        }
        broadcast(20_000).unwrap();
    });
}

/// Runs an operation as the engine does; says whether it was a long one.
fn run_any(seat: &Member, operation: &Operation, by: &Sleeper) -> bool {
    if fits(seat, operation) {
        run(seat, operation, by).unwrap();
        return false;
    }
    assert!(wants(seat, operation) && can(seat, operation, by).unwrap());
    run_large(seat, operation, by).unwrap();
    true
}

#[test]
fn members_that_disagree_get_an_error_and_no_foreign_memory() {
    at_seats(2, |seat, wait| {
        let mut bytes = vec![7u8; 64];
        let count = if seat.rank == 0 { 64 } else { 16 };
        let packed = Datatype::basic(Basic::Packed);
        let data = Data::new(bytes.as_mut_ptr(), 0, count, &packed).unwrap();
        let done = run(seat, &Operation::Broadcast { root: Root::Rank(0), data }, wait);
        match seat.rank {
            0 => done.unwrap(),
            _ => assert_eq!(done.unwrap_err().class(), Class::Truncate),
        }
    });
}

#[test]
fn a_pool_lends_what_it_has_and_takes_back_what_all_have_left() {
    let shape = Shape::new(2);
    // SAFETY: fresh memory, which stays, and only this pool uses it.
    let mut pool = unsafe { Pool::new(Box::new(Memory::new(3 * shape.bytes() + 100))) };
    let offsets: Vec<usize> = (0..3).map(|_| pool.lend(shape).unwrap()).collect();
    assert_eq!(offsets, [0, shape.bytes(), 2 * shape.bytes()]);
    assert!(pool.lend(shape).is_none() && pool.lent() == 3);
    let block = pool.block(offsets[1], shape);
    block.arrive(1, 9);
    block.leave();
    assert!(pool.lend(shape).is_none(), "one member is still there");
    block.leave();
    assert_eq!(pool.lend(Shape::new(3)), None, "no room for a larger one");
    assert_eq!(pool.lend(shape), Some(offsets[1]));
    assert!(!block.has_arrived(1, 1), "a block begins with zeros");
}

/// Notes what is waited for and goes on at once.
struct Noting(std::cell::Cell<Option<Until>>);

impl Wait for Noting {
    fn wait<'a>(&'a self, _: &'a Member, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        self.0.set(Some(until));
        std::future::ready(Ok(()))
    }
}

/// What a member waits for in operations with payload of so many bytes, or with none.
fn waits_of<const TURNS: usize>(shape: Shape, turns: [Option<usize>; TURNS]) -> [Option<Until>; TURNS] {
    // SAFETY: fresh memory of the right size, which stays.
    let block = unsafe { ControlBlock::new(Memory::new(shape.bytes()).base, shape) };
    let place = |peer: u32| Endpoint { doorbell: Box::leak(Box::new(Doorbell::new())), peer: peer.into() };
    let seat = Member::new(block, 0, 2, (0..2).map(place).collect());
    let mut memory = [7u8; 4096];
    turns.map(|payload| {
        let (epoch, noted) = (seat.begin(), Noting(None.into()));
        match payload {
            Some(bytes) => {
                let packed = Datatype::basic(Basic::Packed);
                let data = Data::new(memory.as_mut_ptr(), 0, bytes as i64, &packed).unwrap();
                let party = Party { member: &seat, waits: &noted, memory: &() };
                at_once(party.wait_until_free(epoch, bytes as u64)).unwrap();
                seat.publish(epoch, &data);
            }
            None => seat.arrive(epoch),
        }
        noted.0.get()
    })
}

#[test]
fn payload_waits_for_the_readers_of_what_lies_in_its_place_and_for_nobody_else() {
    let turns = [true, true, false, true, true, false, false, false, true];
    let all = |epoch| Some(Until::All(epoch));
    let waits = waits_of(Shape::new(2), turns.map(|has_payload| has_payload.then_some(100)));
    assert_eq!(waits, [None, None, None, all(3), None, None, None, None, all(6)]);
}

#[test]
fn a_member_that_shares_cpus_runs_ahead_by_two_halves_or_all_its_marks() {
    let (shape, all) = (Shape::with_wide_halves(2), |epoch| Some(Until::All(epoch)));
    // A half holds two slots.
    let waits = waits_of(shape, [Some(4096); 8]);
    assert_eq!(waits, [None, None, None, None, all(3), None, all(5), None]);
    for bytes in [48, 49] {
        let waits = waits_of(shape, [Some(bytes); 18]);
        assert_eq!(waits[..16], [None; 16], "{bytes} bytes");
        assert_eq!(waits[16..], [all(2), all(3)], "{bytes} bytes");
    }
}
