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

use crate::clock::ticks;
use std::sync::OnceLock;

/// Shorter copies are plain: a few lines.
const SHORTEST: usize = 1024;
/// Longer ones are plain too: no other core has kept all these lines.
const LONGEST: usize = 512 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Copies from one measurement to the next.
const EVERY: u32 = 128;

/// Chooses how to copy, for copies of one sort.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chooser {
    past_caches: bool,
    /// Counts the copies that are worth timing.
    turn: u32,
    /// Time of the last plain copy, in ticks for each KiB.
    plain: u64,
    /// The same of the better sort of copy; 0: not measured yet.
    best: u64,
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
        Chooser { beyond: true, past_caches: past_caches::POSSIBLE, fixed: true, ..Chooser::default() }
    }

    /// One for copies that are all to be plain.
    pub fn plain() -> Chooser {
        Chooser { fixed: true, ..Chooser::default() }
    }

    /// Ticks that a KiB takes; 0 while that is not known.
    #[inline]
    pub fn best(&self) -> u64 {
        self.best
    }

    /// Whether copies go past the caches now.
    #[inline]
    pub fn is_past_caches(&self) -> bool {
        self.past_caches
    }

    /// Whether there is a choice on this processor.
    #[inline]
    pub fn can_choose() -> bool {
        past_caches::POSSIBLE
    }

    /// Whether the next copy may as well be a plain one elsewhere: these are quick,
    /// and it is not its turn to be timed.
    #[inline]
    pub fn spares(&mut self, bytes: usize) -> bool {
        let worth = bytes >= Chooser::WORTH && past_caches::POSSIBLE;
        if self.past_caches || worth && self.turn % EVERY <= 1 {
            return false;
        }
        self.turn = self.turn.wrapping_add(u32::from(worth));
        true
    }

    /// Copies `bytes` bytes.
    ///
    /// # Safety
    /// Both sides must have so many bytes and not overlap.
    #[inline]
    pub unsafe fn copy(&mut self, source: *const u8, target: *mut u8, bytes: usize) {
        let is_long = bytes > LONGEST && !self.beyond;
        if bytes < SHORTEST || is_long || !past_caches::POSSIBLE {
            // SAFETY: by the caller.
            return unsafe { plain(source, target, bytes) };
        }
        if bytes >= Chooser::WORTH && !self.fixed {
            let turn = self.turn % EVERY;
            self.turn = self.turn.wrapping_add(1);
            if turn <= 1 {
                // SAFETY: by the caller.
                return unsafe { self.measure(turn == 0, source, target, bytes) };
            }
        }
        // SAFETY: by the caller.
        unsafe { copy(self.past_caches, source, target, bytes) };
    }

    /// Copies and takes the time, of a plain copy first and then of one past the
    /// caches.
    ///
    /// # Safety
    /// As for [`Chooser::copy`].
    #[cold]
    unsafe fn measure(&mut self, plain: bool, source: *const u8, target: *mut u8, bytes: usize) {
        let begin = ticks();
        // SAFETY: by the caller.
        unsafe { copy(!plain, source, target, bytes) };
        past_caches::wait_for_stores();
        let ticks = (ticks() - begin) * 1024 / bytes as u64;
        if plain {
            self.plain = ticks;
        } else {
            self.past_caches = match self.beyond {
                true => self.plain > ticks + ticks / 5,
                false => self.plain > 2 * ticks,
            };
            self.best = self.plain.min(ticks).max(1);
        }
    }

    /// One that knows how long a KiB takes.
    #[cfg(test)]
    pub fn knowing(best: u64) -> Chooser {
        Chooser { best, ..Chooser::default() }
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

/// Asks the processor for all lines of what will be read next, at once: a loop that also
/// computes or stores asks for fewer at a time. Worth it for a few KiB that another core has written.
#[inline(always)]
pub fn fetch(source: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a hint; the address is used for nothing else.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (source, bytes);
}

/// Copies through the caches.
///
/// Where the target begins a few bytes after the source, apart from whole pages,
/// a processor believes for a while that each load reads what a store before it has
/// written, and the copy of libc takes 20 times as long. From the end to the
/// beginning there is no such pair of a load and a store.
///
/// # Safety
/// As for [`Chooser::copy`].
#[inline]
pub unsafe fn plain(source: *const u8, target: *mut u8, bytes: usize) {
    let behind = (target as usize).wrapping_sub(source as usize) % 4096;
    // SAFETY: by the caller.
    unsafe {
        match bytes >= 2 * SHORTEST && (1..LINE / 2).contains(&behind) {
            true => backwards(source, target, bytes),
            false => std::ptr::copy_nonoverlapping(source, target, bytes),
        }
    }
}

/// # Safety
/// As for [`Chooser::copy`].
#[cold]
unsafe fn backwards(source: *const u8, target: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: by the caller, and the processor has these instructions.
        return unsafe { backwards_by_avx2(source, target, bytes) };
    }
    // SAFETY: by the caller.
    unsafe { lines_backwards(source, target, bytes) }
}

/// The same with half of a line at a time: as quick as libc's, where that is not slow.
///
/// # Safety
/// As for [`Chooser::copy`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn backwards_by_avx2(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { lines_backwards(source, target, bytes) }
}

/// # Safety
/// As for [`Chooser::copy`].
#[inline(always)]
unsafe fn lines_backwards(source: *const u8, target: *mut u8, bytes: usize) {
    let whole = bytes / LINE * LINE;
    // SAFETY: all inside `bytes`; the accesses are unaligned.
    unsafe {
        std::ptr::copy_nonoverlapping(source.add(whole), target.add(whole), bytes - whole);
        for at in (0..whole).step_by(LINE).rev() {
            let line = source.add(at).cast::<[u64; LINE / 8]>().read_unaligned();
            target.add(at).cast::<[u64; LINE / 8]>().write_unaligned(line);
        }
    }
}

/// # Safety
/// As for [`Chooser::copy`].
#[inline]
unsafe fn copy(past: bool, source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe {
        if past {
            past_caches::copy(source, target, bytes);
        } else {
            plain(source, target, bytes);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod past_caches {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_mfence, _mm_sfence, _mm_stream_si128};

    use super::LINE;

    pub const POSSIBLE: bool = true;

    /// # Safety
    /// As for [`super::Chooser::copy`].
    pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
        let before = target.align_offset(LINE).min(bytes);
        // SAFETY: both are inside `bytes`.
        unsafe {
            std::ptr::copy_nonoverlapping(source, target, before);
            lines(source.add(before), target.add(before), bytes - before);
        }
    }

    /// The same for a target that begins with a line.
    ///
    /// # Safety
    /// As for [`super::Chooser::copy`].
    unsafe fn lines(source: *const u8, target: *mut u8, bytes: usize) {
        let lines = bytes / LINE * LINE;
        // SAFETY: all inside `bytes`, and `target` is aligned; by the caller. The
        // fence orders the stores before the one that publishes them.
        unsafe {
            for at in (0..lines).step_by(LINE) {
                let from = source.add(at).cast::<__m128i>();
                let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
                let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
                let to = target.add(at).cast::<__m128i>();
                _mm_stream_si128(to, a);
                _mm_stream_si128(to.add(1), b);
                _mm_stream_si128(to.add(2), c);
                _mm_stream_si128(to.add(3), d);
            }
            std::ptr::copy_nonoverlapping(source.add(lines), target.add(lines), bytes - lines);
            _mm_sfence();
        }
    }

    pub fn wait_for_stores() {
        // SAFETY: every x86-64 processor has it.
        unsafe { _mm_mfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod past_caches {
    //! Stable Rust has no such stores for other processors.
    pub const POSSIBLE: bool = false;

    /// # Safety
    /// As for [`super::Chooser::copy`].
    pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
        // SAFETY: by the caller.
        unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
    }

    pub fn wait_for_stores() {}
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
    }

    fn every_way_of(mut chooser: Chooser, source: &[u8]) {
        for round in 0..3 * EVERY as usize {
            let (bytes, from) = (1000 + round * 37 % 7000, round % 67);
            let mut target = vec![0xee; 8192];
            chooser.past_caches = round % 3 == 0;
            // SAFETY: both sides are 8 KiB long.
            unsafe { chooser.copy(source[1..].as_ptr(), target[from..].as_mut_ptr(), bytes) };
            assert_eq!(target[from..from + bytes], source[1..=bytes]);
            assert!(target[..from].iter().chain(&target[from + bytes..]).all(|&byte| byte == 0xee));
        }
    }
}
