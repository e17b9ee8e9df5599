//! Host memory that stands for blocks of device memory in large messages, and is used only where it has to be: a peer that
//! maps the memory copies it by itself.
//!
//! ```text
//! sent:     empty --fill: a peer cannot map a part--> that part has its data
//! received: empty --a message comes through the host--> its part has data, which are stored when the program asks
//! ```
//!
//! So what nobody writes here stays on the device as it is.

use super::interface::{DeviceMemory, Piece};
use super::parts::Parts;
use crate::lock_order::{self, Level};
use crate::Result;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// A block of device memory and the host memory that stands for it.
#[derive(Clone, Copy, Debug)]
pub struct StandIn {
    /// Where the host memory begins.
    pub room: usize,
    /// Its length.
    pub bytes: usize,
    /// Where the device memory begins.
    pub there: usize,
    /// Whose that is.
    pub memory: DeviceMemory,
    /// What messages do with it.
    pub side: Side,
}

/// Whether data leave a stand-in or come to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// They are sent. 1 + where peers are told how to map the device memory; 0: they are not.
    Sent(u64),
    /// They are received; straight to the device where that can be, or first to the host in any case.
    Received {
        /// Straight.
        is_direct: bool,
    },
}

impl StandIn {
    /// Where the device memory of an address within the host memory is.
    pub fn there(&self, address: usize) -> usize {
        self.there + (address - self.room)
    }

    /// Which part of it so many bytes at an address are.
    fn part_of(&self, address: usize, bytes: u64) -> Range<u64> {
        let begin = (address - self.room) as u64;
        begin..begin + bytes
    }

    /// Copies a part from or to the device.
    ///
    /// # Safety
    /// The program lends the data.
    unsafe fn copy(&self, part: &Range<u64>) -> Result<()> {
        let (begin, bytes) = (part.start as usize, (part.end - part.start) as usize);
        let (here, there) = (self.room + begin, self.there + begin);
        let (to, from) = match self.side {
            Side::Sent(_) => (here, there),
            Side::Received { .. } => (there, here),
        };
        let piece = Piece { to: to as *mut u8, from: from as *const u8, bytes };
        // SAFETY: by the caller; both are as long.
        unsafe { super::copy(&self.memory, &[piece]) }
    }
}

/// One of them, and which parts of the host memory have data.
struct Entry {
    one: StandIn,
    filled: Parts,
}

static ALL: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// How many there are: mostly none, and then nobody takes the lock.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

fn with_all<T>(work: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
    work(&mut lock_order::lock(&ALL, Level::STAND_INS))
}

/// Works on the one in whose host memory an address lies.
fn with<T>(address: usize, work: impl FnOnce(&mut Entry) -> T) -> Option<T> {
    with_all(|all| {
        all.iter_mut().find(|entry| address.wrapping_sub(entry.one.room) < entry.one.bytes).map(work)
    })
}

#[inline]
fn are_none() -> bool {
    NUMBER.load(Ordering::Relaxed) == 0
}

/// Adds one.
pub fn add(one: StandIn) {
    with_all(|all| all.push(Entry { one, filled: Parts::default() }));
    NUMBER.fetch_add(1, Ordering::SeqCst);
}

/// The host memory goes.
pub fn remove(room: usize) {
    NUMBER.fetch_sub(1, Ordering::SeqCst);
    with_all(|all| {
        if let Some(place) = all.iter().position(|entry| entry.one.room == room) {
            all.swap_remove(place);
        }
    });
}

/// The one in whose host memory an address lies.
#[inline]
pub fn at(address: *const u8) -> Option<StandIn> {
    match are_none() {
        true => None,
        false => look(address as usize),
    }
}

#[cold]
fn look(address: usize) -> Option<StandIn> {
    with(address, |entry| entry.one)
}

/// The operation begins again: the host memory has no data.
pub fn empty(room: usize) {
    with(room, |entry| entry.filled = Parts::default());
}

/// Whether so many bytes at an address of the host can be sent from there.
#[inline]
pub fn has_data(address: *const u8, bytes: u64) -> bool {
    are_none() || look_for_data(address as usize, bytes)
}

#[cold]
fn look_for_data(address: usize, bytes: u64) -> bool {
    let has = |entry: &mut Entry| match entry.one.side {
        Side::Sent(_) => entry.filled.contain(&entry.one.part_of(address, bytes)),
        Side::Received { .. } => true,
    };
    with(address, has).unwrap_or(true)
}

/// So many bytes at an address of the host get their data now, if they have not.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// The program lends the data.
pub unsafe fn fill(address: *const u8, bytes: u64) -> Result<()> {
    let (Some(one), false) = (at(address), has_data(address, bytes)) else { return Ok(()) };
    let part = one.part_of(address as usize, bytes);
    // SAFETY: by the caller.
    unsafe { one.copy(&part)? };
    with(one.room, |entry| entry.filled.add(part));
    Ok(())
}

/// A message has written so many bytes at an address of the host, or will have when it is complete.
#[inline]
pub fn written(address: *const u8, bytes: u64) {
    if !are_none() {
        note(address as usize, bytes);
    }
}

#[cold]
fn note(address: usize, bytes: u64) {
    with(address, |entry| {
        let part = entry.one.part_of(address, bytes);
        if matches!(entry.one.side, Side::Received { .. }) {
            entry.filled.add(part);
        }
    });
}

/// What messages have written to a part of the host memory goes to the device; once.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// The program lends the data, and the messages are complete.
pub unsafe fn store(room: usize, part: &Range<u64>) -> Result<()> {
    let taken = with(room, |entry| match entry.one.side {
        Side::Received { .. } => (entry.one, entry.filled.take(part)),
        Side::Sent(_) => (entry.one, Vec::new()),
    });
    let Some((one, parts)) = taken else { return Ok(()) };
    // SAFETY: by the caller.
    parts.iter().map(|part| unsafe { one.copy(part) }).fold(Ok(()), Result::and)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryKind;

    #[test]
    fn a_stand_in_is_found_by_each_of_its_bytes_and_knows_which_have_data() {
        let kind = MemoryKind::CUDA;
        let memory = DeviceMemory { kind, first: 4096, bytes: 512, number: 1, device: 0, context: 0 };
        let (sent, received) = ([0u8; 100], [0u8; 100]);
        let there = 5000;
        for (room, side) in [(&sent, Side::Sent(0)), (&received, Side::Received { is_direct: true })] {
            add(StandIn { room: room.as_ptr() as usize, bytes: 100, there, memory, side });
            let first = room.as_ptr();
            let last = first.wrapping_add(99);
            assert_eq!(at(last).map(|one| one.there(last as usize)), Some(5099));
            let beyond = [first.wrapping_add(100), first.wrapping_sub(1)];
            assert!(beyond.iter().all(|&address| at(address).is_none_or(|one| one.room != first as usize)));
        }
        // A send needs what the host has not; a received message has come to where it is looked for.
        assert!(!has_data(sent.as_ptr(), 10) && has_data(received.as_ptr(), 10));
        written(received[20..].as_ptr(), 30);
        let filled = |room: &[u8; 100]| with(room.as_ptr() as usize, |entry| entry.filled.clone());
        assert!(filled(&received).unwrap().contain(&(20..50)));
        written(sent[20..].as_ptr(), 30);
        assert!(!filled(&sent).unwrap().contain(&(20..50)), "what is sent is not stored");
        empty(received.as_ptr() as usize);
        assert!(!filled(&received).unwrap().contain(&(20..21)));
        remove(sent.as_ptr() as usize);
        remove(received.as_ptr() as usize);
        assert!(at(sent.as_ptr()).is_none());
    }
}
