//! Buffers of the tests: items of two numbers, in any datatype that holds two.

use super::twin::{packed, Random};
use crate::collective::schedule::copy;
use crate::collective::{Data, Members, Schedule};
use crate::datatype::{Basic, Datatype};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// One item: the map x → a·x + b, as its two numbers.
pub type Item = [i64; 2];

/// What every byte is before something is written to it.
const FILL: u8 = 0xEE;

/// An item that nobody has written.
pub const UNTOUCHED: Item = [i64::from_ne_bytes([FILL; 8]); 2];

/// Datatypes of two numbers: dense, with gaps and a negative lower bound, and
/// one that goes backwards.
pub fn shapes() -> Vec<Arc<Datatype>> {
    let number = Datatype::basic(Basic::Int64);
    let dense = Datatype::contiguous(2, &number).unwrap();
    let gaps = Datatype::hindexed(&[1, 1], &[-8, 16], &number).unwrap();
    let gaps = Datatype::resized(-16, 48, &gaps).unwrap();
    let backwards = Datatype::resized(0, -24, &dense).unwrap();
    vec![dense, gaps, backwards]
}

/// The composition of maps, first the left one: associative, and it matters
/// which is left.
pub fn composition() -> Arc<Operator> {
    let function = |input: *const u8, inout: *mut u8, count: u64, datatype: &Arc<Datatype>| {
        let all = |address| Data { address, count, datatype: datatype.into() };
        let (left, right) = (from_bytes(&packed(&all(input.cast_mut()))), from_bytes(&packed(&all(inout))));
        let results: Vec<Item> = left.iter().zip(right).map(|(left, right)| composed(*left, right)).collect();
        store(&results, &all(inout));
    };
    Arc::new(Operator::user(Box::new(function), false))
}

pub fn composed([a, b]: Item, [c, d]: Item) -> Item {
    [c.wrapping_mul(a), c.wrapping_mul(b).wrapping_add(d)]
}

fn from_bytes(bytes: &[u8]) -> Vec<Item> {
    let mut items = vec![UNTOUCHED; bytes.len() / size_of::<Item>()];
    assert_eq!(size_of_val(&items[..]), bytes.len());
    // SAFETY: both are as long, and a number may be any eight bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), items.as_mut_ptr().cast(), bytes.len()) };
    items
}

fn store(items: &[Item], target: &Data) {
    let datatype = Datatype::basic(Basic::Packed);
    let (address, count) = (items.as_ptr().cast::<u8>().cast_mut(), size_of_val(items) as u64);
    let source = Data { address, count, datatype: datatype.into() };
    // SAFETY: the items are there and are read only; the target is a buffer of the test.
    unsafe { copy(&source, target) };
}

/// Memory for some items, gaps included.
#[derive(Clone)]
pub struct Buffer {
    bytes: Vec<u8>,
    origin: usize,
    count: usize,
    datatype: Arc<Datatype>,
}

impl Buffer {
    pub fn new(count: usize, datatype: &Arc<Datatype>) -> Buffer {
        let (begin, end) = datatype.span(count as u64).unwrap();
        let origin = begin.min(0).unsigned_abs() as usize;
        Buffer { bytes: vec![FILL; origin + end.max(0) as usize], origin, count, datatype: datatype.clone() }
    }

    pub fn with(items: &[Item], datatype: &Arc<Datatype>) -> Buffer {
        let mut buffer = Buffer::new(items.len(), datatype);
        store(items, &buffer.data());
        buffer
    }

    /// All of it.
    pub fn data(&mut self) -> Data {
        self.part(0, self.count)
    }

    /// `count` items from item `first` on.
    pub fn part(&mut self, first: usize, count: usize) -> Data {
        let address = self.bytes.as_mut_ptr().wrapping_add(self.origin);
        Data::new(address, first as i64, count as i64, &self.datatype).unwrap()
    }
}

/// Items that are different for each rank.
pub fn items(rank: u32, count: usize) -> Vec<Item> {
    let mut random = Random::new(u64::from(rank) * 1000 + 17);
    (0..count).map(|_| [2 * random.below(50) as i64 + 3, random.below(1000) as i64]).collect()
}

/// What a rank has, and what its receive buffer shall be in the end.
pub struct Side {
    /// Its place among all ranks of the test; `check` sets it.
    pub place: usize,
    pub send: Buffer,
    pub receive: Buffer,
    pub expected: Vec<Item>,
}

impl Side {
    /// A side with a fresh receive buffer.
    pub fn new(send: &[Item], expected: Vec<Item>, types: (&Arc<Datatype>, &Arc<Datatype>)) -> Side {
        let receive = Buffer::new(expected.len(), types.1);
        Side { place: 0, send: Buffer::with(send, types.0), receive, expected }
    }

    /// A side that works in place: `before` lies in its receive buffer.
    pub fn in_place(before: &[Item], expected: Vec<Item>, datatype: &Arc<Datatype>) -> Side {
        let (send, receive) = (Buffer::new(0, datatype), Buffer::with(before, datatype));
        Side { place: 0, send, receive, expected }
    }
}

impl Side {
    /// Compares every byte with what it shall be; `before` is what was sent.
    pub fn compare(&mut self, what: &str, rank: u32, before: &Buffer) {
        let expected = Buffer::with(&self.expected, &self.receive.datatype);
        let got = from_bytes(&packed(&self.receive.data()));
        assert_eq!(got, self.expected, "{what}: rank {rank}");
        assert_eq!(self.receive.bytes, expected.bytes, "{what}: rank {rank} has written to a gap");
        assert_eq!(self.send.bytes, before.bytes, "{what}: rank {rank} has written to its send buffer");
    }
}

/// Makes the schedules of all ranks with `build`, runs them twice (as a
/// persistent operation would), and compares every byte.
pub fn check(
    what: &str,
    members: &[Members],
    mut sides: Vec<Side>,
    build: impl Fn(Members, &mut Side) -> Result<Schedule>,
) {
    sides.iter_mut().enumerate().for_each(|(place, side)| side.place = place);
    let before: Vec<_> = sides.iter().map(|side| (side.send.clone(), side.receive.clone())).collect();
    let mut schedules: Vec<_> =
        members.iter().zip(&mut sides).map(|(members, side)| build(*members, side).unwrap()).collect();
    for seed in 0..2 {
        for (side, (_, receive)) in sides.iter_mut().zip(&before) {
            side.receive.bytes.copy_from_slice(&receive.bytes);
        }
        super::twin::run(members, &mut schedules, seed);
        for (rank, side) in sides.iter_mut().enumerate() {
            side.compare(&format!("{what} of {members:?}"), rank as u32, &before[rank].0);
        }
        schedules.iter_mut().for_each(Schedule::reset);
    }
}

/// An intracommunicator of `size` ranks.
pub fn group(size: u32) -> Vec<Members> {
    (0..size).map(|rank| Members { rank, size, remote: None }).collect()
}

/// An intercommunicator: all ranks of one group, then all of the other.
pub fn groups(first: u32, second: u32) -> Vec<Members> {
    let of = |size, remote| (0..size).map(move |rank| Members { rank, size, remote: Some(remote) });
    of(first, second).chain(of(second, first)).collect()
}
