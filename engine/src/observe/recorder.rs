//! The flight recorder: the last calls of a rank, in a ring on its page.
//!
//! The entry of the call that a rank is in is where it writes what the call is
//! about anyway, so keeping the calls before it costs nothing.
//!
//! # Ownership
//! As for the page: the rank alone writes, with relaxed stores; anyone reads. The
//! `n`th call that is recorded has entry `n mod 64`. While the rank runs, the
//! oldest entry may be replaced while it is read; a dead rank's entries stay as
//! they are.

use super::page::NONE;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many calls are kept.
pub const CALLS: u64 = 64;
/// Set in `what` when `whom` and `communicator` belong to this call.
const ABOUT: u64 = 1 << 16;
const NAME: u64 = ABOUT - 1;
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
    #[inline(always)]
    pub(super) fn at(&self, number: u64) -> &Entry {
        &self.entries[(number % CALLS) as usize]
    }

    /// The call with this number.
    pub(super) fn read(&self, number: u64) -> Recorded {
        let entry = self.at(number);
        let what = entry.what.load(Relaxed);
        let name = (what & NAME) as u32;
        if what & ABOUT == 0 {
            return Recorded::of_name(name);
        }
        let whom = entry.whom.load(Relaxed);
        let (peer, tag) = (whom as u32 as i32, (whom >> 32) as u32 as i32);
        let communicator = entry.communicator.load(Relaxed);
        Recorded { name, peer, tag, communicator, bytes: what >> BYTES_AT }
    }

    /// The last of `recorded` calls, oldest first.
    pub(super) fn last(&self, recorded: u64) -> Vec<Recorded> {
        (recorded.saturating_sub(CALLS)..recorded).map(|number| self.read(number)).collect()
    }
}

impl Recorded {
    /// A call of which nothing else is known.
    pub(super) fn of_name(name: u32) -> Recorded {
        Recorded { name, peer: NONE, tag: NONE, communicator: 0, bytes: 0 }
    }
}

impl Entry {
    #[inline(always)]
    pub(super) fn about(&self, name: u32, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        self.communicator.store(communicator, Relaxed);
        self.whom.store(pair(peer, tag), Relaxed);
        self.what.store(u64::from(name) | ABOUT | bytes << BYTES_AT, Relaxed);
    }
}

#[inline(always)]
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
        assert_eq!((page.current(), page.last_calls().len(), page.sequence()), (None, 0, 0));
        for call in 1..=100u32 {
            assert_eq!(page.enter(call), 0);
            assert_eq!(page.sequence(), u64::from(call) * 2 - 1);
            if call % 2 == 0 {
                page.about(2, call as i32, -1, 8);
                assert_eq!(page.sequence(), u64::from(call) * 2 - 1);
            }
            if call < 100 {
                page.leave(0);
                assert_eq!(page.sequence(), u64::from(call) * 2);
            }
        }
        let last = page.last_calls();
        let names: Vec<u32> = last.iter().map(|call| call.name).collect();
        assert_eq!(names, (37..=100).collect::<Vec<_>>());
        assert_eq!(
            page.current(),
            Some(Recorded { name: 100, peer: 100, tag: -1, communicator: 2, bytes: 8 })
        );
        page.leave(0);
        assert_eq!((page.current().unwrap().name, page.inside()), (100, false));
        assert_eq!((last[0].peer, last[0].communicator), (NONE, 0));
    }

    #[test]
    fn a_call_that_says_nothing_is_known_before_it_ends() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.enter(7);
        page.about(2, 1, 3, 8);
        page.about(4, 5, 6, 9);
        page.leave(0);
        page.enter(8);
        let names =
            |page: &super::super::Page| page.last_calls().iter().map(|call| call.name).collect::<Vec<_>>();
        assert_eq!((names(page), page.current().unwrap().communicator), (vec![7, 8], 0));
        assert_eq!((page.last_calls()[0].peer, page.last_calls()[0].bytes), (5, 9));
        page.leave(0);
        assert_eq!((names(page), page.sequence()), (vec![7, 8], 4));
    }

    #[test]
    fn a_call_within_another_is_the_current_one_until_it_ends() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.enter(1);
        page.about(2, 3, 4, 8);
        let around = page.enter(5);
        assert_eq!((page.own().name(), page.current().unwrap().name), (5, 5));
        page.leave(around);
        assert_eq!((page.own().name(), page.inside(), page.current().unwrap().name), (1, true, 1));
        let around = page.enter(5);
        // The one around was of another thread, and ends first.
        page.leave(0);
        page.leave(around);
        assert!(!page.inside() && page.sequence() & 1 == 0);
    }
}
