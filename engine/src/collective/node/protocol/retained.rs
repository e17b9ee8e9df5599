//! Copies that a member keeps for others that still read them, after it has gone on.
//!
//! A member that lends memory of the program waits until all others have read it. A member that lends a copy
//! goes on, as if its payload were in its half of the block. The copy stays as long as that payload would: until the
//! member lends another copy for the same half (rule 2 of the control block), or until all members have left the
//! communicator.

use crate::collective::node::protocol::control_block::ControlBlock;
use crate::collective::scratch::Scratch;
use smallvec::{smallvec, SmallVec};
use std::sync::{Mutex, PoisonError};

/// More is not kept: each communicator may keep so much twice.
pub(crate) const LONGEST: u64 = 64 << 10;

/// Copies that are lent in one operation.
type Copies = SmallVec<[Scratch; 1]>;

/// The copies of one member.
#[derive(Default)]
pub(crate) struct Retained {
    /// Of each half.
    copies: [Mutex<Copies>; 2],
}

/// Copies of members that have left their communicators.
static LEFT: Mutex<Vec<(ControlBlock, Scratch)>> = Mutex::new(Vec::new());

impl Retained {
    /// Keeps copies that are lent, for a half. Nobody reads those before any more.
    pub fn keep(&self, half: usize, copies: impl IntoIterator<Item = Scratch>) {
        let mut place = self.copies[half].lock().unwrap_or_else(PoisonError::into_inner);
        place.clear();
        place.extend(copies);
    }

    /// A place for a copy that is lent for a half. Nobody reads the one before any more; its memory is used again if
    /// it `serves`.
    pub fn place(
        &self,
        half: usize,
        serves: impl FnOnce(&Scratch) -> bool,
        scratch: impl FnOnce() -> Option<Scratch>,
    ) -> Option<*mut u8> {
        let mut place = self.copies[half].lock().unwrap_or_else(PoisonError::into_inner);
        if !place.first().is_some_and(serves) {
            *place = smallvec![scratch()?];
        }
        place.first().map(Scratch::address)
    }

    /// Keeps all copies until everybody has left the control block.
    pub fn keep_for(&mut self, block: ControlBlock) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        for copies in &mut self.copies {
            let copies = std::mem::take(copies.get_mut().unwrap_or_else(PoisonError::into_inner));
            left.extend(copies.into_iter().map(|copy| (block, copy)));
        }
        // The block of a later communicator at the same place keeps them longer, and no harm is done.
        left.retain(|(block, _)| !block.is_left());
    }
}
