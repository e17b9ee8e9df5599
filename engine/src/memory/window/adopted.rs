//! Pages of the program that peers use although it has not all of them to itself: adopted.
//!
//! Variables have a place in the window, and their pages become shared there. Small blocks of malloc have none: a block of
//! the window gets the contents of their pages and is mapped in their place. Peers reach the block; the program goes on to
//! use its own addresses. When nobody needs it any more, the pages get memory of their own again.
//!
//! Something else of the program lies in these pages, too. Two rules keep that as it was:
//! * Pages change their memory only in a process with one thread, while its signals wait and no peer copies to it
//!   (the caller sees to that), so no store is lost.
//! * The child of a fork gets copies of the pages, made before the fork. It shares nothing with its parent there. (A thread
//!   that was started since and writes there between copy and fork is not heard by the child.)

use super::heap::Birth;
use super::layout::PAGE;
use super::system::Status;
use super::{annex, layout, policy, program, system, File, Inner, Window};
use std::ops::Range;

/// So many pieces at a time. More are reached through the kernel.
const MOST: usize = 256;
/// Longer pieces are not worth a copy.
const LONGEST: usize = 16 << 20;

/// Pages that have become memory of a block.
#[derive(Clone, Copy, Debug)]
struct Adoption {
    /// Address of the first one in the program.
    start: usize,
    /// One after the last.
    end: usize,
    /// Where the block begins; `start`: they are shared where they are.
    block: usize,
    /// So many exposures have them. None: the place in the table is free.
    users: u32,
    /// A copy for the child of a fork that is under way; 0: none.
    copy: usize,
}

const FREE: Adoption = Adoption { start: 0, end: 0, block: 0, users: 0, copy: 0 };

/// All of them. Their lock is the window's, so they allocate nothing.
#[derive(Debug)]
pub(super) struct Adopted([Adoption; MOST]);

impl Adopted {
    /// None yet.
    pub const fn new() -> Adopted {
        Adopted([FREE; MOST])
    }

    fn in_use(&mut self) -> impl Iterator<Item = &mut Adoption> {
        self.0.iter_mut().filter(|one| one.users > 0)
    }

    /// Pages that have become memory of a block, some of these among them.
    fn overlapping(&mut self, pages: &Range<usize>) -> Option<&mut Adoption> {
        let (start, end) = (pages.start, pages.end);
        self.in_use().find(move |one| one.block != one.start && one.start < end && start < one.end)
    }

    /// Whether some page is memory of a block, so that it is shared elsewhere in the file.
    pub fn any_elsewhere(&mut self, pages: &Range<usize>) -> bool {
        self.overlapping(pages).is_some()
    }

    /// One more exposure has pages that are shared where they are; `false`: there are too many.
    fn enter(&mut self, pages: &Range<usize>) -> bool {
        let fresh = Adoption { start: pages.start, end: pages.end, block: pages.start, users: 0, copy: 0 };
        let place = match self.place_of(pages) {
            Some(place) => place,
            None => match self.0.iter_mut().find(|one| one.users == 0) {
                Some(free) => {
                    *free = fresh;
                    free
                }
                None => return false,
            },
        };
        place.users += 1;
        true
    }

    /// One exposure less has them.
    pub fn leave(&mut self, pages: &Range<usize>) {
        if let Some(one) = self.place_of(pages) {
            one.users -= 1;
        }
    }

    fn place_of(&mut self, pages: &Range<usize>) -> Option<&mut Adoption> {
        let (start, end) = (pages.start, pages.end);
        self.in_use().find(move |one| (one.start, one.end, one.block) == (start, end, start))
    }

    /// Before a fork: copies for the child.
    pub fn before_fork(&mut self) {
        for one in self.in_use() {
            // SAFETY: pages of the program that it can read.
            one.copy = unsafe { system::copy_of(one.start, one.end - one.start) }.unwrap_or(0);
        }
    }

    /// After it: the child takes the copies for its own, its parent gives them back.
    pub fn after_fork(&mut self, in_child: bool) {
        for one in self.in_use().filter(|one| one.copy != 0) {
            let (copy, bytes) = (std::mem::take(&mut one.copy), one.end - one.start);
            if in_child {
                // SAFETY: the copy has what the pages had when the child began; nothing has run since that writes there.
                unsafe { system::move_to(copy, one.start, bytes) };
            } else {
                system::release(copy, bytes);
            }
        }
    }
}

/// What is known of the pages that somebody wants.
enum Known {
    /// All lie in pages that are adopted; the first one is here now.
    At(usize),
    /// Some do.
    InPart,
    /// None does.
    Not,
}

impl Inner {
    /// One more uses pages that are adopted already.
    fn join(&mut self, pages: &Range<usize>) -> Known {
        match self.adopted.overlapping(pages) {
            Some(one) if one.start <= pages.start && pages.end <= one.end => {
                one.users += 1;
                Known::At(one.block + (pages.start - one.start))
            }
            Some(_) => Known::InPart,
            None => Known::Not,
        }
    }

    /// Puts a block in the place of pages; `false`: all is as it was.
    ///
    /// # Safety
    /// The pages are private memory of the program, the block is as long, and nobody writes to either meanwhile.
    unsafe fn adopt(&mut self, window: &Window, pages: &Range<usize>, block: usize) -> bool {
        let Some(file) = self.file else { return false };
        let Some(place) = self.adopted.0.iter_mut().find(|one| one.users == 0) else { return false };
        let (offset, bytes) = (file.of_block(window, block), pages.len());
        // SAFETY: by the caller.
        let done = system::without_signals(|| unsafe {
            system::write_to(file.descriptor, offset, pages.start, bytes)
                && system::map_again(pages.start, bytes, file.descriptor, offset)
        });
        if done {
            *place = Adoption { start: pages.start, end: pages.end, block, users: 1, copy: 0 };
        }
        done
    }

    /// One less uses pages. The block to give back and its length, if none does.
    ///
    /// # Safety
    /// Nobody else writes to the pages meanwhile if `alone`.
    unsafe fn release_adopted(
        &mut self,
        window: &Window,
        pages: &Range<usize>,
        alone: bool,
    ) -> Option<(usize, usize)> {
        let file = self.file?;
        let one = self.adopted.overlapping(pages)?;
        one.users -= 1;
        if one.users > 0 {
            return None;
        }
        let (at, block, bytes) = (one.start, one.block, one.end - one.start);
        // SAFETY: by the caller.
        let has_own = alone
            && system::without_signals(|| unsafe {
                system::copy_of(at, bytes).is_some_and(|copy| system::move_to(copy, at, bytes))
            });
        if !has_own {
            // Another thread may write there now. A private view of the same memory takes its place at once; the block
            // is kept for it.
            let offset = file.of_block(window, block);
            // SAFETY: the contents are those of the file, to which peers write no more.
            unsafe { system::map_private(at, bytes, file.descriptor, offset) };
        }
        has_own.then_some((block, bytes))
    }
}

impl File {
    /// Where a block begins in it.
    fn of_block(self, window: &Window, block: usize) -> u64 {
        self.at(window.first_page(block as *mut u8))
    }
}

impl Window {
    /// Adopts the pages of a piece of memory, unless it is of a kind that stays as it is; where its first byte is for
    /// peers then: an address in a block, or its own.
    ///
    /// # Safety
    /// No peer copies to this process through the kernel meanwhile.
    pub(super) unsafe fn adopt(&self, address: usize, bytes: usize) -> Option<usize> {
        let pages = pages_around(address, bytes)?;
        let within = address - pages.start;
        match self.with(|inner| inner.join(&pages)) {
            Known::At(first) => return Some(first + within),
            Known::InPart => return None,
            Known::Not => {}
        }
        if pages.len() > LONGEST {
            return None;
        }
        if let Some(offset) = annex::offset(&self.annex.get(), pages.start, pages.len()) {
            let pages = layout::pages(offset, offset + pages.len());
            // SAFETY: the program's own memory; one thread, which is here, and no peers by the caller.
            return unsafe { self.adopt_in_place(pages, Status::is_alone) }.then_some(address);
        }
        if !program::has(&pages) {
            return None;
        }
        Status::now().filter(|now| now.is_alone() && policy::pages_may_move(now))?;
        // SAFETY: the program's own memory; one thread, which is here, and no peers by the caller.
        let block = unsafe { self.adopt_pages(&pages) };
        block.map(|block| block + within)
    }

    /// Adopts pages of variables where they are, if the process `may` share them as it is now.
    ///
    /// # Safety
    /// Nobody writes there meanwhile if it may.
    pub(super) unsafe fn adopt_in_place(&self, pages: Range<u32>, may: impl FnOnce(&Status) -> bool) -> bool {
        let addresses = self.address(pages.start)..self.address(pages.end);
        self.keep_at_forks(pages.clone());
        // SAFETY: by the caller.
        let share = || system::without_signals(|| unsafe { self.share_pages(pages.clone(), may) });
        let is_shared = self.all_shared(pages.clone()) || share();
        if !is_shared || !self.with(|inner| inner.adopted.enter(&addresses)) {
            self.forget(&pages);
            return false;
        }
        self.inherit(&pages, true);
        true
    }

    /// The block that takes the place of pages.
    ///
    /// # Safety
    /// They are private memory of the program, and nobody writes there meanwhile.
    pub(super) unsafe fn adopt_pages(&self, pages: &Range<usize>) -> Option<usize> {
        let block = self.allocate(pages.len(), PAGE, Birth::Shared)?.address as usize;
        // SAFETY: by the caller; the block was just taken.
        if !self.with(|inner| unsafe { inner.adopt(self, pages, block) }) {
            // SAFETY: just taken.
            unsafe { self.free(block as *mut u8) };
            return None;
        }
        self.keep_at_forks(self.pages_of_block(block, pages.len()));
        Some(block)
    }

    /// Ends what [`Window::adopt`] began.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn end_adoption(&self, address: usize, bytes: usize) {
        let Some(pages) = pages_around(address, bytes) else { return };
        let alone = Status::now().is_some_and(|now| now.is_alone());
        // SAFETY: one thread, which is here, if it is alone; no peers by the caller.
        unsafe { self.end_adoption_of(&pages, alone) };
    }

    /// The same, where nobody else writes to the pages meanwhile if `alone`.
    ///
    /// # Safety
    /// What that says is true.
    pub(super) unsafe fn end_adoption_of(&self, pages: &Range<usize>, alone: bool) {
        // SAFETY: by the caller.
        let block = self.with(|inner| unsafe { inner.release_adopted(self, pages, alone) });
        if let Some((block, bytes)) = block {
            self.forget(&self.pages_of_block(block, bytes));
            // SAFETY: from `adopt_pages`; nothing is mapped there any more.
            unsafe { self.free(block as *mut u8) };
        }
    }

    fn pages_of_block(&self, block: usize, bytes: usize) -> Range<u32> {
        let first = self.first_page(block as *mut u8);
        first..first + (bytes / PAGE) as u32
    }
}

fn pages_around(address: usize, bytes: usize) -> Option<Range<usize>> {
    let end = address.checked_add(bytes)?.checked_next_multiple_of(PAGE)?;
    Some(address & !(PAGE - 1)..end)
}
