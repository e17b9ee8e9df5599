//! Cells: memory of one's own that peers read.
//!
//! # Ownership
//! A cell belongs to its owner until a packet that stands for it is pushed; then to
//! the receiver of that packet, which reads it and sets the cell's flag; then to
//! the owner again, which clears the flag when it looks for free cells.

use super::area::{cells_offset, Area};
use super::returned::indices;
use super::sizes::CLASSES;

/// A cell of memory that its owner fills and a peer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Cell {
    /// Local rank of the owner.
    pub owner: u32,
    /// Which of its cells.
    pub index: u32,
}

/// Bytes of the largest.
pub const LARGEST: usize = CLASSES[CLASSES.len() - 1].bytes;

/// The owner's private view: which cells are free now.
#[derive(Debug)]
pub struct Pool {
    area: Area,
    free: [Vec<u32>; CLASSES.len()],
    /// The cell of each class that was taken last: the one that is still in the
    /// caches of both sides.
    last: [Option<u32>; CLASSES.len()],
    reserved: [bool; CLASSES.len()],
}

impl Pool {
    /// All cells of `area` free; none reserved yet.
    pub fn new(area: Area) -> Pool {
        let free = std::array::from_fn(|class| indices(class).rev().collect());
        Pool { area, free, last: [None; CLASSES.len()], reserved: [false; CLASSES.len()] }
    }

    /// Takes a cell of at least `bytes` bytes, if possible the last one `again`;
    /// `None` when all of that size are out. `reserve(offset, bytes)` is asked once per class before its memory
    /// is touched.
    ///
    /// # Errors
    /// What `reserve` says.
    pub fn take(
        &mut self,
        bytes: usize,
        again: bool,
        reserve: impl FnOnce(usize, usize) -> crate::Result<()>,
    ) -> crate::Result<Option<u32>> {
        let Some(class) = CLASSES.iter().position(|class| class.bytes >= bytes) else { return Ok(None) };
        let returned = &self.area.control().returned.0;
        if again && self.last[class].is_some_and(|index| returned.take_one(index)) {
            return Ok(self.last[class]);
        }
        if self.free[class].is_empty() {
            returned.take(&mut self.free);
        }
        if !self.reserved[class] {
            let first: usize = CLASSES[..class].iter().map(|class| class.bytes * class.count).sum();
            reserve(cells_offset(first), CLASSES[class].bytes * CLASSES[class].count)?;
            self.reserved[class] = true;
        }
        self.last[class] = self.free[class].pop();
        Ok(self.last[class])
    }
}

/// Address of cell `index` of `area`.
#[inline]
pub fn address(area: &Area, index: u32) -> *mut u8 {
    area.cells(offset(index))
}

/// Offset of a cell among the cells.
#[inline]
fn offset(index: u32) -> usize {
    let mut offset = 0;
    let mut rest = index as usize;
    for class in &CLASSES {
        if rest < class.count {
            return offset + rest * class.bytes;
        }
        offset += class.count * class.bytes;
        rest -= class.count;
    }
    panic!("cell {index} does not exist");
}
