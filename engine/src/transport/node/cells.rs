//! Cells: memory of one's own that peers read.
//!
//! # Ownership
//! A cell is in the hands of its owner until a packet that stands for it is pushed; then in those of the receiver of that
//! packet, which reads it. The receiver sets the cell's flag, and the owner has it again, which clears the flag when it
//! looks for free cells. Or, if it is one of a long block, the receiver keeps it for its next block to the owner
//! ([`super::borrowed_cells`]); then a packet brings it home.
//!
//! Whoever has the cells of a long block may push the packet while it still fills them: the line behind the first one says
//! how much is there, and the receiver reads no further. It may read the rest where the sender has it
//! ([`super::overtaking`]). If the receiver gives them back before they are full, the owner fills them all the same: it looks
//! for free cells only after that. Nobody else writes there before they are full: the receiver keeps no others, and an owner
//! to whom they come home waits until they are.

use super::area::{cells_offset, Area};
use super::overtake_word::OvertakeWord;
use super::returned::indices;
use super::sizes::{Free, CLASSES, LINE_BYTES, PIECES};
use std::sync::atomic::{AtomicU32, Ordering};

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

/// How much of a block is there, whose first cell this is.
#[repr(transparent)]
pub struct Filled(AtomicU32);

impl Filled {
    /// So many bytes are there; only who fills it says so.
    #[inline]
    pub fn tell(&self, bytes: usize) {
        self.0.store(bytes as u32, Ordering::Release); // filled: paired with `bytes`
    }

    /// So many bytes are there.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Acquire) as usize // filled: paired with `tell`
    }
}

/// The owner's private view: which cells are free now.
#[derive(Debug)]
pub struct Pool {
    area: Area,
    free: Free,
    /// The cell of each class that was taken last: the one that is still in the
    /// caches of both sides.
    last: [Option<u32>; CLASSES.len()],
    reserved: [bool; CLASSES.len()],
}

impl Pool {
    /// All cells of `area` free; none reserved yet.
    pub fn new(area: Area) -> Pool {
        let free = std::array::from_fn(|class| indices(class).collect());
        Pool { area, free, last: [None; CLASSES.len()], reserved: [false; CLASSES.len()] }
    }

    /// Takes a cell of at least `bytes` bytes, if possible the last one `again` (a small one);
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
        let again = again && class < PIECES;
        if again && self.last[class].is_some_and(|index| returned.take_one(index)) {
            return Ok(self.last[class]);
        }
        if !self.has(class, 1, reserve)? {
            return Ok(None);
        }
        self.last[class] = self.free[class].pop_front();
        Ok(self.last[class])
    }

    /// Takes as many cells as `cells` has places, each of [`PIECE`](super::sizes::PIECE) bytes; `false` if there are not so many.
    ///
    /// # Errors
    /// As for [`Pool::take`].
    pub fn take_pieces(
        &mut self,
        cells: &mut [u32],
        reserve: impl FnOnce(usize, usize) -> crate::Result<()>,
    ) -> crate::Result<bool> {
        let count = cells.len();
        let has = self.has(PIECES, count, reserve)?;
        if has {
            let free = self.free[PIECES].drain(..count);
            cells.iter_mut().zip(free).for_each(|(cell, index)| *cell = index);
        }
        Ok(has)
    }

    /// A cell of a long block that a peer had kept has come home: it is the next to be taken.
    pub fn come_home(&mut self, index: u32) {
        self.free[PIECES].push_front(index);
    }

    /// Whether so many cells of a class are free; their memory is reserved then.
    fn has(
        &mut self,
        class: usize,
        count: usize,
        reserve: impl FnOnce(usize, usize) -> crate::Result<()>,
    ) -> crate::Result<bool> {
        if self.free[class].len() < count {
            self.area.control().returned.0.take(&mut self.free);
        }
        if !self.reserved[class] {
            let first: usize = CLASSES[..class].iter().map(|class| class.total()).sum();
            reserve(cells_offset(first), CLASSES[class].total())?;
            self.reserved[class] = true;
        }
        Ok(self.free[class].len() >= count)
    }
}

/// The line behind the first cell of a long block.
#[repr(C)]
pub struct Line {
    /// How much is there.
    pub filled: Filled,
    /// Whether the receiver has overtaken the sender.
    pub overtake: OvertakeWord,
}

const _: () = assert!(std::mem::size_of::<Line>() <= LINE_BYTES);

/// Address of cell `index` of `area`.
#[inline]
pub fn address(area: &Area, index: u32) -> *mut u8 {
    area.cells(place(index).0)
}

/// The line of the block whose first cell is cell `index` of `area`.
#[inline]
pub fn line(area: &Area, index: u32) -> &Line {
    let (offset, bytes) = place(index);
    // SAFETY: the line behind the cell, which belongs to it and is aligned as it is; atomics.
    unsafe { &*area.cells(offset + bytes).cast::<Line>() }
}

/// Offset of a cell among the cells, and its bytes.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let mut offset = 0;
    let mut rest = index as usize;
    for class in &CLASSES {
        if rest < class.count {
            return (offset + rest * class.stride(), class.bytes);
        }
        offset += class.total();
        rest -= class.count;
    }
    panic!("cell {index} does not exist");
}
