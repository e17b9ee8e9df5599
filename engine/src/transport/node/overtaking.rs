//! A receiver that overtakes the sender of a long block: it reads the rest where it is ([`super::overtake_word`]).
//!
//! Lines that the sender has not written since this rank read them lie in the caches of both. To copy them takes a fraction
//! of two copies through cells, whose lines go from core to core. So a receiver reads the second part of a block where it
//! lies. If that was much quicker than the first, out of a cell, it goes on. Else it gives the rest back, and lets the next
//! blocks of this peer be. [Decision 58](../../../../docs/decisions/0058-a-receiver-overtakes-its-sender.md) has the figures.

use super::long_block::InHand;
use super::overtake_word::{Outcome, OvertakeWord};
use super::NodeTransport;
use crate::clock::ticks;
use crate::Result;

/// Bytes that are read where they lie before the rest is.
const SAMPLE: usize = 8 << 10;
/// They lie near if a part out of a cell takes so many times as long.
const NEAR: u64 = 2;
/// Blocks of a peer that are let be after one that was far; after the next one more, up to so many.
const LET_BE: (u8, u8) = (3, 31);
/// Looks whether a sender has been told that a block is not wanted any more: less than a microsecond.
const LOOKS_FOR_ANSWER: u32 = 64;

/// What a rank remembers of the blocks of a peer.
#[derive(Debug, Default)]
pub struct Nearness {
    /// So many are let be now.
    left: u8,
    /// How many were, the last time.
    pause: u8,
}

impl Nearness {
    /// Whether to try the next one.
    #[inline]
    fn tries(&mut self) -> bool {
        let tries = self.left == 0;
        self.left = self.left.saturating_sub(1);
        tries
    }

    fn note(&mut self, is_near: bool) {
        self.pause = if is_near { 0 } else { (2 * self.pause).clamp(LET_BE.0, LET_BE.1) };
        self.left = self.pause;
    }
}

/// How far a receiver is with the block in its hand.
#[derive(Clone, Copy, Debug, Default)]
pub enum Overtaking {
    /// It reads the cells.
    #[default]
    No,
    /// It measures how long that takes, since so many ticks.
    Cells(u64),
    /// It reads where the block lies.
    Reading(Reading),
}

/// What a receiver reads.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Where byte 0 of the block would lie.
    start: *const u8,
    /// The first byte that is read out of a cell again.
    until: usize,
    /// While it is a sample: since when, from which byte on, and what 1 KiB takes out of cells.
    sample: Option<(u64, usize, u64)>,
}

// SAFETY: it lies in memory that this process has mapped; whoever has the transport may read it.
unsafe impl Send for Reading {}

/// Ticks for 1 KiB.
fn cost(since: u64, bytes: usize) -> u64 {
    (ticks() - since) * 1024 / bytes.max(1) as u64
}

/// The receiver.
impl NodeTransport {
    /// As [`NodeTransport::piece_of`] for the block in hand, or where its sender has it.
    pub(super) fn piece_in_hand(&mut self, block: &InHand, at: usize) -> Result<(*const u8, usize)> {
        match self.overtaking {
            Overtaking::No if at == 0 => {
                if self.is_being_filled(block) && self.peer(block.sender())?.nearness.tries() {
                    let first = self.piece_of(block, 0);
                    self.overtaking = Overtaking::Cells(ticks());
                    return first;
                }
            }
            Overtaking::No => {}
            Overtaking::Cells(since) => {
                let by_cells = cost(since, at);
                self.overtaking = Overtaking::No;
                if let Some((start, until)) = self.overtake(block, at) {
                    let sample = Some((ticks(), at, by_cells));
                    self.overtaking = Overtaking::Reading(Reading { start, until, sample });
                    return Ok((start.wrapping_add(at), SAMPLE.min(until - at)));
                }
            }
            Overtaking::Reading(reading) => {
                if self.goes_on(block, reading, at)? {
                    return Ok((reading.start.wrapping_add(at), reading.until - at));
                }
            }
        }
        self.piece_of(block, at)
    }

    /// Begins to read a block where it lies from a byte on; gives where its byte 0 would lie, and how far it can be read.
    fn overtake(&mut self, block: &InHand, at: usize) -> Option<(*const u8, usize)> {
        if !self.is_being_filled(block) || self.is_apart(block.sender()) {
            return None;
        }
        let word = self.overtake_word(block);
        let (address, bytes) = (word.block().wrapping_add(at as u64), block.bytes() - at);
        let direct = self.direct.as_ref()?;
        let (there, bytes) = direct.direct_until(self.node, block.sender(), address, bytes as u64)?;
        (bytes > 0 && word.overtake(at + bytes)).then_some((there.wrapping_sub(at), at + bytes))
    }

    /// Whether a block is still read where it lies, from this byte on.
    fn goes_on(&mut self, block: &InHand, reading: Reading, at: usize) -> Result<bool> {
        let mut is_near = true;
        if let Some((since, from, by_cells)) = reading.sample {
            is_near = NEAR * cost(since, at - from) < by_cells;
            self.peer(block.sender())?.nearness.note(is_near);
        }
        let goes_on = is_near && at < reading.until;
        if goes_on {
            self.overtaking = Overtaking::Reading(Reading { sample: None, ..reading });
        } else {
            self.overtaking = Overtaking::No;
            match at < reading.until {
                true => self.overtake_word(block).give_back(),
                false => self.overtake_word(block).end(),
            }
        }
        Ok(goes_on)
    }

    /// The block in hand has been read. Its sender is told, and mostly says at once that it does not copy any more: so the
    /// cells may be kept.
    #[inline]
    pub(super) fn end_overtaking(&mut self, block: &InHand) {
        if let Overtaking::Reading(_) = std::mem::take(&mut self.overtaking) {
            self.overtake_word(block).end();
            for _ in (0..LOOKS_FOR_ANSWER).take_while(|_| self.is_being_filled(block)) {
                std::hint::spin_loop();
            }
        }
    }
}

/// The sender.
impl NodeTransport {
    /// Everything is in the cells: returns when the receiver does not read the block, and will not.
    #[inline]
    pub(super) fn close(&self, peer: u32, word: &OvertakeWord) {
        while !word.close() && !self.is_read(peer, word) {}
    }

    /// Waits while the receiver reads a block where it lies; whether it has read it, or will not.
    #[cold]
    pub(super) fn is_read(&self, peer: u32, word: &OvertakeWord) -> bool {
        let is_alive = self.await_peer(peer, || word.outcome() != Outcome::Read);
        !is_alive || word.outcome() == Outcome::Over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_let_be_for_longer_each_time_until_one_is_near() {
        let mut nearness = Nearness::default();
        let mut let_be = |is_near| {
            nearness.note(is_near);
            (0..100).take_while(|_| !nearness.tries()).count()
        };
        assert_eq!([false; 5].map(&mut let_be), [3, 6, 12, 24, 31]);
        assert_eq!([true, true, false].map(&mut let_be), [0, 0, 3]);
    }
}
