//! Where blocks come from: each rank has an area in its part of the node segment
//! and lends blocks of it to the communicators in which it is rank 0. It takes a
//! block back when the last member has left. No two ranks share an allocator.

use crate::collective::node::{protocol::control_block::ControlBlock, protocol::shape::Shape};
use crate::Result;

/// What the pool needs of the memory below: an area, sparse and zero at first.
pub trait Area: Send {
    /// Where it begins, aligned to 4 KiB.
    fn base(&self) -> *mut u8;
    /// How many bytes it has.
    fn bytes(&self) -> usize;
    /// Reserves bytes before they are touched.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    fn reserve(&self, offset: usize, bytes: usize) -> Result<()>;
    /// Gives reserved bytes back to the system; they are zero afterwards.
    ///
    /// # Errors
    /// When the system refuses; they are as before then.
    fn give_back(&self, offset: usize, bytes: usize) -> Result<()>;
}

/// The blocks of one rank.
pub struct Pool {
    area: Box<dyn Area>,
    /// Blocks lent, by offset in ascending order: offset and shape.
    lent: Vec<(usize, Shape)>,
}

impl Pool {
    /// All of `area` free.
    ///
    /// # Safety
    /// The area must be zero, mapped for as long as the process lives, and used
    /// by this pool only.
    pub unsafe fn new(area: Box<dyn Area>) -> Pool {
        Pool { area, lent: Vec::new() }
    }

    /// Lends a block, as yet without memory for wide slots: its offset in the area. `None` when there is no room or no
    /// memory: the communicator does without.
    pub fn lend(&mut self, shape: Shape) -> Option<usize> {
        self.collect();
        let mut offset = 0;
        let mut place = 0;
        for (at, other) in &self.lent {
            if offset + shape.bytes() <= *at {
                break;
            }
            offset = at + other.bytes();
            place += 1;
        }
        if offset + shape.bytes() > self.area.bytes() {
            return None;
        }
        self.area.reserve(offset, shape.wide_at()).ok()?;
        self.block(offset, shape).found();
        self.lent.insert(place, (offset, shape));
        Some(offset)
    }

    /// Lends a block for a place, as long as places take no more than half of the area.
    pub fn lend_place(&mut self, shape: Shape) -> Option<usize> {
        self.collect();
        let places = self.lent.iter().map(|(_, shape)| shape).filter(|shape| shape.has_parts());
        let lent: usize = places.map(Shape::bytes).sum();
        (lent + shape.bytes() <= self.area.bytes() / 2).then(|| self.lend(shape)).flatten()
    }

    /// Takes back what all members have left. A block whose memory cannot be
    /// given back stays lent, for what lies in it is not zero.
    pub fn collect(&mut self) {
        let mut lent = std::mem::take(&mut self.lent);
        lent.retain(|&(offset, shape)| {
            let left = self.block(offset, shape).is_left();
            !(left && self.area.give_back(offset, shape.bytes()).is_ok())
        });
        self.lent = lent;
    }

    /// How many blocks are lent.
    pub fn lent(&self) -> usize {
        self.lent.len()
    }

    pub(crate) fn block(&self, offset: usize, shape: Shape) -> ControlBlock {
        debug_assert!(offset + shape.bytes() <= self.area.bytes());
        // SAFETY: inside the area, by `lend`; the area is as `new` demands.
        unsafe { ControlBlock::new(self.area.base().add(offset), shape) }
    }
}
