//! Memory that a member has attached to a dynamic exposure, and the list of it that peers read.
//!
//! # Ownership
//! The owner alone changes its list, under its lock. Peers read it through the system while it may
//! change: they look at the version before and after, which is odd meanwhile, and read again if it has
//! changed. A list that was too short for more entries is kept until the exposure goes, so its address stays readable.

use super::control::Seat;
use crate::device::MemoryKind;
use crate::memory::window::Opened;
use crate::{Class, Error, Result};
use std::sync::atomic::{fence, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A piece of attached memory, in words that peers read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// Where it begins in the owner's process.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// The part of it that all reach directly.
    pub opened: Opened,
    /// The kind of memory, as a number.
    pub kind: u64,
    /// 1 + where it is told in the blocks area of the owner how this memory of a device is mapped; 0: nowhere.
    pub lent: u64,
}

impl Entry {
    /// The kind of memory.
    pub fn memory_kind(&self) -> MemoryKind {
        MemoryKind(self.kind as u16)
    }

    fn end(&self) -> u64 {
        self.address + self.bytes
    }
}

/// What this member has attached.
#[derive(Debug, Default)]
pub struct Attached(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    /// In ascending order of addresses.
    entries: Vec<Entry>,
    /// What peers may still read.
    outgrown: Vec<Vec<Entry>>,
}

impl Attached {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a piece may be attached.
    ///
    /// # Errors
    /// `RmaAttach` when it overlaps another one.
    pub fn check(&self, address: u64, bytes: u64) -> Result<()> {
        let end = address + bytes;
        let list = self.list();
        let overlaps = |one: &&Entry| match (bytes, one.bytes) {
            (0, _) | (_, 0) => one.address == address,
            _ => one.address < end && address < one.end(),
        };
        match list.entries.iter().find(overlaps) {
            Some(one) => Err(Error::new(
                Class::RmaAttach,
                format!(
                    "{bytes} bytes at {address:#x} overlap {} bytes at {:#x}, which are attached already: \
                     detach those first",
                    one.bytes, one.address
                ),
            )),
            None => Ok(()),
        }
    }

    /// Attaches a piece, and tells peers.
    pub fn add(&self, entry: Entry, seat: &Seat) {
        let mut list = self.list();
        let List { entries, outgrown } = &mut *list;
        change(seat, || {
            if entries.len() == entries.capacity() {
                let mut larger = Vec::with_capacity((2 * entries.len()).max(16));
                larger.extend_from_slice(entries);
                outgrown.push(std::mem::replace(entries, larger));
            }
            let place = entries.partition_point(|one| one.address < entry.address);
            entries.insert(place, entry);
            entries.as_slice()
        });
    }

    /// Detaches the piece at an address.
    ///
    /// # Errors
    /// `RmaAttach` when there is none.
    pub fn remove(&self, address: u64, seat: &Seat) -> Result<Entry> {
        let mut list = self.list();
        let Some(place) = list.entries.iter().position(|one| one.address == address) else {
            let sentence = format!(
                "no memory is attached that begins at {address:#x}: give the address with which it was attached"
            );
            return Err(Error::new(Class::RmaAttach, sentence));
        };
        let mut removed = Entry::default();
        change(seat, || {
            removed = list.entries.remove(place);
            list.entries.as_slice()
        });
        Ok(removed)
    }

    /// All pieces, which it forgets.
    pub fn take_all(&self) -> Vec<Entry> {
        std::mem::take(&mut self.list().entries)
    }

    /// The piece in which so many bytes from an address on lie, as [`find`].
    pub fn find(&self, address: u64, bytes: u64) -> Option<Entry> {
        find(&self.list().entries, address, bytes)
    }
}

/// The piece in which an address lies, of pieces in ascending order. Pieces of host memory that touch are one where so many
/// bytes from there on lie in several; nobody reaches that one directly.
pub fn find(entries: &[Entry], address: u64, bytes: u64) -> Option<Entry> {
    let after = entries.partition_point(|one| one.address <= address);
    let first = *entries[..after].last().filter(|one| address < one.end().max(one.address + 1))?;
    let mut found = first;
    for next in &entries[after..] {
        let touches = found.end() == next.address
            && [first, *next].iter().all(|one| one.memory_kind() == MemoryKind::HOST);
        if bytes <= found.end() - address || !touches {
            break;
        }
        found = Entry { address: first.address, bytes: next.end() - first.address, ..Entry::default() };
    }
    Some(found)
}

/// Changes a list that peers read.
fn change<'a>(seat: &Seat, change: impl FnOnce() -> &'a [Entry]) {
    let version = seat.version.load(Ordering::Relaxed);
    seat.version.store(version + 1, Ordering::Relaxed);
    fence(Ordering::SeqCst); // version: paired with the origin's two looks
    let entries = change();
    seat.list.store(entries.as_ptr() as u64, Ordering::Relaxed);
    seat.length.store(entries.len() as u64, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    seat.version.store(version + 2, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_piece_that_has_it() {
        let entry = |address, bytes| Entry { address, bytes, ..Entry::default() };
        let entries = [entry(100, 10), entry(110, 0), entry(200, 50)];
        assert_eq!(find(&entries, 99, 1), None);
        assert_eq!(find(&entries, 109, 1), Some(entries[0]));
        assert_eq!(find(&entries, 110, 0), Some(entries[1]));
        assert_eq!(find(&entries, 150, 1), None);
        assert_eq!(find(&entries, 249, 1), Some(entries[2]));
        assert_eq!(find(&entries, 250, 1), None);
    }

    #[test]
    fn pieces_that_touch_are_one_where_bytes_lie_in_several() {
        let entry = |address, bytes, kind| Entry { address, bytes, kind, ..Entry::default() };
        let opened = Opened { at: 8, first: 0, last: 10 };
        let first = Entry { opened, ..entry(100, 10, 0) };
        let entries = [first, entry(110, 20, 0), entry(130, 5, 0), entry(136, 4, 0), entry(140, 9, 1)];
        assert_eq!(find(&entries, 100, 10), Some(first));
        assert_eq!(find(&entries, 100, 11), Some(entry(100, 30, 0)));
        assert_eq!(find(&entries, 109, 22), Some(entry(100, 35, 0)));
        assert_eq!(find(&entries, 109, 26), Some(entry(100, 35, 0)), "and not all bytes are in it");
        assert_eq!(find(&entries, 139, 2), Some(entries[3]), "memory of a device is another one");
    }

    #[test]
    fn overlaps_are_refused_and_neighbours_are_not() {
        let attached = Attached::default();
        let memory = vec![0u64; 64];
        // SAFETY: zero, and longer than a control block of one member and what aligns it.
        let control = unsafe {
            let base = memory.as_ptr().cast::<u8>().cast_mut();
            super::super::Control::new(base.add(base.align_offset(64)), 1)
        };
        attached.add(Entry { address: 100, bytes: 20, ..Entry::default() }, control.seat(0));
        for (address, bytes) in [(90, 11), (119, 1), (100, 20), (100, 0), (50, 500)] {
            assert_eq!(attached.check(address, bytes).unwrap_err().class(), Class::RmaAttach);
        }
        for (address, bytes) in [(90, 10), (120, 1), (110, 0)] {
            attached.check(address, bytes).unwrap();
        }
        assert_eq!(attached.remove(110, control.seat(0)).unwrap_err().class(), Class::RmaAttach);
        assert_eq!(attached.remove(100, control.seat(0)).unwrap().bytes, 20);
        assert_eq!(control.seat(0).version.load(Ordering::Relaxed), 4);
        assert!(attached.find(105, 1).is_none());
    }
}
