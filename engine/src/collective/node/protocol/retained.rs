//! Copies that a member keeps for others that still read them, after it has gone on.
//!
//! A member that lends memory of the program waits until all others have read it. A member that lends a copy
//! goes on, as if its payload were in its half of the block. The copy stays as long as that payload would: until the
//! member lends another copy for the same half (rule 2 of the control block), or until all members have left the
//! communicator.

use crate::collective::node::protocol::control_block::ControlBlock;
use crate::collective::scratch::Scratch;
use std::sync::{Mutex, PoisonError};

/// Longer copies are not kept: each communicator may keep two.
pub(crate) const LONGEST: u64 = 64 << 10;

/// The copies of one member.
#[derive(Default)]
pub(crate) struct Retained {
    /// Of each half.
    copies: [Mutex<Option<Scratch>>; 2],
}

/// Copies of members that have left their communicators.
static LEFT: Mutex<Vec<(ControlBlock, Scratch)>> = Mutex::new(Vec::new());

impl Retained {
    /// Keeps a copy that is lent, for a half. Nobody reads the one before any more.
    pub fn keep(&self, half: usize, copy: Scratch) {
        let mut place = self.copies[half].lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(copy);
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
        if !place.as_ref().is_some_and(serves) {
            *place = Some(scratch()?);
        }
        place.as_ref().map(Scratch::address)
    }

    /// Keeps all copies until everybody has left the control block.
    pub fn keep_for(&mut self, block: ControlBlock) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        for copy in &mut self.copies {
            let copy = copy.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            left.extend(copy.map(|copy| (block, copy)));
        }
        // The block of a later communicator at the same place keeps them longer, and no harm is done.
        left.retain(|(block, _)| !block.is_left());
    }
}
