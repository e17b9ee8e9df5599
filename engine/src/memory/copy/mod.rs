//! Copying: through the caches or past them, whichever is quicker.
//!
//! Cores that share a cache hand a line over in a fraction of the time that cores
//! of different caches need. A line that another core has used since must be
//! fetched from there, or at least taken away from there, just to be overwritten:
//! plain stores wait for that line by line. Stores that pass the caches
//! (non-temporal ones) do not; the data are then read from memory. That is up to
//! five times as fast, or, where no other core has the lines, slower.
//!
//! Which it is depends on where ranks run and on what they did with the memory
//! before, so it is measured: now and then one copy of each sort is timed until
//! all its stores have left the core. Stores that pass the caches are preferred
//! where a plain copy took more than twice as long; or longer at all, where so much is
//! copied that no cache keeps it until it is read.
//!
//! Data that another core reads next, and soon, go through the caches in any case: past them the
//! writer is quicker and the reader slower by more. They are copied as libc does or by vectors,
//! whichever is quicker: by vectors if the other core is near.

mod cache_lines;
mod past_caches;
mod vectors;

pub use cache_lines::{claim, fetch, hand_over};
pub use past_caches::wait_for_stores;

use crate::clock::ticks;
use crate::tuning::crossovers::{BY_VECTORS, PAST_CACHES};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

/// Shorter copies are plain: a few lines.
const SHORTEST: usize = 1024;
/// Shorter copies of a few KiB are as quick in either way.
const VECTORS: usize = 2 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Copies from one measurement to the next.
const EVERY: u32 = 128;

/// Another way to copy than a plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Other {
    #[default]
    PastCaches,
    Vectors,
}

impl Other {
    /// Whether there is such a way on this processor.
    const fn is_possible(self) -> bool {
        past_caches::POSSIBLE || matches!(self, Other::Vectors)
    }
}

/// Chooses how to copy, for copies of one sort. One thread at a time copies; what changes is
/// atomic only so that it may be another one the next time. A lock would have each copy wait until all
/// its stores have left the core.
#[derive(Debug, Default)]
pub struct Chooser {
    other: Other,
    /// It is the better way now.
    takes_other: AtomicBool,
    /// Counts the copies that are worth timing.
    turn: AtomicU32,
    /// Time of the last plain copy, in ticks for each KiB.
    plain: AtomicU64,
    /// All that is copied is more than the caches hold.
    beyond: bool,
    /// There is nothing to choose.
    fixed: bool,
}

impl Chooser {
    /// Copies of so many bytes are worth timing.
    pub const WORTH: usize = 2048;

    /// One for copies that together are more than the caches hold.
    pub fn beyond() -> Chooser {
        Chooser { beyond: true, ..Chooser::default() }
    }

    /// One for copies that together are much more than the caches hold: all go past them.
    pub fn always_past() -> Chooser {
        Chooser { beyond: true, takes_other: past_caches::POSSIBLE.into(), fixed: true, ..Chooser::default() }
    }

    /// One for copies that another core reads next.
    pub fn to_be_read() -> Chooser {
        Chooser { other: Other::Vectors, ..Chooser::default() }
    }

    /// One for copies that are all to be plain.
    pub fn plain() -> Chooser {
        Chooser { fixed: true, ..Chooser::default() }
    }

    /// Whether copies go past the caches now.
    #[inline]
    pub fn is_past_caches(&self) -> bool {
        self.takes_other.load(Relaxed) && self.other == Other::PastCaches
    }

    /// Whether the next copy may as well be a plain one elsewhere: these are quick,
    /// and it is not its turn to be timed.
    #[inline]
    pub fn spares(&self, bytes: usize) -> bool {
        let worth = bytes >= Chooser::WORTH && self.other.is_possible();
        let turn = self.turn.load(Relaxed);
        if self.takes_other.load(Relaxed) || worth && turn % EVERY <= 1 {
            return false;
        }
        self.turn.store(turn.wrapping_add(u32::from(worth)), Relaxed);
        true
    }

    /// Copies `bytes` bytes.
    ///
    /// # Safety
    /// Both sides must have so many bytes and not overlap.
    #[inline]
    pub unsafe fn copy(&self, source: *const u8, target: *mut u8, bytes: usize) {
        let is_long = PAST_CACHES.is_passed_by(bytes as u64) && !self.beyond;
        if bytes < SHORTEST || is_long || !self.other.is_possible() {
            // SAFETY: by the caller.
            return unsafe { plain(source, target, bytes) };
        }
        if bytes >= Chooser::WORTH && !self.fixed {
            let turn = self.turn.load(Relaxed);
            self.turn.store(turn.wrapping_add(1), Relaxed);
            if turn % EVERY <= 1 {
                // SAFETY: by the caller.
                return unsafe { self.measure(turn.is_multiple_of(EVERY), source, target, bytes) };
            }
        }
        // SAFETY: by the caller.
        unsafe { self.copy_by(self.takes_other.load(Relaxed), source, target, bytes) };
    }

    /// # Safety
    /// As for [`Chooser::copy`].
    #[inline]
    unsafe fn copy_by(&self, other: bool, source: *const u8, target: *mut u8, bytes: usize) {
        // SAFETY: by the caller.
        unsafe {
            match (self.other, other) {
                (Other::PastCaches, true) => past_caches::copy(source, target, bytes),
                (Other::PastCaches, false) => plain(source, target, bytes),
                (Other::Vectors, true) => vectors::copy(source, target, bytes),
                (Other::Vectors, false) => std::ptr::copy_nonoverlapping(source, target, bytes),
            }
        }
    }

    /// Copies and takes the time, of a plain copy first and then of one in the other way.
    ///
    /// # Safety
    /// As for [`Chooser::copy`].
    #[cold]
    unsafe fn measure(&self, plain: bool, source: *const u8, target: *mut u8, bytes: usize) {
        let begin = ticks();
        // SAFETY: by the caller.
        unsafe { self.copy_by(!plain, source, target, bytes) };
        past_caches::wait_for_stores();
        let ticks = (ticks() - begin) * 1024 / bytes as u64;
        if plain {
            return self.plain.store(ticks, Relaxed);
        }
        let plain = self.plain.load(Relaxed);
        let takes_other = match (self.other, self.beyond) {
            (Other::Vectors, _) => plain > ticks,
            (Other::PastCaches, true) => plain > ticks + ticks / 5,
            (Other::PastCaches, false) => plain > 2 * ticks,
        };
        self.takes_other.store(takes_other, Relaxed);
    }
}

/// Bytes of the cache that all cores share; `None` where the system does not know.
pub fn last_cache() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        // SAFETY: only asks.
        let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
        u64::try_from(bytes).ok().filter(|&bytes| bytes > 0)
    })
}

/// Copies through the caches: as libc does, unless that is slow.
///
/// # Safety
/// As for [`Chooser::copy`].
#[inline]
pub unsafe fn plain(source: *const u8, target: *mut u8, bytes: usize) {
    let by_vectors =
        bytes >= VECTORS && (!BY_VECTORS.is_passed_by(bytes as u64) || vectors::is_behind(source, target));
    // SAFETY: by the caller.
    unsafe {
        match by_vectors {
            true => vectors::copy(source, target, bytes),
            false => std::ptr::copy_nonoverlapping(source, target, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_a_little_behind_their_source_get_all_and_no_more() {
        let source: Vec<u8> = (0..16384).map(|at| (at * 7 + at / 251) as u8).collect();
        for (behind, bytes) in [(1, 1024), (8, 5003), (63, 6000), (64, 5000), (8, 100), (31, 4097)] {
            let mut room = vec![0xee; 16384 + 4096];
            let from = (source.as_ptr() as usize + behind).wrapping_sub(room.as_ptr() as usize) % 4096;
            // SAFETY: both sides have so many bytes.
            unsafe { plain(source.as_ptr(), room[from..].as_mut_ptr(), bytes) };
            assert_eq!(room[from..from + bytes], source[..bytes]);
            assert!(room[..from].iter().chain(&room[from + bytes..]).all(|&byte| byte == 0xee));
        }
    }

    #[test]
    fn every_way_copies_all_and_no_more() {
        let source: Vec<u8> = (0..8192).map(|at| (at * 7 + at / 251) as u8).collect();
        every_way_of(Chooser::default(), &source);
        every_way_of(Chooser::beyond(), &source);
        every_way_of(Chooser::to_be_read(), &source);
    }

    fn every_way_of(chooser: Chooser, source: &[u8]) {
        for round in 0..3 * EVERY as usize {
            let (bytes, from) = (1000 + round * 37 % 7000, round % 67);
            let mut target = vec![0xee; 8192];
            chooser.takes_other.store(round % 3 == 0, Relaxed);
            // SAFETY: both sides are 8 KiB long.
            unsafe { chooser.copy(source[1..].as_ptr(), target[from..].as_mut_ptr(), bytes) };
            assert_eq!(target[from..from + bytes], source[1..=bytes]);
            assert!(target[..from].iter().chain(&target[from + bytes..]).all(|&byte| byte == 0xee));
        }
    }
}
