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
    /// What is lent, by offset in ascending order.
    lent: Vec<(usize, Lent)>,
}

#[derive(Clone, Copy)]
enum Lent {
    /// A block; its members say when it is left.
    Block(Shape),
    /// So many bytes, until they are given back.
    Plain(usize),
    /// The same; they have been.
    Back(usize),
}

impl Lent {
    fn bytes(self) -> usize {
        match self {
            Lent::Block(shape) => shape.bytes(),
            Lent::Plain(bytes) | Lent::Back(bytes) => bytes,
        }
    }
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

    /// Lends a block, as yet without memory for wide halves: its offset in the area. `None` when there is no room or no
    /// memory: the communicator does without.
    pub fn lend(&mut self, shape: Shape) -> Option<usize> {
        let (offset, place) = self.find(shape.bytes(), 4096)?;
        self.area.reserve(offset, shape.wide_at()).ok()?;
        self.block(offset, shape).found();
        self.lent.insert(place, (offset, Lent::Block(shape)));
        Some(offset)
    }

    /// Lends zeroed memory, a multiple of 64 bytes, until [`Pool::take_back`]; else as [`Pool::lend`].
    pub fn lend_plain(&mut self, bytes: usize) -> Option<usize> {
        let (offset, place) = self.find(bytes, 64)?;
        self.area.reserve(offset, bytes).ok()?;
        self.lent.insert(place, (offset, Lent::Plain(bytes)));
        Some(offset)
    }

    /// Takes back what [`Pool::lend_plain`] lent at this offset. Nobody uses it any more.
    pub fn take_back(&mut self, offset: usize) {
        if let Some((_, lent)) = self.lent.iter_mut().find(|(at, _)| *at == offset) {
            *lent = Lent::Back(lent.bytes());
        }
        self.collect();
    }

    /// The first free bytes at a multiple of `aligned`: their offset, and the place in the list.
    fn find(&mut self, bytes: usize, aligned: usize) -> Option<(usize, usize)> {
        self.collect();
        let (mut offset, mut place) = (0, 0);
        for (at, other) in &self.lent {
            if offset + bytes <= *at {
                break;
            }
            offset = (at + other.bytes()).next_multiple_of(aligned);
            place += 1;
        }
        (offset + bytes <= self.area.bytes()).then_some((offset, place))
    }

    /// Lends a block for a place, as long as places take no more than half of the area.
    pub fn lend_place(&mut self, shape: Shape) -> Option<usize> {
        self.collect();
        let of_place = |lent: &Lent| matches!(lent, Lent::Block(shape) if shape.has_parts());
        let places = self.lent.iter().map(|(_, lent)| lent).filter(|lent| of_place(lent));
        let lent: usize = places.map(|lent| lent.bytes()).sum();
        (lent + shape.bytes() <= self.area.bytes() / 2).then(|| self.lend(shape)).flatten()
    }

    /// Takes back what all members have left. A block whose memory cannot be
    /// given back stays lent, for what lies in it is not zero.
    pub fn collect(&mut self) {
        let mut lent = std::mem::take(&mut self.lent);
        lent.retain(|&(offset, lent)| {
            let left = match lent {
                Lent::Block(shape) => self.block(offset, shape).is_left(),
                Lent::Plain(_) => false,
                Lent::Back(_) => true,
            };
            !(left && self.area.give_back(offset, lent.bytes()).is_ok())
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
