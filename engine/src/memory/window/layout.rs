//! Where windows lie, in memory and in the file.

use std::ops::Range;

/// Grain of everything here. Machines with other pages have no window.
pub const PAGE: usize = 4096;
/// Address space of one window.
pub const WINDOW_BYTES: usize = 64 << 30;
/// Pages of one window.
pub const PAGES: u32 = (WINDOW_BYTES / PAGE) as u32;
/// Its last pages stand for the program's own variables (see
/// [`annex`](super::annex)), however many of them there are.
pub const ANNEX_BYTES: usize = 8 << 30;
/// Pages for the board and for blocks: those before the annex.
pub const BLOCK_PAGES: u32 = PAGES - (ANNEX_BYTES / PAGE) as u32;
/// The board at its beginning: what the owner publishes about its pages.
pub const BOARD_PAGES: u32 = 1024;
/// Alignment of a huge page.
pub const HUGE: usize = 2 << 20;
/// The window of slot 0: above what processes use from below, and below what
/// the kernel gives out from above.
const BASE: usize = 0x2000_0000_0000;
/// More slots than this have no window.
pub const SLOTS: u32 = 1024;
/// The base of a window that is not there: no address is within
/// [`WINDOW_BYTES`] above it, null and low heaps included.
pub const NOWHERE: usize = 1 << 63;

/// Where the window of a slot lies in every rank that can have it there.
pub fn standard_base(slot: u32) -> usize {
    BASE + slot as usize * WINDOW_BYTES
}

/// Pages that hold `bytes` bytes.
pub fn pages_of(bytes: usize) -> usize {
    bytes.div_ceil(PAGE)
}

/// The pages of what lies from `start` up to `end`, at least a byte.
#[inline]
pub fn pages(start: usize, end: usize) -> Range<u32> {
    (start / PAGE) as u32..((end - 1) / PAGE + 1) as u32
}
