//! The mailbox: a ring of cache lines that many ranks fill and one empties, a line
//! for a packet.
//!
//! # Ownership
//! 1. A sender takes line `p` by moving `tail` from `p` to `p + 1`; it may do so
//!    only while `p - head` is less than [`LINES`].
//! 2. The line is the sender's until it stores the line's word, whose upper half is
//!    the lap of `p`, so that an old word is never taken for a new one.
//! 3. Then it is the reader's, until it publishes a head beyond it.
//!
//! A sender says before rule 1 that it may have an unfinished line here, and takes that back after rule 2
//! (`Control::filling`). A line that was taken, and of which no sender that is left says so, is that of one who has failed:
//! the reader goes past it.
//!
//! A silent peer costs nothing: there is one mailbox per rank, whoever sends.

use super::area::Area;
use super::packet::{self, Memory};
use super::sizes::{LINES, LINE_BYTES};
use crate::sync::{AtomicU64, Ordering};
use crate::transport::{Arrival, Letter, INLINE_BYTES};

/// The lines of a mailbox; positions are counted for ever.
#[derive(Clone, Copy, Debug)]
pub struct Ring(Memory);

impl Ring {
    /// A ring in [`LINES`] lines of memory, zero at first.
    pub fn new(memory: Memory) -> Ring {
        Ring(memory)
    }

    /// Where a line begins; the modulus keeps it inside the ring.
    #[inline]
    fn line(self, position: u64) -> usize {
        (position % LINES) as usize * LINE_BYTES
    }

    /// The word of a line.
    #[inline]
    pub fn word(&self, position: u64) -> &AtomicU64 {
        // SAFETY: aligned, in the ring, and only ever used as an atomic.
        unsafe { self.0.word(self.line(position)) }
    }

    /// The packet at a position, if it is there.
    #[inline]
    pub fn arrived(self, position: u64) -> Option<Arrival> {
        // line: paired with `NodeTransport::push`
        let word = self.word(position).load(Ordering::Acquire);
        // SAFETY: rule 3.
        ((word >> 32) as u32 == lap(position)).then(|| unsafe { self.0.read(self.line(position), word) })
    }
}

/// What the upper half of a word is when the packet of a position is there:
/// never zero.
#[inline]
pub fn lap(position: u64) -> u32 {
    (position / LINES) as u32 | 1 << 31
}

/// A sender's memory of a peer's head.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderView {
    head: u64,
}

impl SenderView {
    /// Takes a line and fills it: the word to store, and what publishes it; `None`
    /// if there is no room. The payload must fit the line.
    #[inline]
    pub fn fill(&mut self, area: &Area, letter: &Letter<'_>) -> Option<(*const AtomicU64, u64)> {
        assert!(letter.payload.len() <= INLINE_BYTES);
        let (control, ring) = (area.control(), Ring(area.mailbox()));
        let mut position = control.tail.0.load(Ordering::Relaxed);
        loop {
            if position.wrapping_sub(self.head) >= LINES {
                self.head = control.head.0.load(Ordering::SeqCst); // head: paired with `Inbox::advance`
                if position.wrapping_sub(self.head) >= LINES {
                    return None;
                }
            }
            let next = position + 1;
            // tail: paired with `Inbox::skip_unfinished`
            match control.tail.0.compare_exchange_weak(position, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => position = now,
            }
        }
        // SAFETY: moving `tail` has made the line ours, and the payload fits it.
        unsafe { ring.0.write(ring.line(position), letter) };
        Some((ring.word(position), (lap(position) as u64) << 32 | packet::describe(letter)))
    }
}
