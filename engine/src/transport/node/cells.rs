//! Cells: memory of one's own that peers read.
//!
//! # Ownership
//! A cell belongs to its owner until a packet that names it is pushed; then to
//! the receiver of that packet, which reads it and gives it back; then to the
//! owner again. What comes back lies on a list that many push to and only the
//! owner takes, always as a whole, so that no ABA can arise.

use super::area::{cells_offset, Area};
use std::sync::atomic::{AtomicU32, Ordering};

/// Cells of one size.
#[derive(Debug)]
pub struct Class {
    /// Size of a cell in bytes.
    pub bytes: usize,
    /// How many there are.
    pub count: usize,
}

/// The sizes, in growing order.
pub const CLASSES: [Class; 4] = [
    Class { bytes: 1 << 10, count: 128 },
    Class { bytes: 4 << 10, count: 64 },
    Class { bytes: 16 << 10, count: 64 },
    Class { bytes: 64 << 10, count: 16 },
];

/// All cells together.
pub const CELLS: usize = CLASSES[0].count + CLASSES[1].count + CLASSES[2].count + CLASSES[3].count;

/// The list of cells that have come back: `head` is 1 + the first, 0 for none;
/// `next` likewise.
#[repr(C)]
pub struct Returned {
    head: AtomicU32,
    /// Not 0: the owner waits for a cell.
    wanted: AtomicU32,
    next: [AtomicU32; CELLS],
}

impl Returned {
    /// Pushes a cell; any process may. `true` if the owner waits for one and
    /// has to be woken.
    pub fn push(&self, index: u32) -> bool {
        let mut first = self.head.load(Ordering::Relaxed);
        loop {
            self.next[index as usize].store(first, Ordering::Relaxed);
            // cell-returned: paired with `take`
            match self.head.compare_exchange_weak(first, index + 1, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => first = now,
            }
        }
        // cell-wanted: paired with `want`
        self.wanted.load(Ordering::SeqCst) != 0 && self.wanted.swap(0, Ordering::SeqCst) != 0
    }

    /// Asks to be woken at the next return; `true` if some are there already.
    pub fn want(&self) -> bool {
        self.wanted.store(1, Ordering::SeqCst); // cell-wanted: paired with `push`
        std::sync::atomic::fence(Ordering::SeqCst);
        self.head.load(Ordering::SeqCst) != 0
    }

    /// Takes all that have come back; only the owner may.
    fn take(&self, mut each: impl FnMut(u32)) {
        if self.head.load(Ordering::Relaxed) == 0 {
            return;
        }
        // cell-returned: paired with `push`
        let mut link = self.head.swap(0, Ordering::SeqCst);
        while link != 0 {
            let index = link - 1;
            link = self.next[index as usize].load(Ordering::Relaxed);
            each(index);
        }
    }
}

/// The owner's private view: which cells are free now.
#[derive(Debug)]
pub struct Pool {
    area: Area,
    free: [Vec<u32>; CLASSES.len()],
    reserved: [bool; CLASSES.len()],
}

impl Pool {
    /// All cells of `area` free; none reserved yet.
    pub fn new(area: Area) -> Pool {
        let mut first = 0;
        let free = CLASSES.each_ref().map(|class| {
            let indices = (first..first + class.count as u32).rev().collect();
            first += class.count as u32;
            indices
        });
        Pool { area, free, reserved: [false; CLASSES.len()] }
    }

    /// Takes a cell of at least `bytes` bytes; `None` when all of that size are
    /// out. `reserve(offset, bytes)` is asked once per class before its memory
    /// is touched.
    ///
    /// # Errors
    /// What `reserve` says.
    pub fn take(
        &mut self,
        bytes: usize,
        reserve: impl FnOnce(usize, usize) -> crate::Result<()>,
    ) -> crate::Result<Option<u32>> {
        let Some(class) = CLASSES.iter().position(|class| class.bytes >= bytes) else { return Ok(None) };
        if self.free[class].is_empty() {
            let free = &mut self.free;
            self.area.control().returned.0.take(|index| free[place(index).1].push(index));
        }
        if !self.reserved[class] {
            let first: usize = CLASSES[..class].iter().map(|class| class.bytes * class.count).sum();
            reserve(cells_offset(first), CLASSES[class].bytes * CLASSES[class].count)?;
            self.reserved[class] = true;
        }
        Ok(self.free[class].pop())
    }
}

/// Address of cell `index` of `area`.
pub fn address(area: &Area, index: u32) -> *mut u8 {
    area.cells(place(index).0)
}

/// Offset among the cells, and class, of a cell.
fn place(index: u32) -> (usize, usize) {
    let mut offset = 0;
    let mut rest = index as usize;
    for (number, class) in CLASSES.iter().enumerate() {
        if rest < class.count {
            return (offset + rest * class.bytes, number);
        }
        offset += class.count * class.bytes;
        rest -= class.count;
    }
    panic!("cell {index} does not exist");
}
