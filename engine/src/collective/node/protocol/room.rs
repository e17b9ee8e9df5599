//! Where a member puts its payload, and who has to have come how far before it may.
//!
//! A member that has a core for itself alternates between two slots. One that shares CPUs goes on until its
//! turn ends, and so its payload has more room: as many marks as the shape says, and two halves that it fills
//! from the beginning, one payload behind the other. It waits only where it begins a half, or a mark, of which
//! some member may still read.
//!
//! This is known to its owner alone. Of two slots the others know by the epoch which one it is; where payload lies
//! in a half they read in the mark.

use crate::collective::node::protocol::control_block::INLINE_BYTES;
use crate::collective::node::protocol::shape::{Shape, MOST_MARKS};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A half that holds so much is full: more of it would leave the caches.
const FILLED: u32 = 16 << 10;
/// Payload begins at multiples of this.
const ALIGNED: u32 = 64;

/// The places of one member. Only that member uses them; they are atomic for their type only.
#[derive(Default)]
pub(super) struct Room {
    /// The half that is being filled.
    half: AtomicU32,
    /// Bytes of it that are filled.
    used: AtomicU32,
    /// Where the payload of this operation goes ([`Shape::place`]).
    place: AtomicU32,
    /// The epoch at which all have read what lies in a half.
    halves: [AtomicU64; 2],
    /// The same of a mark.
    marks: [AtomicU64; MOST_MARKS],
}

impl Room {
    /// Takes a place for `bytes` bytes of payload of `member` in an epoch: the epoch at which nobody reads there
    /// any more.
    #[inline]
    pub fn take(&self, shape: &Shape, (member, is_wide): (u32, bool), epoch: u64, bytes: u64) -> u64 {
        let mark = self.mark(shape, epoch);
        let free_at = mark.load(Relaxed);
        mark.store(epoch + 1, Relaxed);
        if !shape.runs_ahead() {
            let slot = (epoch & 1) as u32;
            self.half.store(slot, Relaxed);
            self.place.store(shape.place(member, false, (slot, 0)), Relaxed);
            return free_at;
        }
        match bytes > INLINE_BYTES as u64 {
            true => free_at.max(self.take_in_half(shape, (member, is_wide), epoch, bytes as u32)),
            false => free_at,
        }
    }

    /// Takes the next bytes of a half, of the other one where this one is full.
    fn take_in_half(&self, shape: &Shape, (member, is_wide): (u32, bool), epoch: u64, bytes: u32) -> u64 {
        let (mut half, mut used, mut free_at) = (self.half.load(Relaxed), self.used.load(Relaxed), 0);
        if used >= FILLED || used as usize + bytes as usize > shape.half_bytes(is_wide) {
            (half, used) = (1 - half, 0);
            free_at = self.halves[half as usize].load(Relaxed);
        }
        self.half.store(half, Relaxed);
        self.place.store(shape.place(member, is_wide, (half, used)), Relaxed);
        self.used.store((used + bytes).next_multiple_of(ALIGNED), Relaxed);
        self.halves[half as usize].store(epoch + 1, Relaxed);
        free_at
    }

    /// Nothing more goes into this half: what is retained for it stays until all have come as far as for its last
    /// payload.
    #[inline]
    pub fn close(&self) {
        self.used.store(FILLED, Relaxed);
    }

    /// The half that holds the payload of this operation.
    #[inline]
    pub fn half(&self) -> usize {
        self.half.load(Relaxed) as usize
    }

    /// Where the payload of this operation goes, if it is longer than a mark holds.
    #[inline]
    pub fn place(&self) -> u32 {
        self.place.load(Relaxed)
    }

    /// Whether a place has been taken for this epoch.
    pub fn is_taken(&self, shape: &Shape, epoch: u64) -> bool {
        self.mark(shape, epoch).load(Relaxed) == epoch + 1
    }

    /// The epoch at which all have read what lies in the mark of this epoch.
    #[inline]
    fn mark(&self, shape: &Shape, epoch: u64) -> &AtomicU64 {
        &self.marks[shape.mark_of(epoch) % MOST_MARKS]
    }
}
