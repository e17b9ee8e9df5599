//! A member's part of an operation, of which others may take pieces (`work_sharing/mod.rs`).
//!
//! # Ownership
//! The part of an operation is some number of pieces, which all members know alike. One word
//! says how far it has come: the epoch (its lower 48 bits), pieces that nobody has claimed,
//! pieces that are not finished. A word of an older epoch is a part that nobody has touched
//! yet; one of a later epoch is a part that is over, for its owner goes on only then.
//!
//! 1. Only the member that has claimed a piece touches what the piece writes. Pieces are claimed in
//!    order, the owner's as many as it likes at once.
//! 2. A part is over when all its pieces are finished: whoever sees that sees what they have
//!    written, and nobody touches their memory any more.
//! 3. The word changes by exchanges only, so it carries on what all who finished have released.
//!
//! A claimed piece keeps the part from being over, so the word cannot turn to a later epoch before
//! the piece has been counted as finished.

use crate::sync::{AtomicU64, Ordering};
use std::ops::Range;

/// The most pieces of a part.
pub const MOST_PIECES: u32 = u8::MAX as u32;
/// Bits of a word for the epoch: more than there will be, also from one part to the next.
const EPOCH_BITS: u32 = 48;

/// The part of one member; zero at first.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Part(AtomicU64);

/// How far a part has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Untouched,
    UnderWay { unclaimed: u32, unfinished: u32 },
    Over,
}

fn stage(word: u64, epoch: u64) -> Stage {
    // Only the lower bits of the difference count, with their sign.
    let later = (word >> (64 - EPOCH_BITS)).wrapping_sub(epoch) << (64 - EPOCH_BITS);
    let [unfinished, unclaimed, ..] = word.to_le_bytes();
    match (later as i64, unfinished) {
        (..0, _) => Stage::Untouched,
        (1.., _) | (0, 0) => Stage::Over,
        (0, _) => Stage::UnderWay { unclaimed: unclaimed.into(), unfinished: unfinished.into() },
    }
}

fn word(epoch: u64, unclaimed: u32, unfinished: u32) -> u64 {
    debug_assert!(unclaimed <= unfinished && unfinished <= MOST_PIECES);
    epoch << (64 - EPOCH_BITS) | u64::from(unclaimed << 8 | unfinished)
}

impl Part {
    /// The part of nobody yet.
    #[cfg(any(loom, test))]
    pub fn new() -> Part {
        Part(AtomicU64::new(0))
    }

    /// Claims the next pieces of the part of an epoch, which has `pieces` of them: as many as
    /// `claiming` says of those that are left. None are left: `None`. The owner must have begun the epoch.
    pub fn claim(&self, epoch: u64, pieces: u32, claiming: impl Fn(u32) -> u32) -> Option<Range<u32>> {
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            let (unclaimed, unfinished) = match stage(seen, epoch) {
                Stage::Untouched => (pieces, pieces),
                Stage::UnderWay { unclaimed: 0, .. } | Stage::Over => return None,
                Stage::UnderWay { unclaimed, unfinished } => (unclaimed, unfinished),
            };
            let claimed = claiming(unclaimed).min(unclaimed);
            let next = word(epoch, unclaimed - claimed, unfinished);
            match self.0.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if claimed == 0 => return None,
                Ok(_) => {
                    // Not so, and of no importance, where members do not agree how many there are.
                    let first = pieces.saturating_sub(unclaimed);
                    return Some(first..first + claimed);
                }
                Err(now) => seen = now,
            }
        }
    }

    /// So many claimed pieces are finished; whether the part is over by that.
    pub fn finish(&self, pieces: u32) -> bool {
        // part: paired with `is_over`
        let before = self.0.fetch_sub(pieces.into(), Ordering::AcqRel);
        before as u8 == pieces as u8
    }

    /// Whether nobody will touch anything for the part of an epoch any more.
    pub fn is_over(&self, epoch: u64) -> bool {
        stage(self.0.load(Ordering::Acquire), epoch) == Stage::Over // part: paired with `finish`
    }

    /// Whether there are pieces to claim, or an empty part has to be claimed.
    pub fn has_pieces(&self, epoch: u64) -> bool {
        match stage(self.0.load(Ordering::Relaxed), epoch) {
            Stage::Untouched => true,
            Stage::UnderWay { unclaimed, .. } => unclaimed > 0,
            Stage::Over => false,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_claimed_in_pieces_and_over_when_all_are_finished() {
        let part = Part::new();
        assert!(part.has_pieces(7) && !part.is_over(7));
        assert_eq!(part.claim(7, 5, |_| 1), Some(0..1));
        assert_eq!(part.claim(7, 5, |left| left - 1), Some(1..4));
        assert!(part.has_pieces(7) && !part.finish(3));
        assert_eq!(part.claim(7, 5, |left| left), Some(4..5));
        assert_eq!(part.claim(7, 5, |_| 1), None);
        assert!(!part.has_pieces(7) && !part.finish(1) && !part.is_over(7));
        assert!(part.finish(1) && part.is_over(7) && part.is_over(6));
        assert!(part.has_pieces(8) && !part.is_over(8));
    }

    #[test]
    fn an_empty_part_is_over_once_it_is_claimed_and_one_that_was_left_is_a_new_one() {
        let part = Part::new();
        assert!(part.has_pieces(1));
        assert_eq!(part.claim(1, 0, |_| 9), None);
        assert!(part.is_over(1) && !part.has_pieces(1));
        assert_eq!(part.claim(2, MOST_PIECES, |_| 1), Some(0..1));
        assert!(part.has_pieces(3));
        assert_eq!(part.claim(3, 2, |_| 9), Some(0..2));
        assert_eq!(part.claim(2, MOST_PIECES, |_| 1), None, "its owner has gone on");
    }

    #[test]
    fn epochs_beyond_the_bits_of_a_word_are_told_apart() {
        let (part, last) = (Part::new(), (1 << 49) - 1);
        part.0.store(word(last, 0, 0), Ordering::Relaxed);
        assert!(part.is_over(last) && part.has_pieces(last + 1));
        assert_eq!(part.claim(last + 1, 1, |_| 1), Some(0..1));
        assert!(part.finish(1) && part.is_over(last + 1) && part.is_over(last) && !part.is_over(last + 2));
    }
}
