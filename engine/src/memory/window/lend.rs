//! When pages become shared: a program lends a buffer to MPI again and again.
//!
//! Sharing copies the pages once more and maps them anew, in this rank and in
//! its peers: about as much time as eight to twelve copies through the kernel
//! lose against direct ones. So a buffer is shared when it has been lent so
//! often; one that is lent once or twice never is.

use super::layout::{NOWHERE, PAGE};
use super::Window;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Lent so often, a buffer is shared.
const OFTEN: u16 = 8;
/// Smaller buffers are not worth a mapping.
const SMALLEST: usize = 8 << 10;

impl Window {
    /// The program lends this memory for one operation that other ranks take
    /// part in; it does not write there before the operation is complete.
    #[inline]
    pub fn lend(&self, address: usize, bytes: usize) {
        if bytes >= SMALLEST && self.contains(address) && self.contains(address + bytes - 1) {
            self.lend_ours(address, bytes, 1);
        }
    }

    /// As [`Window::lend`], for an operation in which `readers` ranks read all
    /// of it.
    pub fn lend_to_many(&self, address: usize, bytes: usize, readers: u16) {
        if bytes >= SMALLEST && self.contains(address) && self.contains(address + bytes - 1) {
            self.lend_ours(address, bytes, readers);
        }
    }

    fn lend_ours(&self, address: usize, bytes: usize, readers: u16) {
        let inside = self.whole_pages(address, bytes);
        if inside.is_empty() || self.all_shared(inside.clone()) || self.child.load(Ordering::Relaxed) {
            return;
        }
        let pages = self.with(|inner| {
            let heat = inner.ranges.warm(inside.start, readers);
            if heat < OFTEN {
                return None;
            }
            inner.ranges.cool(inside.start);
            Some(inside.start..inner.end_of(inside.end, (address + bytes) % PAGE))
        });
        if let Some(pages) = pages {
            // SAFETY: the program lends all of these pages, or they are the end
            // of its block, which it does not use.
            unsafe { self.share_pages(pages) };
        }
    }

    /// Whether all pages of a piece of memory are shared, so that peers can read
    /// it by plain loads.
    #[inline]
    pub fn is_shared(&self, address: usize, bytes: usize) -> bool {
        if bytes == 0 || !self.contains(address) || !self.contains(address + bytes - 1) {
            return false;
        }
        let offset = address - self.base.load(Ordering::Relaxed);
        self.all_shared((offset / PAGE) as u32..(offset + bytes).div_ceil(PAGE) as u32)
    }

    /// The pages that lie wholly inside a piece of memory of the window.
    fn whole_pages(&self, address: usize, bytes: usize) -> Range<u32> {
        let offset = address - self.base.load(Ordering::Relaxed);
        offset.div_ceil(PAGE) as u32..((offset + bytes) / PAGE) as u32
    }

    /// Whether all `pages` are shared.
    #[inline]
    fn all_shared(&self, pages: Range<u32>) -> bool {
        if self.base.load(Ordering::Acquire) == NOWHERE {
            return false;
        }
        // SAFETY: set before the base, and never after.
        let bits = unsafe { std::ptr::addr_of!((*self.inner.get()).shared).read() };
        bits.all(pages)
    }
}

impl super::Inner {
    /// `page`, or the one after it: if it is the last of a block of which the
    /// program uses no more than its first `used` bytes.
    fn end_of(&self, page: u32, used: usize) -> u32 {
        let of_block = self.ranges.starts_before(page).and_then(|start| self.ranges.bytes(start));
        match of_block {
            Some(bytes) if used > 0 && (bytes - 1) % PAGE < used => page + 1,
            _ => page,
        }
    }
}
