//! The flight recorder: the last calls of a rank, in a ring on its page.
//!
//! The entry of the call that a rank is in is where it writes what the call is
//! about anyway, so keeping the calls before it costs nothing.
//!
//! # Ownership
//! As for the page: the rank alone writes, with relaxed stores; anyone reads. The
//! `n`th call that is recorded has entry `n mod 64`; calls are counted by the bytes of
//! their entries, so that a rank need not multiply. While the rank runs, the
//! oldest entry may be replaced while it is read; a dead rank's entries stay as
//! they are.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Peer or tag value that says "none" (not a rank, not a tag).
pub const NONE: i32 = i32::MIN;

/// How many calls are kept.
pub const CALLS: u64 = 64;
/// Bytes of an entry.
pub(super) const ENTRY: u64 = std::mem::size_of::<Entry>() as u64;
const NAME: u32 = 0xffff;
/// Set in `what` when nothing else of the entry belongs to this call.
const SILENT: u32 = 1 << 16;

/// The last calls of a rank.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Recorder {
    entries: [Entry; CALLS as usize],
}

/// One call.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Entry {
    communicator: AtomicU64,
    bytes: AtomicU64,
    peer: AtomicI32,
    tag: AtomicI32,
    /// Bits 0–15 name, 16 [`SILENT`]; the others say nothing.
    what: AtomicU32,
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

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { entries: std::array::from_fn(|_| Entry::default()) }
    }
}

impl Recorder {
    /// The same calls as another has.
    pub(super) fn take_over(&self, other: &Recorder) {
        for (entry, other) in self.entries.iter().zip(&other.entries) {
            let [peer, tag] = [&other.peer, &other.tag].map(|number| number.load(Relaxed));
            let [communicator, bytes] =
                [&other.communicator, &other.bytes].map(|number| number.load(Relaxed));
            entry.about(other.what.load(Relaxed), communicator, peer, tag, bytes);
        }
    }

    /// The entry of the call before which so many bytes were recorded.
    #[inline(always)]
    pub(super) fn at(&self, before: u64) -> &Entry {
        &self.entries[(before / ENTRY % CALLS) as usize]
    }

    /// The call before which so many bytes were recorded.
    pub(super) fn read(&self, before: u64) -> Recorded {
        let entry = self.at(before);
        let what = entry.what.load(Relaxed);
        if what & SILENT != 0 {
            return Recorded::of_name(what & NAME);
        }
        Recorded {
            name: what & NAME,
            peer: entry.peer.load(Relaxed),
            tag: entry.tag.load(Relaxed),
            communicator: entry.communicator.load(Relaxed),
            bytes: entry.bytes.load(Relaxed),
        }
    }

    /// The last calls of so many bytes, oldest first.
    pub(super) fn last(&self, recorded: u64) -> Vec<Recorded> {
        let first = recorded.saturating_sub(CALLS * ENTRY);
        (first..recorded).step_by(ENTRY as usize).map(|before| self.read(before)).collect()
    }
}

impl Recorded {
    /// A call of which nothing else is known.
    pub(super) fn of_name(name: u32) -> Recorded {
        Recorded { name, peer: NONE, tag: NONE, communicator: 0, bytes: 0 }
    }
}

impl Entry {
    /// `what` is the name, and anything above [`SILENT`].
    #[inline(always)]
    pub(super) fn about(&self, what: u32, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        self.what.store(what, Relaxed);
        self.peer.store(peer, Relaxed);
        self.tag.store(tag, Relaxed);
        self.communicator.store(communicator, Relaxed);
        self.bytes.store(bytes, Relaxed);
    }

    /// Nothing is known of the call but its name.
    #[inline(always)]
    pub(super) fn name(&self, what: u32) {
        self.what.store(what | SILENT, Relaxed);
    }
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
            assert!(!page.enter(call));
            assert_eq!(page.sequence(), u64::from(call) * 2 - 1);
            if call % 2 == 0 {
                page.about(2, call as i32, -1, 8);
                assert_eq!(page.sequence(), u64::from(call) * 2 - 1);
            }
            if call < 100 {
                page.leave(false);
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
        page.leave(false);
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
        page.leave(false);
        page.enter(8);
        let names =
            |page: &super::super::Page| page.last_calls().iter().map(|call| call.name).collect::<Vec<_>>();
        assert_eq!((names(page), page.current().unwrap().communicator), (vec![7, 8], 0));
        assert_eq!((page.last_calls()[0].peer, page.last_calls()[0].bytes), (5, 9));
        page.leave(false);
        assert_eq!((names(page), page.sequence()), (vec![7, 8], 4));
    }

    #[test]
    fn a_call_within_another_is_the_current_one_until_it_ends() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.enter(1);
        page.about(2, 3, 4, 8);
        assert!(page.enter(5));
        assert_eq!((page.own().name(), page.current().unwrap().name), (5, 5));
        page.leave(false);
        assert_eq!((page.own().name(), page.inside(), page.current().unwrap().name), (1, true, 1));
        assert!(page.enter(5));
        // The one around was of another thread, and ends first.
        page.leave(false);
        page.leave(false);
        assert!(!page.inside() && page.sequence() & 1 == 0);
    }

    #[test]
    fn usual_calls_begin_and_end_by_themselves_and_no_others() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        assert!(!page.enter_usual(3), "before MPI runs no call is usual");
        page.enter(2);
        assert!(!page.leave_usual(2));
        page.leave(true);
        assert!(page.enter_usual(3) && page.inside());
        assert!(!page.enter_usual(4), "within a call none is usual");
        assert!(!page.leave_usual(3), "nobody has said what it is about");
        page.about_first(2, 1, 5, 8);
        assert!(!page.leave_usual(4) && page.leave_usual(3) && !page.inside());
        assert!(page.enter_usual(6));
        page.about_first(2, 1, 5, 8);
        page.hold_up();
        assert!(!page.leave_usual(6) && !page.leave(false) && !page.enter_usual(7));
        assert_eq!((page.sequence(), page.current().unwrap().name), (6, 6));
    }

    #[test]
    fn a_usual_call_of_which_nothing_is_said_is_recorded_when_it_ends() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.enter(2);
        assert!(!page.leave_unrecorded(2), "it has not begun as usual");
        page.leave(true);
        assert!(page.enter_usual(3) && !page.leave_unrecorded(4) && page.leave_unrecorded(3));
        assert_eq!((page.inside(), page.sequence(), page.current()), (false, 4, Some(Recorded::of_name(3))));
        assert!(page.enter_usual(5));
        page.about_first(2, 1, 5, 8);
        assert!(!page.leave_unrecorded(5), "it is recorded");
        page.hold_up();
        assert!(!page.leave_unrecorded(5), "somebody wants to know of its end");
        page.leave(false);
    }

    #[test]
    fn calls_go_on_on_another_page() {
        let node = NodeSegment::create(2).unwrap();
        let (from, to) = (node.page(0), node.page(1));
        from.enter(1);
        from.leave(false);
        from.enter(2);
        to.record.take_over(&from.record.copy());
        assert!(to.inside());
        to.leave(true);
        assert_eq!(to.last_calls().iter().map(|call| call.name).collect::<Vec<_>>(), [1, 2]);
        assert!(to.enter_usual(3));
    }
}
