//! The windows of the peers, as this process has them mapped.

use super::bits::Bits;
use super::board::{Board, BITS_AT};
use super::layout::{pages, BLOCK_PAGES, BOARD_PAGES, PAGE, WINDOW_BYTES};
use super::{annex, system, Window};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// Memory that was read once is mapped; remembered in units of this many bytes.
const UNIT: usize = 64 << 10;
/// The longest piece of exposed memory that is.
const MAPPED_AT_ONCE: usize = 16 << 20;
const SEEN_BYTES: usize = WINDOW_BYTES / UNIT / 8;

/// The windows of all peers on the node; each is mapped when it is first of use.
#[derive(Debug)]
pub struct Peers {
    file: RawFd,
    /// Where the part of slot 0 begins in the file.
    offset: u64,
    /// `None` in one of them: it could not be mapped.
    windows: Vec<OnceLock<Option<Mapped>>>,
}

#[derive(Clone, Copy, Debug)]
struct Mapped {
    /// Where it lies in this process.
    here: usize,
    /// Where its owner has it.
    there: u64,
    /// Bits of the units that have been read.
    seen: usize,
    /// Where its owner has its annex, and how long that is.
    annex: (usize, usize),
}

/// A piece of a peer's memory of which the whole pages can be reached directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Where the piece lies in this process, its edges included.
    pub address: *mut u8,
    /// Bytes at its beginning that must be had by other means.
    pub before: usize,
    /// Bytes at its end that must be had by other means.
    pub after: usize,
}

impl Peers {
    /// No window mapped yet. `offset` is where the parts of `slots` windows
    /// begin in the file.
    pub fn new(file: RawFd, offset: u64, slots: u32) -> Peers {
        Peers { file, offset, windows: (0..slots).map(|_| OnceLock::new()).collect() }
    }

    /// Where `bytes` bytes at `address` of the peer in `slot` lie in this
    /// process, if all of them can be read there by plain loads, from now until
    /// the peer gets the memory back (MPI: until its operation is complete).
    /// `announced` is the address that the peer has published for its window.
    #[inline]
    pub fn direct(&self, slot: u32, announced: u64, address: u64, bytes: u64) -> Option<*mut u8> {
        let (mapped, start) = self.locate(slot, announced, address, bytes)?;
        mapped.direct(start, start + bytes as usize)
    }

    /// As [`Peers::direct`], for memory of which only parts are used, perhaps: a long piece is not mapped in one go, which
    /// would take memory for all of it.
    pub fn exposed(&self, slot: u32, announced: u64, address: u64, bytes: u64) -> Option<*mut u8> {
        let (mapped, start) = self.locate(slot, announced, address, bytes)?;
        let end = start + bytes as usize;
        if bytes as usize <= MAPPED_AT_ONCE {
            return mapped.direct(start, end);
        }
        mapped.shared().all(pages(start, end)).then_some((mapped.here + start) as *mut u8)
    }

    /// As [`Peers::direct`], except that pages at the edges of which only a
    /// part belongs to the piece need not be shared.
    #[inline]
    pub fn reach(&self, slot: u32, announced: u64, address: u64, bytes: u64) -> Option<Reach> {
        let (mapped, start) = self.locate(slot, announced, address, bytes)?;
        let end = start + bytes as usize;
        let reach = mapped.reach(start, end)?;
        mapped.see(start + reach.before, end - reach.after);
        Some(reach)
    }

    /// As [`Peers::direct`], for writing. If it gives an address,
    /// [`Peers::end_write`] must follow soon: the peer cannot fork before.
    pub fn begin_write(&self, slot: u32, announced: u64, address: u64, bytes: u64) -> Option<*mut u8> {
        // writers: paired with `Window::wait_for_writers`. Counted first and
        // looked after, while a fork clears the bits first and looks after.
        let (mapped, start) = self.locate(slot, announced, address, bytes)?;
        let end = start + bytes as usize;
        mapped.direct(start, end)?;
        let writers = &mapped.board().writers;
        writers.fetch_add(1, Ordering::SeqCst);
        let still = mapped.direct(start, end);
        if still.is_none() {
            writers.fetch_sub(1, Ordering::SeqCst);
        }
        still
    }

    /// The write is over.
    pub fn end_write(&self, slot: u32, announced: u64) {
        if let Some(mapped) = self.mapped(slot, announced) {
            mapped.board().writers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Maps nothing any more.
    ///
    /// # Safety
    /// No address that this has given may be used any more.
    pub unsafe fn unmap(&mut self) {
        for mapped in
            std::mem::take(&mut self.windows).into_iter().filter_map(|window| window.into_inner()?)
        {
            system::release(mapped.here, WINDOW_BYTES);
            system::release(mapped.seen, SEEN_BYTES);
        }
    }

    #[inline]
    fn mapped(&self, slot: u32, announced: u64) -> Option<&Mapped> {
        let window = self.windows.get(slot as usize)?;
        window.get_or_init(|| self.map(slot, announced)).as_ref().filter(|mapped| mapped.there == announced)
    }

    /// The window with a piece of a peer's memory, and where the piece begins there.
    #[inline]
    fn locate(&self, slot: u32, announced: u64, address: u64, bytes: u64) -> Option<(&Mapped, usize)> {
        if announced == 0 || bytes == 0 {
            return None;
        }
        let mapped = self.mapped(slot, announced)?;
        Some((mapped, mapped.offset_of(address as usize, bytes as usize)?))
    }

    #[cold]
    fn map(&self, slot: u32, announced: u64) -> Option<Mapped> {
        let offset = Window::part(self.offset, slot);
        let here = reserve(announced as usize).filter(|&here| {
            // A process that locks all its future memory would fill the window.
            let locks = system::status("VmLck") != Some(0);
            // SAFETY: just reserved; the file has a part for every slot.
            let mapped =
                !locks && unsafe { system::map_shared(here, WINDOW_BYTES, self.file, offset, false) };
            if !mapped {
                system::release(here, WINDOW_BYTES);
            }
            mapped
        });
        let seen = here.and_then(|_| {
            // SAFETY: just reserved.
            system::reserve(0, SEEN_BYTES).filter(|&seen| unsafe { system::commit(seen, SEEN_BYTES) })
        });
        let (here, seen) = (here?, seen?);
        // SAFETY: our own mapping; core dumps of peers are not ours to write.
        unsafe { libc::madvise(here as *mut _, WINDOW_BYTES, libc::MADV_DONTDUMP) };
        // SAFETY: the board is mapped; it was filled before the window was announced.
        let annex = unsafe { &*(here as *const Board) }.annex.get();
        Some(Mapped { here, there: announced, seen, annex: (annex.start, annex.len()) })
    }
}

/// Address space for a window, where its owner has it if that can be.
fn reserve(there: usize) -> Option<usize> {
    system::reserve(there, WINDOW_BYTES).or_else(|| system::reserve(0, WINDOW_BYTES))
}

impl Mapped {
    fn board(&self) -> &'static Board {
        // SAFETY: windows stay mapped; atomics only.
        unsafe { &*(self.here as *const Board) }
    }

    /// Which pages are shared.
    #[inline]
    fn shared(&self) -> Bits {
        // SAFETY: windows stay mapped; the board has room for all bits.
        unsafe { Bits::at((self.here + BITS_AT) as *const AtomicU64) }
    }

    /// Offset in the window of a piece of its owner's blocks or annex.
    #[inline]
    fn offset_of(&self, address: usize, bytes: usize) -> Option<usize> {
        let start = address.wrapping_sub(self.there as usize);
        let blocks = BOARD_PAGES as usize * PAGE..BLOCK_PAGES as usize * PAGE;
        if blocks.contains(&start) {
            return (bytes <= blocks.end - start).then_some(start);
        }
        annex::offset(&(self.annex.0..self.annex.0 + self.annex.1), address, bytes)
    }

    #[inline]
    fn direct(&self, start: usize, end: usize) -> Option<*mut u8> {
        if !self.shared().all(pages(start, end)) {
            return None;
        }
        self.see(start, end);
        Some((self.here + start) as *mut u8)
    }

    #[inline]
    fn reach(&self, start: usize, end: usize) -> Option<Reach> {
        let shared = self.shared();
        let (mut first, mut last) = (start / PAGE, end.div_ceil(PAGE));
        if !shared.all(first as u32..last as u32) {
            if start & (PAGE - 1) != 0 && !shared.all(first as u32..first as u32 + 1) {
                first += 1;
            }
            if end & (PAGE - 1) != 0 && last > first && !shared.all(last as u32 - 1..last as u32) {
                last -= 1;
            }
            if first >= last || !shared.all(first as u32..last as u32) {
                return None;
            }
        }
        Some(Reach {
            address: (self.here + start) as *mut u8,
            before: (first * PAGE).saturating_sub(start),
            after: end.saturating_sub(last * PAGE),
        })
    }

    /// Has pages mapped in one go when they are used for the first time.
    #[inline]
    fn see(&self, start: usize, end: usize) {
        // SAFETY: windows stay mapped, and their bits.
        let seen = unsafe { std::slice::from_raw_parts(self.seen as *const AtomicU64, SEEN_BYTES / 8) };
        let mut missing = false;
        for unit in start / UNIT..end.div_ceil(UNIT) {
            let (word, bit) = (&seen[unit / 64], 1 << (unit % 64));
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
                missing = true;
            }
        }
        if missing {
            system::populate(self.here + start, end - start);
        }
    }
}
