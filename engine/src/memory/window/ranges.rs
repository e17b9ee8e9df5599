//! Which pages of a window are in use: an allocator of page ranges.
//!
//! A free range is *clean* when its pages read as zero, and *dirty* when what lay there may still be there. Neighbouring
//! free ranges of one kind are always merged, except with pages that were never used. Those of both kinds are not: a small
//! dirty range would make all of a large clean one look dirty, and it would be given back to the system again each time.
//!
//! The allocator's knowledge about a range stands beside the window, in private memory, in the entries of the range's first
//! and last page; entries between say nothing about ranges.

use super::layout::{BLOCK_PAGES, BOARD_PAGES, PAGE};
use super::system;

/// What is known about a page.
#[repr(C)]
struct Entry {
    /// In the first and last page of a range: its length, and flags.
    range: u32,
    /// First page of a free range: the next one in its bin, 0: none.
    next: u32,
    /// First page of a free range: the one before in its bin, 0: none.
    previous: u32,
    /// Any page: how often a message that begins here was wanted.
    heat: u16,
    /// First page of a range in use: bytes in use on its last page, less one.
    tail: u16,
}

const FIRST: u32 = 1 << 31;
const LAST: u32 = 1 << 30;
const FREE: u32 = 1 << 29;
const CLEAN: u32 = 1 << 28;
const LENGTH: u32 = (1 << 28) - 1;

/// Bytes of the entries of all pages.
pub const ENTRY_BYTES: usize = BLOCK_PAGES as usize * std::mem::size_of::<Entry>();
/// Entries are made usable in steps of this many.
const STEP: u32 = (64 << 10) / std::mem::size_of::<Entry>() as u32;
const BINS: usize = 192;
/// How many ranges of a bin are looked at.
const TRIES: usize = 16;

/// The allocator.
#[derive(Debug)]
pub struct Ranges {
    entries: *mut Entry,
    /// Entries below are usable.
    usable: u32,
    /// Pages from here on were never used.
    top: u32,
    bins: [u32; BINS],
    filled: [u64; BINS / 64],
    /// Pages in free ranges that are not clean.
    dirty: u32,
}

/// Pages that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first.
    pub start: u32,
    /// How many.
    pub pages: u32,
    /// They read as zero.
    pub clean: bool,
}

impl Run {
    /// The page behind it.
    pub fn end(&self) -> u32 {
        self.start + self.pages
    }
}

impl Ranges {
    /// An allocator whose entries shall lie at `entries`, in reserved address
    /// space of [`ENTRY_BYTES`].
    ///
    /// # Safety
    /// The address space must belong to this value alone.
    pub const unsafe fn new(entries: usize) -> Ranges {
        Ranges {
            entries: entries as *mut Entry,
            usable: 0,
            top: BOARD_PAGES,
            bins: [0; BINS],
            filled: [0; BINS / 64],
            dirty: 0,
        }
    }

    /// Pages from here on were never used.
    pub fn top(&self) -> u32 {
        self.top
    }

    /// Free pages whose contents are still there.
    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    fn at(&self, page: u32) -> &Entry {
        debug_assert!(page < self.usable);
        // SAFETY: below `usable`, so mapped.
        unsafe { &*self.entries.add(page as usize) }
    }

    fn change(&mut self, page: u32) -> &mut Entry {
        debug_assert!(page < self.usable);
        // SAFETY: below `usable`, so mapped, and borrowed as `self` is.
        unsafe { &mut *self.entries.add(page as usize) }
    }

    fn make_usable(&mut self, pages: u32) -> bool {
        if pages <= self.usable {
            return true;
        }
        let wanted = pages.next_multiple_of(STEP).min(BLOCK_PAGES);
        let size = std::mem::size_of::<Entry>();
        let from = self.entries as usize + self.usable as usize * size;
        // SAFETY: the entries' address space is ours.
        let done = unsafe { system::commit(from, (wanted - self.usable) as usize * size) };
        if done {
            self.usable = wanted;
        }
        done
    }

    /// Takes `pages` pages that begin at a multiple of `alignment` pages.
    pub fn take(&mut self, pages: u32, alignment: u32) -> Option<Run> {
        match self.find(pages, alignment) {
            Some(start) => Some(self.cut(start, pages, alignment)),
            None => self.take_fresh(pages, alignment),
        }
    }

    /// As [`Ranges::take`], of pages that were never used.
    pub fn take_fresh(&mut self, pages: u32, alignment: u32) -> Option<Run> {
        let start = self.top.checked_next_multiple_of(alignment)?;
        let end = start.checked_add(pages).filter(|&end| end <= BLOCK_PAGES)?;
        if !self.make_usable(end) {
            return None;
        }
        let gap = start - self.top;
        let before = self.top;
        self.top = end;
        if gap > 0 {
            self.insert(Run { start: before, pages: gap, clean: true });
        }
        self.mark(start, pages, 0);
        Some(Run { start, pages, clean: true })
    }

    /// Makes the range in use at `start` longer where it is; how long it is then.
    pub fn extend(&mut self, start: u32, pages: u32) -> Option<u32> {
        let old = self.length(start)?;
        let (end, more) = (start + old, pages.checked_sub(old)?);
        if more == 0 {
            return Some(old);
        }
        if end == self.top {
            let end_wanted = end.checked_add(more).filter(|&wanted| wanted <= BLOCK_PAGES)?;
            if !self.make_usable(end_wanted) {
                return None;
            }
            self.top = end_wanted;
        } else {
            self.take_free_from(end, more)?;
        }
        self.clear(start, old);
        self.mark(start, pages, 0);
        Some(pages)
    }

    /// Takes `pages` pages from a place on, if they are free: of several ranges where clean and dirty ones alternate.
    fn take_free_from(&mut self, start: u32, pages: u32) -> Option<()> {
        let mut found = 0;
        while found < pages {
            found += self.free_from(start + found)?;
        }
        let mut taken = 0;
        while taken < pages {
            let here = self.free_from(start + taken)?.min(pages - taken);
            self.cut(start + taken, here, 1);
            self.clear(start + taken, here);
            taken += here;
        }
        Some(())
    }

    /// Length of the free range that begins at a page.
    fn free_from(&self, page: u32) -> Option<u32> {
        let entry = (page < self.top).then(|| self.at(page).range)?;
        (entry & (FIRST | FREE) == FIRST | FREE).then_some(entry & LENGTH)
    }

    /// Makes the range in use at `start` shorter; the free range that it leaves.
    pub fn shorten(&mut self, start: u32, pages: u32) -> Option<Run> {
        let old = self.length(start)?;
        if pages == 0 || pages >= old {
            return None;
        }
        self.clear(start, old);
        self.mark(start, pages, 0);
        self.mark(start + pages, old - pages, 0);
        self.give(start + pages)
    }

    /// Gives the range in use at `start` back; the free range that it is in now.
    pub fn give(&mut self, start: u32) -> Option<Run> {
        let pages = self.length(start)?;
        self.clear(start, pages);
        Some(self.merge(Run { start, pages, clean: false }))
    }

    /// Says that the free range at `start` reads as zero now; the free range that it is in then.
    pub fn cleaned(&mut self, start: u32) -> Run {
        let run = self.remove(start);
        self.merge(Run { clean: true, ..run })
    }

    /// Puts a range that is free now with its neighbours of the same kind.
    fn merge(&mut self, run: Run) -> Run {
        let mut merged = run;
        let kind = FREE | if run.clean { CLEAN } else { 0 };
        if run.start > BOARD_PAGES {
            let before = self.at(run.start - 1).range;
            if before & (LAST | FREE | CLEAN) == LAST | kind {
                merged.start -= before & LENGTH;
                merged.pages += self.remove(merged.start).pages;
            }
        }
        let end = run.start + run.pages;
        if end < self.top && self.at(end).range & (FIRST | FREE | CLEAN) == FIRST | kind {
            merged.pages += self.remove(end).pages;
        }
        self.insert(merged);
        merged
    }

    /// The first free range from page `from` on that is not clean; a range must
    /// begin there.
    pub fn next_dirty(&self, from: u32) -> Option<Run> {
        let mut start = from.max(BOARD_PAGES);
        while start < self.top {
            let entry = self.at(start).range;
            let pages = entry & LENGTH;
            if entry & (FREE | CLEAN) == FREE {
                return Some(Run { start, pages, clean: false });
            }
            start += pages;
        }
        None
    }

    /// Length of the range in use that begins at `start`.
    pub fn length(&self, start: u32) -> Option<u32> {
        if !(BOARD_PAGES..self.top).contains(&start) {
            return None;
        }
        let entry = self.at(start).range;
        (entry & (FIRST | FREE) == FIRST).then_some(entry & LENGTH)
    }

    /// Notes how many bytes of the range at `start` are in use.
    pub fn set_bytes(&mut self, start: u32, bytes: usize) {
        self.change(start).tail = ((bytes + PAGE - 1) % PAGE) as u16;
    }

    /// Bytes of the range at `start` that are in use.
    pub fn bytes(&self, start: u32) -> Option<usize> {
        let pages = self.length(start)?;
        Some((pages as usize - 1) * PAGE + self.at(start).tail as usize + 1)
    }

    /// The first page of the range in use whose last page is `last`.
    pub fn starts_before(&self, last: u32) -> Option<u32> {
        if !(BOARD_PAGES..self.top).contains(&last) {
            return None;
        }
        let entry = self.at(last).range;
        (entry & (LAST | FREE) == LAST).then(|| last + 1 - (entry & LENGTH))
    }

    /// Warms page `page` of a range in use; how warm it is now.
    pub fn warm(&mut self, page: u32, by: u16) -> u16 {
        let entry = self.change(page);
        entry.heat = entry.heat.saturating_add(by);
        entry.heat
    }

    /// Forgets how warm a page is.
    pub fn cool(&mut self, page: u32) {
        self.change(page).heat = 0;
    }

    fn find(&self, pages: u32, alignment: u32) -> Option<u32> {
        let mut bin = bin_of(pages);
        while let Some(filled) = self.next_filled(bin) {
            let mut start = self.bins[filled];
            for _ in 0..TRIES {
                if start == 0 {
                    break;
                }
                let entry = self.at(start);
                if start.next_multiple_of(alignment) + pages <= start + (entry.range & LENGTH) {
                    return Some(start);
                }
                start = entry.next;
            }
            bin = filled + 1;
        }
        None
    }

    fn next_filled(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = *self.filled.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.filled.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Takes `pages` pages out of the free range at `start`, where they fit.
    fn cut(&mut self, start: u32, pages: u32, alignment: u32) -> Run {
        let free = self.remove(start);
        let first = start.next_multiple_of(alignment);
        if first > start {
            self.insert(Run { start, pages: first - start, clean: free.clean });
        }
        let (end, free_end) = (first + pages, start + free.pages);
        if end < free_end {
            self.insert(Run { start: end, pages: free_end - end, clean: free.clean });
        }
        self.mark(first, pages, 0);
        Run { start: first, pages, clean: free.clean }
    }

    fn insert(&mut self, run: Run) {
        self.mark(run.start, run.pages, FREE | if run.clean { CLEAN } else { 0 });
        let bin = bin_of(run.pages);
        let next = self.bins[bin];
        let entry = self.change(run.start);
        (entry.next, entry.previous) = (next, 0);
        if next != 0 {
            self.change(next).previous = run.start;
        }
        self.bins[bin] = run.start;
        self.filled[bin / 64] |= 1 << (bin % 64);
        self.dirty += if run.clean { 0 } else { run.pages };
    }

    fn remove(&mut self, start: u32) -> Run {
        let Entry { range, next, previous, .. } = *self.at(start);
        let run = Run { start, pages: range & LENGTH, clean: range & CLEAN != 0 };
        let bin = bin_of(run.pages);
        if next != 0 {
            self.change(next).previous = previous;
        }
        if previous != 0 {
            self.change(previous).next = next;
        } else {
            self.bins[bin] = next;
            if next == 0 {
                self.filled[bin / 64] &= !(1 << (bin % 64));
            }
        }
        self.clear(start, run.pages);
        self.dirty -= if run.clean { 0 } else { run.pages };
        run
    }

    fn mark(&mut self, start: u32, pages: u32, flags: u32) {
        self.change(start).heat = 0;
        self.change(start + pages - 1).range = pages | LAST | flags;
        let last = if pages == 1 { LAST } else { 0 };
        self.change(start).range = pages | FIRST | last | flags;
    }

    fn clear(&mut self, start: u32, pages: u32) {
        self.change(start).range = 0;
        self.change(start + pages - 1).range = 0;
    }
}

/// Bins: one for each length below 16, then 8 for each power of two.
fn bin_of(pages: u32) -> usize {
    if pages < 16 {
        return pages as usize;
    }
    let power = 31 - pages.leading_zeros();
    let eighth = (pages >> (power - 3)) & 7;
    16 + (power as usize - 4) * 8 + eighth as usize
}

#[cfg(test)]
mod tests;
