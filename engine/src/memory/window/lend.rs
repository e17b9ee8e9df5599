//! When pages become shared: a program lends a buffer to MPI again and again.
//!
//! Sharing copies the pages once more and maps them anew, in this rank and in
//! its peers: about as much time as eight to twelve copies through the kernel
//! lose against direct ones. So a buffer is shared when others have wanted it so
//! often; one that one peer wants once or twice never is.

use super::layout::{pages, BLOCK_PAGES, NOWHERE, PAGE};
use super::Window;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Wanted so often, a buffer is shared.
const OFTEN: u16 = 8;
/// Smaller buffers are not worth a mapping.
const SMALLEST: usize = 8 << 10;

impl Window {
    /// The program lends this memory for one operation that other ranks take
    /// part in, of which so many want all of it; it does not write there before the operation is
    /// complete. Whether they can read all of it by plain loads now.
    #[inline]
    pub fn lend(&self, address: usize, bytes: usize, readers: u32) -> bool {
        if self.is_shared(address, bytes) {
            return true;
        }
        let Some(offset) = (bytes >= SMALLEST).then(|| self.offset_of(address, bytes)).flatten() else {
            return false;
        };
        self.lend_ours(offset, bytes, readers);
        self.is_shared(address, bytes)
    }

    /// The piece begins at `offset` of the window.
    fn lend_ours(&self, offset: usize, bytes: usize, readers: u32) {
        let inside = offset.div_ceil(PAGE) as u32..((offset + bytes) / PAGE) as u32;
        if inside.is_empty() || self.all_shared(inside.clone()) || self.child.load(Ordering::Relaxed) {
            return;
        }
        let pages = self.with(|inner| {
            let often = inner.warm(inside.start, readers) >= OFTEN;
            often.then(|| inside.start..inner.end_of(inside.end, (offset + bytes) % PAGE))
        });
        if let Some(pages) = pages {
            // SAFETY: the program lends all of these pages, or they are the end
            // of its block, which it does not use.
            unsafe { self.share_pages(pages, |_| true) };
        }
    }

    /// Whether all pages of a piece of memory are shared, so that peers can read
    /// it by plain loads.
    #[inline]
    pub fn is_shared(&self, address: usize, bytes: usize) -> bool {
        if bytes == 0 {
            return false;
        }
        self.offset_of(address, bytes).is_some_and(|offset| self.all_shared(pages(offset, offset + bytes)))
    }

    /// Whether all `pages` are shared.
    #[inline]
    pub(super) fn all_shared(&self, pages: Range<u32>) -> bool {
        if self.base.load(Ordering::Acquire) == NOWHERE {
            return false;
        }
        // SAFETY: set before the base, and never after.
        let bits = unsafe { std::ptr::addr_of!((*self.inner.get()).shared).read() };
        bits.all(pages)
    }
}

impl super::Inner {
    /// Notes that so many peers want a message that begins at this page; how often it was wanted by now.
    /// The count starts anew once it has been often enough.
    fn warm(&mut self, page: u32, readers: u32) -> u16 {
        let (block, by) = (page < BLOCK_PAGES, readers.min(OFTEN.into()) as u16);
        let heat = if block { self.ranges.warm(page, by) } else { self.annex_heat.warm(page, by) };
        match (heat >= OFTEN, block) {
            (false, _) => {}
            (true, true) => self.ranges.cool(page),
            (true, false) => self.annex_heat.cool(page),
        }
        heat
    }

    /// `page`, or the one after it: if it is the last of a block of which the
    /// program uses no more than its first `used` bytes.
    pub(super) fn end_of(&self, page: u32, used: usize) -> u32 {
        let of_block = self.ranges.starts_before(page).and_then(|start| self.ranges.bytes(start));
        match of_block {
            Some(bytes) if used > 0 && (bytes - 1) % PAGE < used => page + 1,
            _ => page,
        }
    }
}
