//! Memory that peers use for as long as the program likes, without asking: exposed.
//!
//! Its pages become shared when it is exposed, and a fork leaves them so: peers go on to write
//! there whatever the owner does. The child then shares them with its parent, as memory of
//! shared windows is everywhere.

use super::layout::{pages, BLOCK_PAGES, PAGE};
use super::{system, Window};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The pages that are exposed, once for each time.
#[derive(Debug)]
pub(super) struct Exposed(Mutex<Vec<Range<u32>>>);

impl Exposed {
    pub const fn new() -> Exposed {
        Exposed(Mutex::new(Vec::new()))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Range<u32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parts of some pages that are not exposed, in ascending order.
    pub fn others(&self, pages: Range<u32>, mut each: impl FnMut(Range<u32>)) {
        let all = self.all();
        let mut at = pages.start;
        while at < pages.end {
            if let Some(within) = all.iter().find(|one| one.contains(&at)) {
                at = within.end;
                continue;
            }
            let next = all.iter().map(|one| one.start).filter(|&start| start > at).min();
            let end = next.map_or(pages.end, |next| next.min(pages.end));
            each(at..end);
            at = end;
        }
    }

    /// Does something with each exposed range.
    pub fn each(&self, mut each: impl FnMut(Range<u32>)) {
        self.all().iter().for_each(|range| each(range.clone()));
    }
}

impl Window {
    /// Exposes memory: the part of it (first byte and the one after the last) that peers reach by plain loads and
    /// stores from now on, until [`Window::unexpose`]. Pages become shared for it only in a process with one thread.
    pub fn expose(&self, address: usize, bytes: usize) -> Range<usize> {
        let found = if bytes == 0 { None } else { self.offset_of(address, bytes) };
        let Some(offset) = found else { return 0..0 };
        let whole = pages(offset, offset + bytes);
        let wanted = if self.all_shared(whole.clone()) { whole } else { self.inner_pages(offset, bytes) };
        if wanted.is_empty() {
            return 0..0;
        }
        self.exposed.all().push(wanted.clone());
        // Another thread may write there now, which would be lost.
        let share = || {
            system::status("Threads") == Some(1) && {
                // SAFETY: nobody writes; the pages are filled by the memory, or by the rest of a block that
                // the program does not use.
                unsafe { self.share_pages(wanted.clone()) }
            }
        };
        if !self.all_shared(wanted.clone()) && !share() {
            self.forget(&wanted);
            return 0..0;
        }
        self.inherit(&wanted, true);
        let at = |page: u32| (page as usize * PAGE).clamp(offset, offset + bytes) - offset;
        at(wanted.start)..at(wanted.end)
    }

    /// Takes back what [`Window::expose`] has done for this memory, which gave `part`.
    pub fn unexpose(&self, address: usize, bytes: usize, part: Range<usize>) {
        let found = if part.is_empty() { None } else { self.offset_of(address, bytes) };
        let Some(offset) = found else { return };
        let range = pages(offset + part.start, offset + part.end);
        self.forget(&range);
        self.inherit(&range, false);
        self.exposed.each(|other| self.inherit(&other, true));
    }

    /// The pages that a piece fills.
    fn inner_pages(&self, offset: usize, bytes: usize) -> Range<u32> {
        let mut inside = offset.div_ceil(PAGE) as u32..((offset + bytes) / PAGE) as u32;
        if inside.start == BLOCK_PAGES {
            inside.start += 1; // not of zeroed variables alone
        }
        if inside.start > inside.end {
            return 0..0;
        }
        let end = self.with(|inner| inner.end_of(inside.end, (offset + bytes) % PAGE));
        inside.start..end
    }

    fn forget(&self, range: &Range<u32>) {
        let mut all = self.exposed.all();
        if let Some(place) = all.iter().position(|one| one == range) {
            all.swap_remove(place);
        }
    }

    /// Whether children of a fork have the pages.
    fn inherit(&self, range: &Range<u32>, have: bool) {
        let advice = if have { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
        let (address, bytes) = (self.address(range.start), range.len() * PAGE);
        // SAFETY: pages of this window; the advice changes no contents.
        unsafe { libc::madvise(address as *mut _, bytes, advice) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_what_lies_between_exposed_ranges() {
        let exposed = Exposed::new();
        exposed.all().extend([4..6, 5..8, 20..30, 8..9]);
        let mut others = Vec::new();
        exposed.others(2..25, |range| others.push(range));
        assert_eq!(others, [2..4, 9..20]);
        others.clear();
        exposed.others(21..25, |range| others.push(range));
        assert!(others.is_empty());
    }
}
