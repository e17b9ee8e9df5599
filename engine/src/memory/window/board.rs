//! The board at the beginning of a window: what its owner publishes about its pages.

use super::annex::Annex;
use super::layout::{BOARD_PAGES, PAGE, PAGES};
use std::sync::atomic::AtomicU64;

/// What the first page of a window's file says; bits of its pages follow.
#[repr(C)]
pub struct Board {
    /// Peers that write into shared pages right now.
    pub writers: AtomicU64,
    /// Where the owner has its annex.
    pub annex: Annex,
}

/// Offset in a window of the published bits: one for each page, 1: shared.
pub const BITS_AT: usize = PAGE;
const _: () = assert!(BITS_AT + PAGES as usize / 8 <= BOARD_PAGES as usize * PAGE);
const _: () = assert!(std::mem::size_of::<Board>() <= BITS_AT);
