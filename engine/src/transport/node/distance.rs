//! How far apart two cores are, and how to copy for a reader there.
//!
//! Cores that share a cache hand a line over in a fraction of the time that cores
//! of different caches need. Among the former, plain stores into a cell are best:
//! the reader finds the data in the common cache. Between the latter every line
//! of a cell that was used before has to be fetched from the reader's cache just to
//! be overwritten; stores that pass the caches (non-temporal ones) avoid that, and
//! the reader reads memory: half to a fifth of the time in all.
//!
//! Where ranks run is the system's affair and may change at any time, so it is
//! measured: now and then one copy of each sort is timed until all its stores have
//! left the core. A plain one that takes more than twice as long as one past the
//! caches tells that the reader is far.
//!
//! A message in shared memory can also stay where it is for the peer to read. That
//! saves a copy, but the sender waits for the answer. If that takes longer than
//! two copies would (the reader is far and the data have just been written, or it
//! is busy with something else), the next messages go into cells.

use crate::progress::clock::ticks;

/// Shorter copies are plain: a few lines.
const SHORTEST: usize = 1024;
/// Copies worth timing.
const TIMED: usize = 2048;
/// Copies from one measurement to the next.
const EVERY: u32 = 64;
/// Messages that go into cells after one was read slowly, and at most when that
/// happens again and again.
const AVOID: u32 = 64;
const AVOID_LONG: u32 = 4096;

/// What is known about the way to a peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance {
    far: bool,
    /// Counts the copies that are worth timing.
    turn: u32,
    /// Time of the last plain copy, in ticks for each KiB.
    plain: u64,
    /// The same of the better sort of copy; 0: not measured yet.
    best: u64,
    /// Messages that shall not be read where they are, and how many it will be
    /// next time.
    avoid: u32,
    next_avoid: u32,
}

impl Distance {
    /// Copies `bytes` bytes for a reader on the other side.
    ///
    /// # Safety
    /// Both sides must have so many bytes and not overlap; `target` must be
    /// aligned to 64 bytes.
    #[inline]
    pub unsafe fn copy(&mut self, source: *const u8, target: *mut u8, bytes: usize) {
        if bytes < SHORTEST || !past_caches::POSSIBLE {
            // SAFETY: by the caller.
            return unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
        }
        if bytes >= TIMED {
            let turn = self.turn % EVERY;
            self.turn = self.turn.wrapping_add(1);
            if turn <= 1 {
                // SAFETY: by the caller.
                return unsafe { self.measure(turn == 0, source, target, bytes) };
            }
        }
        // SAFETY: by the caller.
        unsafe { copy(self.far, source, target, bytes) };
    }

    /// Copies and takes the time, of a plain copy first and then of one past the
    /// caches.
    ///
    /// # Safety
    /// As for [`Distance::copy`].
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
            self.far = self.plain > 2 * ticks;
            self.best = self.plain.min(ticks).max(1);
        }
    }

    /// Whether the peer had better read the next message where it is.
    #[inline]
    pub fn favours_reading(&mut self) -> bool {
        if self.avoid > 0 {
            self.avoid -= 1;
            return false;
        }
        self.best != 0 || !past_caches::POSSIBLE
    }

    /// The peer has read a message so many ticks after it was offered.
    pub fn was_read(&mut self, bytes: u64, ticks: u64) {
        // Two copies and the way there, with as much again before it is worth
        // a change.
        let copies = 4 * self.best * bytes / 1024;
        let way = 8 * self.best;
        if self.best == 0 || ticks <= copies + way {
            self.next_avoid = AVOID;
        } else {
            self.avoid = self.next_avoid.max(AVOID);
            self.next_avoid = (2 * self.avoid).min(AVOID_LONG);
        }
    }
}

/// # Safety
/// As for [`Distance::copy`].
#[inline]
unsafe fn copy(far: bool, source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe {
        if far {
            past_caches::copy(source, target, bytes);
        } else {
            std::ptr::copy_nonoverlapping(source, target, bytes);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod past_caches {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_mfence, _mm_sfence, _mm_stream_si128};

    pub const POSSIBLE: bool = true;
    const LINE: usize = 64;

    /// # Safety
    /// As for [`super::Distance::copy`].
    pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
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
    /// As for [`super::Distance::copy`].
    pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
        // SAFETY: by the caller.
        unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
    }

    pub fn wait_for_stores() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u8; 8192]);

    #[test]
    fn a_slow_reader_gets_cells_for_a_while() {
        let mut distance = Distance { best: 100, ..Distance::default() };
        assert!(distance.favours_reading());
        distance.was_read(4096, 2000);
        assert!(distance.favours_reading());
        for times in [AVOID, 2 * AVOID, 4 * AVOID] {
            distance.was_read(4096, 10_000);
            assert!((0..times).all(|_| !distance.favours_reading()));
            assert!(distance.favours_reading());
        }
        distance.was_read(4096, 2000);
        distance.was_read(4096, 10_000);
        assert!((0..AVOID).all(|_| !distance.favours_reading()) && distance.favours_reading());
    }

    #[test]
    fn every_way_copies_all_and_no_more() {
        let source: Vec<u8> = (0..8192).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut distance = Distance::default();
        for round in 0..3 * EVERY as usize {
            let bytes = 1000 + round * 37 % 7000;
            let mut target = Box::new(Aligned([0xee; 8192]));
            distance.far = round % 3 == 0;
            // SAFETY: both sides are 8 KiB long, the target is aligned.
            unsafe { distance.copy(source[1..].as_ptr(), target.0.as_mut_ptr(), bytes) };
            assert_eq!(target.0[..bytes], source[1..=bytes]);
            assert!(target.0[bytes..].iter().all(|&byte| byte == 0xee));
        }
    }
}
