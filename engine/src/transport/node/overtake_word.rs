//! The word by which a receiver overtakes the sender of a long block: it reads the rest where it is, while the sender still
//! copies it into cells.
//!
//! # Protocol
//! The word is [`OPEN`] before the packet is pushed; then the receiver may set it to [`OVERTAKEN`], once. The sender looks
//! before each part. If it is overtaken, it copies what the receiver will not read, and waits until the receiver has read
//! the rest, or gives it back. A sender that has copied everything closes the word, unless it is overtaken. So it waits only
//! for a receiver that copies.
//!
//! # Ownership
//! While the word is overtaken the receiver reads the block, and the sender does not return to the program, which may write
//! it then. The word and the cells are the sender's until it has told, in the word beside this one, that everything is there.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

const OPEN: u32 = 0;
const OVERTAKEN: u32 = 1;
/// The receiver has read what it wants.
const OVER: u32 = 2;
/// The sender has copied everything.
const CLOSED: u32 = 3;

/// The word, and where the block lies in the sender's memory.
#[derive(Debug)]
#[repr(C)]
pub struct OvertakeWord {
    word: AtomicU32,
    /// Where the receiver stops reading.
    until: AtomicU32,
    block: AtomicU64,
}

/// What has become of a block whose sender was overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver reads it yet.
    Read,
    /// The receiver has given it back: the sender goes on.
    GivenBack,
    /// The receiver has read it.
    Over,
}

#[cfg(loom)]
impl OvertakeWord {
    /// Of nobody.
    pub fn new() -> OvertakeWord {
        OvertakeWord { word: AtomicU32::new(CLOSED), until: AtomicU32::new(0), block: AtomicU64::new(0) }
    }
}

/// The sender's side.
impl OvertakeWord {
    /// A block begins whose byte 0 would lie at this address.
    #[inline]
    pub fn open(&self, block: u64) {
        self.block.store(block, Ordering::Relaxed);
        self.word.store(OPEN, Ordering::Release); // opened: paired with `overtake`
    }

    /// If the sender is overtaken: the first byte that the receiver reads out of a cell again.
    #[inline]
    pub fn until(&self) -> Option<usize> {
        // overtaken, over: paired with `overtake`, `end`
        match self.word.load(Ordering::Acquire) {
            OVERTAKEN | OVER => Some(self.until.load(Ordering::Relaxed) as usize),
            _ => None,
        }
    }

    /// What has become of a block whose sender was overtaken.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        match self.word.load(Ordering::Acquire) {
            OVERTAKEN => Outcome::Read,
            OVER => Outcome::Over, // over: paired with `end`
            _ => Outcome::GivenBack,
        }
    }

    /// Everything is in the cells; `false`: but the sender is overtaken.
    #[inline]
    pub fn close(&self) -> bool {
        // given-back: paired with `give_back`
        self.word.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The receiver's side.
impl OvertakeWord {
    /// Where byte 0 of the block would lie in the sender's memory.
    #[inline]
    pub fn block(&self) -> u64 {
        self.block.load(Ordering::Relaxed)
    }

    /// The receiver reads the block where it is, up to a byte; `false`: all of it is in the cells, or soon.
    #[inline]
    pub fn overtake(&self, until: usize) -> bool {
        self.until.store(until as u32, Ordering::Relaxed);
        // opened, overtaken: paired with `open`, `until`
        self.word.compare_exchange(OPEN, OVERTAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// It reads the cells again.
    #[inline]
    pub fn give_back(&self) {
        self.word.store(OPEN, Ordering::Release); // given-back: paired with `outcome`, `close`
    }

    /// The block has been read up to there, or nobody wants it.
    #[inline]
    pub fn end(&self) {
        self.word.store(OVER, Ordering::Release); // over: paired with `outcome`, `until`
    }
}
