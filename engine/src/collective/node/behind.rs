//! Copies that members leave behind for those that still read them.
//!
//! Who lends the memory of the program has to wait until all have read it. Who lends a copy
//! (`bounce.rs`) can go on, as one whose payload is in its slot; and the copy stays as long as that
//! would: until the member lends another in an epoch of the same parity (rule 2 of the block), or
//! else until all members have left the communicator.

use super::block::Block;
use super::reach::Room;
use std::sync::{Mutex, PoisonError};

/// Longer copies are not left behind: each communicator may keep two.
pub(super) const LONGEST: u64 = 64 << 10;

/// The copies of one member.
#[derive(Default)]
pub(super) struct Behind {
    /// Of an even epoch and of an odd one.
    copies: [Mutex<Option<Room>>; 2],
}

/// Copies of members of communicators that they have left.
static LEFT: Mutex<Vec<(Block, Room)>> = Mutex::new(Vec::new());

impl Behind {
    /// Leaves a copy that is lent since an epoch. Nobody reads the one before any more.
    pub fn leave(&self, epoch: u64, copy: Room) {
        let mut place = self.copies[(epoch & 1) as usize].lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(copy);
    }

    /// A place for a copy that is lent in an epoch which has just begun. Nobody reads the one before any more;
    /// its memory is used again if it `serves`.
    pub fn place(
        &self,
        epoch: u64,
        serves: impl FnOnce(&Room) -> bool,
        room: impl FnOnce() -> Option<Room>,
    ) -> Option<*mut u8> {
        let mut place = self.copies[(epoch & 1) as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if !place.as_ref().is_some_and(serves) {
            *place = Some(room()?);
        }
        place.as_ref().map(Room::address)
    }

    /// Keeps all until everybody has left the block.
    pub fn keep_for(&mut self, block: Block) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        for copy in &mut self.copies {
            let copy = copy.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            left.extend(copy.map(|copy| (block, copy)));
        }
        // The block of a later communicator at the same place keeps them longer, and no harm is done.
        left.retain(|(block, _)| !block.is_left());
    }
}
