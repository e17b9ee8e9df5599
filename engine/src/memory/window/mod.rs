//! The window of a rank: memory that its peers on the node can map.
//!
//! A window is 64 GiB of address space at the same place in every rank (see
//! [`layout`]), and a part of the file of the node segment, sparse and as long.
//! The byte at offset `o` of a window is the byte at offset `o` of its part of
//! the file, for ever; so a peer that has mapped the part once sees whatever is
//! shared in it later, with no call.
//!
//! The last pages of a window stand for the program's own variables, which
//! have addresses of their own (see [`annex`]).
//!
//! # States of a page
//! * *private*: anonymous memory, as any malloc has. The file has a hole there.
//! * *shared*: the page of the file, mapped `MAP_SHARED`. Not inherited by
//!   children.
//! * *demoted*: a private view of the page of the file, which children of a
//!   fork may see as well.
//!
//! ```text
//! private --share--> shared --fork--> demoted --share, when no child lives--> shared
//! ```
//! Pages that are *exposed* (see [`expose`]) stay shared at a fork.
//!
//! # Invariants
//! 1. While a page is shared its owner's address and its place in the file are
//!    tied, so a peer's mapping is never stale.
//! 2. A page of the file that a child may still read is neither written nor
//!    given back.
//! 3. Pages become shared only while their whole contents are lent to MPI (they
//!    lie wholly inside the buffer of a message under way) or before anybody
//!    has their address. So no store is lost.
//! 4. A peer writes into shared pages only between [`peers::Peers::begin_write`] and
//!    `end_write`, and forking waits for that.
//! 5. The child of a fork is no rank: it takes memory from elsewhere.
//!
//! The owner's knowledge is in private memory; peers see a copy of the bits on the *board* at the
//! beginning of the window.

mod adopted;
mod annex;
pub mod bits;
mod board;
mod expose;
pub mod fork;
mod fork_lock;
pub mod heap;
pub mod layout;
mod lend;
mod liveness;
pub mod peers;
pub mod policy;
mod program;
mod ranges;
mod share;
mod system;
#[cfg(test)]
mod tests;

use adopted::Adopted;
use annex::{Annex, Heat};
use bits::Bits;
use board::{Board, BITS_AT};
use expose::Exposed;
pub use expose::{Children, Opened};
use fork_lock::Lock;
pub use heap::{give, take};
use layout::{BLOCK_PAGES, BOARD_PAGES, NOWHERE, PAGE, WINDOW_BYTES};
use liveness::Liveness;
pub use policy::Off;
use ranges::{Ranges, ENTRY_BYTES};
use std::cell::UnsafeCell;
use std::mem::size_of;
use std::ops::Range;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub use system::all_memory;

/// The window of a process. There is one, and everything finds it by
/// [`Window::of_process`].
#[repr(C)]
pub struct Window {
    /// Version and size: two libraries in a process compare them.
    layout: u64,
    /// Address, or [`NOWHERE`].
    base: AtomicUsize,
    /// Whether there is one: 0 undecided, 1 yes, else an [`Off`].
    decided: AtomicU32,
    /// This process is the child of a fork.
    child: AtomicBool,
    /// It takes part in forks.
    watched: AtomicBool,
    /// Variables of the program that can be shared as blocks are.
    annex: Annex,
    /// What peers use all the time.
    exposed: Exposed,
    lock: Lock,
    inner: UnsafeCell<Inner>,
}

// SAFETY: `inner` is touched under `lock` only.
unsafe impl Sync for Window {}

/// What the lock guards.
struct Inner {
    ranges: Ranges,
    /// Pages below can be used.
    usable: u32,
    shared: Bits,
    demoted: Bits,
    /// The window's part of the file, once the job is known.
    file: Option<File>,
    /// The board is mapped and the address published.
    published: bool,
    liveness: Liveness,
    /// Times that pages became shared.
    shares: u32,
    /// Freed pages that are kept for the next blocks.
    kept: u32,
    /// Pages given back that no block has needed again so far.
    missed: u32,
    /// How often variables were lent.
    annex_heat: Heat,
    /// Pages of the annex from here on were never shared.
    annex_top: u32,
    /// Its pages before this one have contents of the program's file.
    zeroed_from: u32,
    /// Memory outside of the window that blocks of it have become.
    adopted: Adopted,
}

/// The part of a file that backs a window.
#[derive(Clone, Copy)]
struct File {
    descriptor: RawFd,
    /// Where the part begins.
    offset: u64,
    /// Where the address of the window is published.
    announce: &'static AtomicU64,
}

impl File {
    /// Where a page of the window lies in it.
    fn at(self, page: u32) -> u64 {
        self.offset + page as u64 * PAGE as u64
    }
}

const LAYOUT: u64 = 2 << 32 | size_of::<Window>() as u64;

static OWN: Window = Window::new();
static OF_PROCESS: AtomicPtr<Window> = AtomicPtr::new(std::ptr::null_mut());

impl Window {
    /// None yet.
    pub const fn new() -> Window {
        // SAFETY: nothing is used before `open` has put the real ones there.
        let (ranges, bits) = unsafe { (Ranges::new(0), Bits::at(std::ptr::null())) };
        Window {
            layout: LAYOUT,
            base: AtomicUsize::new(NOWHERE),
            decided: AtomicU32::new(policy::UNDECIDED),
            child: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            annex: Annex::new(),
            exposed: Exposed::new(),
            lock: Lock::new(),
            inner: UnsafeCell::new(Inner {
                ranges,
                usable: 0,
                shared: bits,
                demoted: bits,
                file: None,
                published: false,
                liveness: Liveness::new(),
                shares: 0,
                kept: heap::KEPT_PAGES.0,
                missed: 0,
                annex_heat: Heat::new(),
                annex_top: BLOCK_PAGES,
                zeroed_from: BLOCK_PAGES,
                adopted: Adopted::new(),
            }),
        }
    }

    /// The window of this process: of the library that answers for malloc, if
    /// that is one of ours, else of this one.
    #[inline]
    pub fn of_process() -> &'static Window {
        let found = OF_PROCESS.load(Ordering::Acquire);
        // SAFETY: only ever a `&'static Window`.
        match unsafe { found.as_ref() } {
            Some(window) => window,
            None => Window::find(),
        }
    }

    /// As [`Window::of_process`], if anybody has asked for that yet. Memory of
    /// a window lies in one that somebody has asked for.
    #[inline]
    pub fn in_use() -> Option<&'static Window> {
        // SAFETY: as in `of_process`.
        unsafe { OF_PROCESS.load(Ordering::Acquire).as_ref() }
    }

    #[cold]
    fn find() -> &'static Window {
        // SAFETY: the name is a C string; a symbol of this name is ours.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"serried_window".as_ptr()) };
        let mut found = &OWN;
        if !symbol.is_null() {
            // SAFETY: by its name.
            let ask: extern "C" fn() -> *const Window = unsafe { std::mem::transmute(symbol) };
            // SAFETY: it answers with a window that lives for ever; `layout` is
            // its first field in every version.
            found = unsafe { &*ask() };
            if found.layout != LAYOUT {
                found = &OWN;
            }
        }
        OF_PROCESS.store(std::ptr::from_ref(found).cast_mut(), Ordering::Release);
        found
    }

    /// The window of this library, for the symbol `serried_window`.
    pub fn of_library() -> &'static Window {
        &OWN
    }

    /// Where the part of a slot begins in a file whose windows begin at `offset`.
    pub fn part(offset: u64, slot: u32) -> u64 {
        offset + slot as u64 * WINDOW_BYTES as u64
    }

    /// Whether an address lies in the window.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base.load(Ordering::Relaxed)) < WINDOW_BYTES
    }

    /// Whether there is none, and why.
    pub fn off(&self) -> Option<Off> {
        Off::from_raw(self.decided.load(Ordering::Acquire))
    }

    /// Turns it off, unless it is in use.
    pub fn turn_off(&self, why: Off) {
        let _ =
            self.decided.compare_exchange(policy::UNDECIDED, why as u32, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Runs `work` under the lock.
    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        self.lock.lock();
        // SAFETY: the lock is held, and `work` cannot reach the window again.
        let result = work(unsafe { &mut *self.inner.get() });
        self.lock.unlock();
        result
    }

    /// Reserves the window of `slot`. Costs address space only. `true` if it is
    /// there; the address may be another than the standard one.
    pub fn open(&self, slot: u32) -> bool {
        // Not under the lock: it asks the dynamic linker, which may want memory.
        let possible = policy::possible(slot);
        self.with(|inner| {
            let decided = self.decided.load(Ordering::Acquire);
            if decided != policy::UNDECIDED && decided != Off::NoRank as u32 {
                return decided == policy::USABLE;
            }
            let opened = possible.and_then(|()| inner.open(slot));
            let now = match opened {
                Ok(base) => {
                    self.base.store(base, Ordering::Release);
                    policy::USABLE
                }
                Err(why) => why as u32,
            };
            self.decided.store(now, Ordering::Release);
            opened.is_ok()
        })
    }

    /// Says which part of which file backs the window of this rank, and where
    /// to publish its address. Nothing is mapped yet. Once per process.
    pub fn connect(&self, slot: u32, descriptor: RawFd, offset: u64, announce: &'static AtomicU64) -> bool {
        if !self.open(slot) {
            return false;
        }
        // Not under the lock, as above.
        let variables = annex::of_program();
        self.with(|inner| {
            let first = inner.file.is_none();
            if first {
                inner.file = Some(File { descriptor, offset, announce });
                self.annex.set(variables.pages);
                inner.zeroed_from = BLOCK_PAGES + variables.with_values as u32;
            }
            first
        })
    }

    fn address(&self, page: u32) -> usize {
        match page.checked_sub(BLOCK_PAGES) {
            None => self.base.load(Ordering::Relaxed) + page as usize * PAGE,
            Some(page) => self.annex.get().start + page as usize * PAGE,
        }
    }

    /// Offset in the window of a piece of its blocks or of the annex.
    #[inline]
    fn offset_of(&self, address: usize, bytes: usize) -> Option<usize> {
        if self.contains(address) {
            return self.contains(address + bytes - 1).then(|| address - self.base.load(Ordering::Relaxed));
        }
        annex::offset(&self.annex.get(), address, bytes)
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window").field("base", &self.base).field("off", &self.off()).finish_non_exhaustive()
    }
}

impl Default for Window {
    fn default() -> Self {
        Window::new()
    }
}

impl Inner {
    fn open(&mut self, slot: u32) -> Result<usize, Off> {
        let at = layout::standard_base(slot);
        let base = system::reserve(at, WINDOW_BYTES).or_else(|| system::reserve(0, WINDOW_BYTES));
        let base = base.ok_or(Off::NoAddressSpace)?;
        let tables = ENTRY_BYTES + 2 * bits::BYTES;
        let usable = system::reserve(0, tables).filter(|&tables| {
            // SAFETY: just reserved, and ours.
            unsafe { system::commit(tables + ENTRY_BYTES, 2 * bits::BYTES) }
        });
        let Some(tables) = usable else {
            system::release(base, WINDOW_BYTES);
            return Err(Off::NoAddressSpace);
        };
        // SAFETY: the address space is reserved for these, and stays.
        unsafe {
            self.ranges = Ranges::new(tables);
            self.shared = Bits::at((tables + ENTRY_BYTES) as *const AtomicU64);
            self.demoted = Bits::at((tables + ENTRY_BYTES + bits::BYTES) as *const AtomicU64);
        }
        self.usable = BOARD_PAGES;
        Ok(base)
    }

    /// The file behind the window, with the board mapped and the address
    /// published.
    fn publish(&mut self, window: &Window) -> Option<File> {
        let base = window.base.load(Ordering::Relaxed);
        let file = self.file?;
        if !self.published {
            // SAFETY: the first pages of the window are the board's.
            let mapped = unsafe {
                system::map_shared(base, BOARD_PAGES as usize * PAGE, file.descriptor, file.offset, false)
            };
            if !mapped {
                self.file = None;
                return None;
            }
            self.published = true;
            // SAFETY: just mapped; atomics only.
            unsafe { &*(base as *const Board) }.annex.set(window.annex.get());
            file.announce.store(base as u64, Ordering::Release); // announced: paired with `Peers::direct`
        }
        Some(file)
    }

    /// The copy of the bits of shared pages that peers read.
    fn board_bits(&self, base: usize) -> Bits {
        debug_assert!(self.published);
        // SAFETY: the board is mapped for ever and has room for all bits.
        unsafe { Bits::at((base + BITS_AT) as *const AtomicU64) }
    }

    /// All pages that can be shared or demoted.
    fn known_pages(&self) -> [Range<u32>; 2] {
        [0..self.ranges.top(), BLOCK_PAGES..self.annex_top]
    }

    fn board(&self, base: usize) -> Option<&Board> {
        // SAFETY: the board is mapped for ever; atomics only.
        self.published.then(|| unsafe { &*(base as *const Board) })
    }
}
