//! Cells: memory of one's own that peers read.
//!
//! # Ownership
//! A cell belongs to its owner until a packet that stands for it is pushed; then to
//! the receiver of that packet, which reads it and sets the cell's flag; then to
//! the owner again, which clears the flag when it looks for free cells.

use super::area::{cells_offset, Area};
use crate::progress::barrier;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};

/// A cell of memory that its owner fills and a peer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Cell {
    /// Local rank of the owner.
    pub owner: u32,
    /// Which of its cells.
    pub index: u32,
}

/// Cells of one size.
#[derive(Debug)]
pub struct Class {
    /// Size of a cell in bytes.
    pub bytes: usize,
    /// How many there are.
    pub count: usize,
}

/// The sizes, in growing order.
pub const CLASSES: [Class; 5] = [
    Class { bytes: 1 << 10, count: 128 },
    Class { bytes: 4 << 10, count: 64 },
    Class { bytes: 16 << 10, count: 64 },
    Class { bytes: 32 << 10, count: 16 },
    Class { bytes: 64 << 10, count: 16 },
];

/// Bytes of the largest.
pub const LARGEST: usize = CLASSES[CLASSES.len() - 1].bytes;

/// All cells together.
pub const CELLS: usize = {
    let (mut total, mut class) = (0, 0);
    while class < CLASSES.len() {
        total += CLASSES[class].count;
        class += 1;
    }
    total
};

/// The cells that have come back.
#[repr(C)]
pub struct Returned {
    /// Not 0: the owner waits for a cell.
    wanted: AtomicU32,
    /// Not 0: that cell has come back. A byte each, so that who gives one back
    /// only stores.
    flags: [AtomicU8; CELLS],
}

impl Returned {
    /// Gives a cell back; any process may. `true` if the owner waits for one and
    /// has to be woken. `promised`: the owner issues the barriers of both sides
    /// before it sleeps (`Doorbell::promise_barriers`) and looks again after.
    #[inline]
    pub fn give(&self, index: u32, promised: bool) -> bool {
        let flag = &self.flags[index as usize];
        if promised {
            flag.store(1, Ordering::Release); // cell-returned: paired with `take`
            barrier::counterpart();
        } else {
            flag.swap(1, Ordering::SeqCst); // cell-returned: the same
        }
        // cell-wanted: paired with `want`
        self.wanted.load(Ordering::SeqCst) != 0 && self.wanted.swap(0, Ordering::SeqCst) != 0
    }

    /// Asks to be woken at the next return; `true` if some are there already.
    pub fn want(&self) -> bool {
        self.wanted.store(1, Ordering::SeqCst); // cell-wanted: paired with `give`
        std::sync::atomic::fence(Ordering::SeqCst);
        self.flags.iter().any(|flag| flag.load(Ordering::SeqCst) != 0)
    }

    /// Takes a cell if it has come back; only the owner may.
    #[inline]
    fn take_one(&self, index: u32) -> bool {
        let flag = &self.flags[index as usize];
        // cell-returned: paired with `give`
        let is_back = flag.load(Ordering::Acquire) != 0;
        if is_back {
            flag.store(0, Ordering::Relaxed);
        }
        is_back
    }

    /// Takes all that have come back; only the owner may.
    fn take(&self, free: &mut [Vec<u32>; CLASSES.len()]) {
        for (class, free) in free.iter_mut().enumerate() {
            for index in indices(class).rev() {
                if self.take_one(index) {
                    free.push(index);
                }
            }
        }
    }
}

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

/// The numbers of the cells of a class.
fn indices(class: usize) -> Range<u32> {
    let first: usize = CLASSES[..class].iter().map(|class| class.count).sum();
    first as u32..(first + CLASSES[class].count) as u32
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
