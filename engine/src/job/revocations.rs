//! Communicators that were revoked: a list in the node segment, and what this process has read of it.
//!
//! # Ownership
//! Whoever revokes one takes the next place of the list by adding to its number, and writes the context there. A place
//! without a context is being written, or its writer has died meanwhile: it is looked at again each time. A context is never
//! used again, so nothing is taken off the list. The list is sparse: what is not used of it is no memory.

use super::{universe, NodeSegment};
use crate::{Class, Error, Result};
use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::{Mutex, PoisonError};

/// Communicators that can be revoked in the life of a job.
const MOST: usize = 1 << 17;
/// Where the list lies in the node segment, and its length.
pub(super) const AT: usize = universe::AT + universe::BYTES;
pub(super) const BYTES: usize = 8 * MOST;

/// What this process has read of both lists: of ranks that have failed (`news`), and of revocations.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Ranks that have failed, in that order: by their local numbers where all are on this node.
    pub failed: Mutex<Vec<u32>>,
    revoked: Mutex<Known>,
}

/// What a process has read of revocations.
#[derive(Debug, Default)]
struct Known {
    /// Places that were looked at.
    read: usize,
    /// Those of them that had no context then.
    empty: Vec<usize>,
    contexts: HashSet<u64>,
}

impl Known {
    fn read_on(&mut self, list: &[AtomicU64]) {
        let Known { read, empty, contexts } = self;
        empty.extend(*read..list.len());
        *read = list.len();
        // revoked: paired with `note_revocation`
        empty.retain(|&place| match list[place].load(Acquire) {
            0 => true,
            context => {
                contexts.insert(context);
                false
            }
        });
    }
}

impl NodeSegment {
    /// Says that the communicator of a context is revoked. Its members have to be woken afterwards.
    ///
    /// # Errors
    /// `NoMem` when there is no room for more.
    pub fn note_revocation(&self, context: u64) -> Result<()> {
        let header = self.header();
        if self.is_revoked(context) {
            return Ok(());
        }
        let mut next = header.revocations.load(Acquire);
        loop {
            if next as usize == MOST {
                return Err(too_many());
            }
            self.segment.reserve(AT + 8 * next as usize, 8)?;
            match header.revocations.compare_exchange(next, next + 1, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => next = now,
            }
        }
        self.revocations(next as usize + 1)[next as usize].store(context, Release); // revoked: paired with `read_on`
        header.news.fetch_add(1, SeqCst); // news: paired with `news`; before a ring
        Ok(())
    }

    /// Whether no more communicators can be revoked.
    pub fn has_no_room_for_revocations(&self) -> bool {
        self.header().revocations.load(Relaxed) as usize == MOST
    }

    /// Whether the communicator of a context was revoked; 0 is that of none.
    pub fn is_revoked(&self, context: u64) -> bool {
        let count = self.header().revocations.load(Acquire) as usize;
        if context == 0 || count == 0 {
            return false;
        }
        let mut known = self.heard.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        known.read_on(self.revocations(count));
        known.contexts.contains(&context)
    }

    /// The first places of the list.
    fn revocations(&self, count: usize) -> &[AtomicU64] {
        assert!(count <= MOST);
        // SAFETY: inside the mapping, by the layout of the segment, which lives as long as `self`; page aligned, and
        // every bit pattern is a valid word.
        unsafe { std::slice::from_raw_parts(self.segment.base().add(AT).cast(), count) }
    }
}

/// The error of one more revocation.
#[cold]
pub fn too_many() -> Error {
    let sentence = format!("{MOST} communicators were revoked in this job, the most that can be");
    Error::new(Class::NoMem, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_communicator_that_was_revoked_is_known_until_there_are_too_many() {
        let node = NodeSegment::create(1).unwrap();
        for number in 1..=MOST as u64 {
            assert!(!node.is_revoked(2 * number));
            node.note_revocation(2 * number).unwrap();
            assert!(node.is_revoked(2 * number) && !node.is_revoked(0));
        }
        assert!(node.has_no_room_for_revocations());
        assert_eq!(node.note_revocation(7).unwrap_err().class(), Class::NoMem);
        node.note_revocation(8).unwrap();
        assert_eq!(node.news(), MOST as u32);
    }

    #[test]
    fn one_that_is_revoked_twice_takes_one_place() {
        let node = NodeSegment::create(2).unwrap();
        (0..1000).for_each(|_| node.note_revocation(5).unwrap());
        assert_eq!((node.news(), node.is_revoked(5), node.is_revoked(6)), (1, true, false));
    }

    #[test]
    fn a_place_whose_writer_is_slow_is_looked_at_again() {
        let list: Vec<AtomicU64> = [3, 0, 7].into_iter().map(AtomicU64::new).collect();
        let mut known = Known::default();
        known.read_on(&list);
        assert_eq!((known.contexts.len(), &known.empty[..]), (2, &[1][..]));
        list[1].store(5, Relaxed);
        known.read_on(&list);
        assert!(known.contexts.contains(&5) && known.empty.is_empty());
    }
}
