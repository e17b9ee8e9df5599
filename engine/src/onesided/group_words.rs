//! What members on one node tell each other about epochs that only some take part in (MPI-5.0 §12.5.2).
//!
//! # Protocol
//! A member has a bit for each other one and each word. Who tells sets it and rings; who is told takes it away when it goes
//! on. A member says the same word again only when the other has gone on, so one bit is enough. The one who waits sleeps at
//! its doorbell, whose protocol orders the bit and the sleep.

use crate::sync::{AtomicU64, Ordering};

/// What a member tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupWord {
    /// Its memory may be accessed.
    Posted,
    /// It has accessed the other's memory and does so no more.
    Completed,
}

/// Bits of one unit of the memory.
const BITS: u32 = u64::BITS;

/// Units for one word of a member of so many.
const fn units(members: u32) -> usize {
    members.div_ceil(BITS) as usize
}

/// What a member has been told.
#[derive(Clone, Copy, Debug)]
pub struct GroupWords<'a>(&'a [AtomicU64]);

impl<'a> GroupWords<'a> {
    /// Bytes of a member of so many: whole lines.
    pub const fn bytes(members: u32) -> usize {
        (2 * units(members) * size_of::<AtomicU64>()).next_multiple_of(64)
    }

    /// Those of one member of so many.
    ///
    /// # Safety
    /// [`GroupWords::bytes`] from `base` on are zero at first, aligned, used for this alone, and live as long as this.
    pub unsafe fn new(base: *mut u8, members: u32) -> GroupWords<'a> {
        // SAFETY: by the caller; atomics.
        GroupWords(unsafe { std::slice::from_raw_parts(base.cast(), 2 * units(members)) })
    }

    fn place(self, by: u32, word: GroupWord) -> (&'a AtomicU64, u64) {
        let before = self.0.len() / 2 * word as usize;
        (&self.0[before + (by / BITS) as usize], 1 << (by % BITS))
    }

    /// Member `by` says this. It rings afterwards.
    pub fn say(self, by: u32, word: GroupWord) {
        let (place, bit) = self.place(by, word);
        place.fetch_or(bit, Ordering::SeqCst); // said: paired with `has_said`
    }

    /// Whether member `by` has said this.
    #[inline]
    pub fn has_said(self, by: u32, word: GroupWord) -> bool {
        let (place, bit) = self.place(by, word);
        place.load(Ordering::SeqCst) & bit != 0 // said: paired with `say`
    }

    /// The member goes on: `by` may say this again.
    pub fn take(self, by: u32, word: GroupWord) {
        let (place, bit) = self.place(by, word);
        place.fetch_and(!bit, Ordering::SeqCst);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_member_and_each_word_has_a_bit_of_its_own() {
        for members in [1, 64, 65, 130] {
            let mut room = vec![0u64; GroupWords::bytes(members) / 8];
            // SAFETY: so long, zero, and used for this alone.
            let words = unsafe { GroupWords::new(room.as_mut_ptr().cast(), members) };
            let all = (0..members).flat_map(|by| [(by, GroupWord::Posted), (by, GroupWord::Completed)]);
            let said = || all.clone().filter(|&(by, word)| words.has_said(by, word)).collect::<Vec<_>>();
            for one in all.clone() {
                words.say(one.0, one.1);
                assert_eq!(said(), [one]);
                words.take(one.0, one.1);
            }
            assert!(said().is_empty());
        }
    }
}
