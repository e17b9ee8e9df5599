//! Memory that peers use for as long as the program likes, without asking: exposed.
//!
//! Its pages become shared when it is exposed, and a fork leaves them so: peers go on to write
//! there whatever the owner does. The child of a fork then shares blocks with its parent, as memory of
//! shared windows is everywhere. Variables, and memory that has no place in the window, are [`adopted`](super::adopted):
//! the child has them for itself.

use super::layout::{pages, PAGE};
use super::system::Status;
use super::Window;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether the child of a fork may share exposed memory with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Memory of its own where that is quick, else the same.
    MayShare,
    /// Never: memory of which that would be so is not exposed.
    NeverShare,
}

/// The part of exposed memory that peers reach by plain loads and stores, in words that they read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Opened {
    /// From this byte of it on,
    pub first: u64,
    /// up to this one.
    pub last: u64,
    /// Where the first of these bytes lies in the owner's window; its own address if it lies there anyway.
    pub at: u64,
}

impl Opened {
    /// All of `bytes` bytes that lie at an address.
    pub fn whole(at: u64, bytes: u64) -> Opened {
        Opened { first: 0, last: bytes, at }
    }

    /// Whether memory at an address is a block of the window for others.
    pub fn is_adopted(&self, address: u64) -> bool {
        self.bytes() > 0 && self.at != address + self.first
    }

    /// The part.
    pub fn part(&self) -> Range<u64> {
        self.first..self.last
    }

    /// How long it is.
    pub fn bytes(&self) -> u64 {
        self.last - self.first
    }
}

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
    /// Exposes memory: the part of it that peers reach by plain loads and stores from now on, until
    /// [`Window::unexpose`]. Pages become shared for it only in a process with one thread.
    ///
    /// # Safety
    /// No peer copies to this process through the kernel meanwhile.
    pub unsafe fn expose(&self, address: usize, bytes: usize, children: Children) -> Opened {
        if bytes == 0 {
            return Opened::default();
        }
        // SAFETY: by the caller.
        let adopt = || unsafe { self.adopt(address, bytes) };
        if let Some(at) = if self.contains(address) { None } else { adopt() } {
            return Opened::whole(at as u64, bytes as u64);
        }
        let offset = self.offset_of(address, bytes).filter(|_| children == Children::MayShare);
        match offset.and_then(|offset| self.expose_in_place(offset, bytes)) {
            Some(part) => {
                let at = (address + part.start) as u64;
                Opened { first: part.start as u64, last: part.end as u64, at }
            }
            None => Opened::default(),
        }
    }

    /// The part that is exposed of what begins at `offset` of the window; `None`: it cannot be.
    fn expose_in_place(&self, offset: usize, bytes: usize) -> Option<Range<usize>> {
        let whole = pages(offset, offset + bytes);
        let is_shared = self.all_shared(whole.clone());
        let wanted = if is_shared { whole.clone() } else { self.inner_pages(offset, bytes) };
        if wanted.is_empty() {
            return None;
        }
        self.keep_at_forks(wanted.clone());
        // SAFETY: nobody writes, for what another thread writes there now would be lost; the pages are filled by the memory,
        // or by the rest of a block that the program does not use.
        let share = || unsafe { self.share_pages(wanted.clone(), Status::is_alone) };
        if !is_shared && !self.all_shared(wanted.clone()) && !share() {
            self.forget(&wanted);
            return None;
        }
        self.inherit(&wanted, true);
        let at = |page: u32| (page as usize * PAGE).clamp(offset, offset + bytes) - offset;
        Some(at(wanted.start)..at(wanted.end))
    }

    /// Takes back what [`Window::expose`] has done for this memory.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn unexpose(&self, address: usize, bytes: usize, opened: Opened) {
        if opened.bytes() == 0 {
            return;
        }
        if opened.is_adopted(address as u64) {
            // SAFETY: by the caller.
            return unsafe { self.end_adoption(address, bytes) };
        }
        let Some(offset) = self.offset_of(opened.at as usize, opened.bytes() as usize) else { return };
        let range = pages(offset, offset + opened.bytes() as usize);
        let addresses = self.address(range.start)..self.address(range.end);
        self.with(|inner| inner.adopted.leave(&addresses));
        self.forget(&range);
        self.inherit(&range, false);
        self.exposed.each(|other| self.inherit(&other, true));
    }

    /// A fork leaves the pages shared from now on.
    pub(super) fn keep_at_forks(&self, pages: Range<u32>) {
        self.exposed.all().push(pages);
    }

    /// The pages that a piece fills.
    fn inner_pages(&self, offset: usize, bytes: usize) -> Range<u32> {
        let inside = offset.div_ceil(PAGE) as u32..((offset + bytes) / PAGE) as u32;
        if inside.start > inside.end {
            return 0..0;
        }
        let end = self.with(|inner| inner.end_of(inside.end, (offset + bytes) % PAGE));
        inside.start..end
    }

    /// It does not any more.
    pub(super) fn forget(&self, range: &Range<u32>) {
        let mut all = self.exposed.all();
        if let Some(place) = all.iter().position(|one| one == range) {
            all.swap_remove(place);
        }
    }

    /// Whether children of a fork have the pages.
    pub(super) fn inherit(&self, range: &Range<u32>, have: bool) {
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
