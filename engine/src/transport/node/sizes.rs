//! How much memory there is for what: the rings of a rank, and its cells. The rings are tiny where every
//! interleaving is tried (`tests/loom`).

use super::packet::PAYLOAD_AT;
use crate::transport::INLINE_BYTES;
use std::collections::VecDeque;

/// Lines of a mailbox: a power of two.
pub const LINES: u64 = if cfg!(loom) { 2 } else { 1024 };
/// Bytes of a line.
pub const LINE_BYTES: usize = PAYLOAD_AT + INLINE_BYTES;
const _: () = assert!(LINE_BYTES == 64);

/// Boxes of a rank.
pub const BOXES: usize = 8;
/// Bytes of a box: a power of two. Small, so that it stays in the first cache.
pub const BOX_BYTES: usize = if cfg!(loom) { 64 } else { 8192 };

/// Cells of one size.
#[derive(Debug)]
pub struct Class {
    /// Size of a cell in bytes.
    pub bytes: usize,
    /// How many there are.
    pub count: usize,
}

impl Class {
    /// From one cell to the next: behind each is the line that says how much of it is there ([`super::cells::Filled`]).
    pub const fn stride(&self) -> usize {
        self.bytes + LINE_BYTES
    }

    /// Bytes of all of them.
    pub const fn total(&self) -> usize {
        self.stride() * self.count
    }
}

/// The sizes, in growing order.
pub const CLASSES: [Class; 5] = [
    Class { bytes: 1 << 10, count: 128 },
    Class { bytes: 4 << 10, count: 64 },
    Class { bytes: PIECE, count: 128 },
    Class { bytes: 32 << 10, count: 16 },
    Class { bytes: 64 << 10, count: 16 },
];

/// The class of the cells of which a long block takes several.
pub const PIECES: usize = 2;
/// Bytes of one of these. All of them are more than fits the caches of one core: by their next turn they lie where both
/// cores find them soon, which takes half as long as to overwrite what the other core has just read.
pub const PIECE: usize = 16 << 10;

/// The cells of each class that are free, the one that has been so for longest first.
pub type Free = [VecDeque<u32>; CLASSES.len()];

/// All cells together.
pub const CELLS: usize = {
    let (mut total, mut class) = (0, 0);
    while class < CLASSES.len() {
        total += CLASSES[class].count;
        class += 1;
    }
    total
};
