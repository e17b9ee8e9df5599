//! Taking memory from the window and giving it back: the big blocks of malloc,
//! and memory that the library gives out itself.
//!
//! A block begins at a page and has its pages for itself.

use super::layout::{pages_of, BLOCK_PAGES, HUGE, PAGE};
use super::ranges::Run;
use super::{fork, policy, system, Inner, Window};
use std::sync::atomic::Ordering;

/// Freed memory that a process keeps for its next blocks: at first, and when it
/// has missed what was given back.
pub(super) const KEPT_PAGES: (u32, u32) = ((4 << 20) / PAGE as u32, (64 << 20) / PAGE as u32);
/// No machine has less memory.
const LIKELY: usize = 256 << 20;
/// Address space is made usable in steps of this many pages.
const STEP: u32 = (HUGE / PAGE) as u32;

/// What a block is at its birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// As any malloc's.
    Private,
    /// Shared, so that peers reach it with no further call.
    Shared,
}

/// A block just taken.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Where it begins.
    pub address: *mut u8,
    /// It reads as zero.
    pub zero: bool,
}

/// Takes memory that is shared from birth if this process has a window, else
/// any; `None` when there is none. `alignment` is a power of two, at least the
/// size of a pointer.
pub fn take(bytes: usize, alignment: usize) -> Option<*mut u8> {
    let window = Window::of_process();
    if let Some(block) = window.allocate(bytes, alignment, Birth::Shared) {
        if (block.address as usize).is_multiple_of(alignment) {
            return Some(block.address);
        }
        // The window itself does not begin at such an address.
        // SAFETY: the block just taken.
        unsafe { window.free(block.address) };
    }
    let mut memory = std::ptr::null_mut();
    // SAFETY: `memory` is a place for the address; the alignment is as said.
    let refused = unsafe { libc::posix_memalign(&mut memory, alignment, bytes) };
    (refused == 0).then_some(memory.cast())
}

/// Gives back what [`take`] gave.
///
/// # Safety
/// Null, or from [`take`] and not used any more.
pub unsafe fn give(address: *mut u8) {
    let window = Window::of_process();
    // SAFETY: by the caller.
    unsafe {
        match window.contains(address as usize) {
            true => window.free(address),
            false => libc::free(address.cast()),
        }
    }
}

impl Window {
    /// Decides by the environment whether this process has a window, and opens
    /// it. Once decided, one load.
    #[inline]
    fn ready(&self) -> bool {
        match self.decided.load(Ordering::Acquire) {
            policy::USABLE => !self.child.load(Ordering::Relaxed),
            policy::UNDECIDED => self.decide(),
            _ => false,
        }
    }

    #[cold]
    fn decide(&self) -> bool {
        if !policy::environment_is_there() {
            return false; // the program has not begun
        }
        match policy::slot_by_environment() {
            Ok(slot) => {
                fork::watch();
                self.open(slot)
            }
            Err(why) => {
                self.turn_off(why);
                false
            }
        }
    }

    /// Takes a block; `None`: take it elsewhere.
    #[inline]
    pub fn allocate(&self, bytes: usize, alignment: usize, birth: Birth) -> Option<Block> {
        if !self.ready() {
            return None;
        }
        let pages = u32::try_from(pages_of(bytes)).ok().filter(|pages| (1..BLOCK_PAGES).contains(pages))?;
        if bytes > LIKELY && bytes > system::all_memory() {
            return None; // libc refuses what this machine cannot have
        }
        let alignment = alignment.max(if bytes >= HUGE { HUGE } else { PAGE });
        let alignment = u32::try_from(alignment / PAGE).ok()?;
        let run = self.with(|inner| {
            let run = inner.take(self, pages, alignment, birth)?;
            inner.ranges.set_bytes(run.start, bytes);
            if run.clean {
                inner.miss(run.pages);
            }
            Some(run)
        })?;
        Some(Block { address: self.address(run.start) as *mut u8, zero: run.clean })
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// `address` must lie in the window ([`Window::contains`]) and nobody may
    /// use the block any more.
    pub unsafe fn free(&self, address: *mut u8) {
        let base = self.base.load(Ordering::Relaxed);
        let start = self.first_page(address);
        let freed = self.with(|inner| inner.ranges.give(start).map(|run| inner.keep_or_purge(base, run)));
        if freed.is_none() {
            wrong_address(address);
        }
    }

    /// Gives the memory of all freed blocks back.
    pub fn give_back(&self) {
        if !self.ready() {
            return;
        }
        let base = self.base.load(Ordering::Relaxed);
        self.with(|inner| {
            let mut from = 0;
            while let Some(run) = inner.ranges.next_dirty(from) {
                from = inner.purge_run(base, run).end();
            }
        });
    }

    /// Bytes of a block.
    ///
    /// # Safety
    /// As [`Window::free`].
    pub unsafe fn usable(&self, address: *mut u8) -> usize {
        let start = self.first_page(address);
        self.with(|inner| inner.ranges.bytes(start)).unwrap_or_else(|| wrong_address(address))
    }

    /// Makes a block shorter or longer where it is; `false`: it cannot be.
    ///
    /// # Safety
    /// As [`Window::free`], of bytes that the block loses.
    pub unsafe fn resize(&self, address: *mut u8, bytes: usize) -> bool {
        let start = self.first_page(address);
        let Some(pages) =
            u32::try_from(pages_of(bytes)).ok().filter(|&pages| (1..BLOCK_PAGES).contains(&pages))
        else {
            return false;
        };
        let base = self.base.load(Ordering::Relaxed);
        let in_child = self.child.load(Ordering::Relaxed);
        self.with(|inner| {
            let Some(old) = inner.ranges.length(start) else { return false };
            if pages > old && (in_child || !inner.extend(base, start, pages)) {
                return false;
            }
            if let Some(run) = inner.ranges.shorten(start, pages) {
                inner.keep_or_purge(base, run);
            }
            inner.ranges.set_bytes(start, bytes);
            true
        })
    }

    pub(super) fn first_page(&self, address: *mut u8) -> u32 {
        ((address as usize - self.base.load(Ordering::Relaxed)) / PAGE) as u32
    }
}

/// An address that no block begins at: the program has freed twice, or freed
/// what was never given to it.
#[cold]
fn wrong_address(address: *mut u8) -> ! {
    eprintln!("serried: free or realloc of {address:p}, where no block begins; was it freed twice?");
    std::process::abort()
}

impl Inner {
    /// A free range keeps its memory for the next block, unless there is enough of that. What has been free before goes
    /// first: a program takes again what it has just freed.
    fn keep_or_purge(&mut self, base: usize, freed: Run) {
        if self.ranges.dirty() <= self.kept {
            return;
        }
        let before = self.ranges.dirty();
        // A range that would take most of what is kept goes itself.
        let goal = if freed.pages <= self.kept / 2 { self.kept / 4 * 3 } else { u32::MAX };
        let mut from = 0;
        while self.ranges.dirty() > goal {
            let Some(run) = self.ranges.next_dirty(from) else { break };
            from = if run.start == freed.start { run } else { self.purge_run(base, run) }.end();
        }
        if self.ranges.dirty() > self.kept {
            self.purge_run(base, freed);
        }
        self.missed = self.missed.saturating_add(before - self.ranges.dirty());
    }

    /// Gives the memory of a free range back; the free range that it is in then.
    fn purge_run(&mut self, base: usize, run: Run) -> Run {
        match self.purge(base, run.start..run.end()) {
            true => self.ranges.cleaned(run.start),
            false => run,
        }
    }

    /// A block has to be filled with new memory: if that was given back before,
    /// the program takes and frees again and again, and more is kept for it.
    fn miss(&mut self, pages: u32) {
        if self.missed >= pages {
            self.missed -= pages;
            self.kept = (self.kept + pages).min(KEPT_PAGES.1);
        }
    }

    fn take(&mut self, window: &Window, pages: u32, alignment: u32, birth: Birth) -> Option<Run> {
        let run = self.ranges.take(pages, alignment)?;
        if let Some(run) = self.prepare(window, run, birth) {
            return Some(run);
        }
        // Its pages are a child's as well, perhaps: others will do.
        let run = self.ranges.take_fresh(pages, alignment)?;
        self.prepare(window, run, birth)
    }

    /// Makes a range just taken usable, or gives it back.
    fn prepare(&mut self, window: &Window, run: Run, birth: Birth) -> Option<Run> {
        let pages = run.start..run.end();
        let base = window.base.load(Ordering::Relaxed);
        // SAFETY: nobody has the pages yet.
        if self.commit(base) && (birth == Birth::Private || unsafe { self.share_empty(window, pages) }) {
            return Some(run);
        }
        self.ranges.give(run.start);
        None
    }

    /// Makes all pages below the top usable.
    fn commit(&mut self, base: usize) -> bool {
        let top = self.ranges.top();
        if top <= self.usable {
            return true;
        }
        let wanted = top.next_multiple_of(STEP).min(BLOCK_PAGES);
        let (at, bytes) = (base + self.usable as usize * PAGE, (wanted - self.usable) as usize * PAGE);
        // SAFETY: address space of the window that was never used.
        let done = unsafe { system::commit(at, bytes) };
        if done {
            self.usable = wanted;
        }
        done
    }

    fn extend(&mut self, base: usize, start: u32, pages: u32) -> bool {
        let Some(old) = self.ranges.length(start) else { return false };
        if self.ranges.extend(start, pages).is_none() {
            return false;
        }
        if self.commit(base) {
            return true;
        }
        self.ranges.shorten(start, old);
        false
    }
}
