//! The flight recorder: the last calls of a rank, in a ring on its page.
//!
//! The entry of the call that a rank is in is where it writes what the call is
//! about anyway, so keeping the calls before it costs nothing.
//!
//! # Ownership
//! As for the page: the rank alone writes, with relaxed stores; anyone reads. The
//! call with number `n` (by twos, as `Call::sequence` counts) has entry
//! `n / 2 mod 64`. While the rank runs, the oldest entry may be replaced while it
//! is read; a dead rank's entries stay as they are.

use super::page::NONE;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many calls are kept.
pub const CALLS: u64 = 64;
/// Set in `what` when `whom` and `communicator` belong to this call.
const ABOUT: u64 = 1 << 16;
const BYTES_AT: u32 = 17;

/// The last calls of a rank.
#[repr(C, align(64))]
pub struct Recorder {
    entries: [Entry; CALLS as usize],
}

/// One call.
#[repr(C, align(32))]
pub struct Entry {
    /// Bits 0–15 name, 16 [`ABOUT`], 17–63 bytes: no process has more memory.
    pub(super) what: AtomicU64,
    /// Peer (low half) and tag.
    whom: AtomicU64,
    communicator: AtomicU64,
}

/// A call as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Index into the segment's table of call names.
    pub name: u32,
    /// Peer or root in the communicator, [`NONE`] if the call has none.
    pub peer: i32,
    /// Tag, [`NONE`] if the call has none.
    pub tag: i32,
    /// Communicator's context id, 0 if the call has none.
    pub communicator: u64,
    /// Bytes that it moves, if it has said so.
    pub bytes: u64,
}

impl Recorder {
    /// The entry of the call with this number.
    #[inline]
    pub(super) fn at(&self, sequence: u64) -> &Entry {
        &self.entries[(sequence / 2 % CALLS) as usize]
    }

    /// The call with this number, if there was one.
    pub(super) fn read(&self, sequence: u64) -> Option<Recorded> {
        let entry = self.at(sequence);
        let what = entry.what.load(Relaxed);
        let name = (what & 0xffff) as u32;
        let (whom, communicator) = match what & ABOUT {
            0 => (pair(NONE, NONE), 0),
            _ => (entry.whom.load(Relaxed), entry.communicator.load(Relaxed)),
        };
        let (peer, tag) = (whom as u32 as i32, (whom >> 32) as u32 as i32);
        (name != 0).then_some(Recorded { name, peer, tag, communicator, bytes: what >> BYTES_AT })
    }

    /// The last calls, oldest first, when `sequence` is the page's.
    pub fn last(&self, sequence: u64) -> Vec<Recorded> {
        let last = sequence.div_ceil(2);
        (last.saturating_sub(CALLS)..last).filter_map(|call| self.read(call * 2)).collect()
    }
}

impl Entry {
    #[inline]
    pub(super) fn about(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        self.communicator.store(communicator, Relaxed);
        self.whom.store(pair(peer, tag), Relaxed);
        let name = self.what.load(Relaxed) & 0xffff;
        self.what.store(name | ABOUT | bytes << BYTES_AT, Relaxed);
    }
}

#[inline]
fn pair(peer: i32, tag: i32) -> u64 {
    u64::from(peer as u32) | u64::from(tag as u32) << 32
}

#[cfg(all(test, not(feature = "unobserved")))]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    #[test]
    fn the_last_calls_are_kept_in_order_and_the_current_one_is_among_them() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        assert_eq!((page.current(), page.recorder.last(0).len()), (None, 0));
        for call in 1..=100u32 {
            page.enter(page.sequence(), call);
            if call % 2 == 0 {
                page.about(2, call as i32, -1, 8);
            }
            if call < 100 {
                page.leave(page.sequence());
            }
        }
        let last = page.recorder.last(page.call.sequence.load(Relaxed));
        let names: Vec<u32> = last.iter().map(|call| call.name).collect();
        assert_eq!(names, (37..=100).collect::<Vec<_>>());
        assert_eq!(
            page.current(),
            Some(Recorded { name: 100, peer: 100, tag: -1, communicator: 2, bytes: 8 })
        );
        page.leave(page.sequence());
        assert_eq!(page.current().unwrap().name, 100);
        assert_eq!((last[0].peer, last[0].communicator), (NONE, 0));
    }
}
