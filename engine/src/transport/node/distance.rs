//! How far apart two cores are, and what that means for a message.
//!
//! A message is copied into a cell for the peer in the way that is quickest
//! ([`Chooser`]): plainly if its core is near and finds the data in a common
//! cache, else past the caches.
//!
//! A message in shared memory can also stay where it is for the peer to read. That
//! saves a copy, but the sender waits for the answer. If that takes longer than
//! two copies would (the reader is far and the data have just been written, or it
//! is busy with something else), the next messages go into cells.

use crate::memory::copy::Chooser;

/// Messages that must be read slowly one after the other before others go into
/// cells: the first is always slow where the data had left the reader's cache.
const TRIES: u32 = 4;
/// Messages that go into cells then, and at most when that happens again and again.
const AVOID: u32 = 64;
const AVOID_LONG: u32 = 4096;

/// What is known about the way to a peer.
#[derive(Debug, Default)]
pub struct Distance {
    copies: Chooser,
    /// Messages that shall not be read where they are, and how many it will be
    /// next time.
    avoid: u32,
    next_avoid: u32,
    /// Messages that were read slowly since one was not.
    slow: u32,
}

impl Distance {
    /// Copies `bytes` bytes for a reader on the other side.
    ///
    /// # Safety
    /// Both sides must have so many bytes and not overlap.
    #[inline]
    pub unsafe fn copy(&mut self, source: *const u8, target: *mut u8, bytes: usize) {
        // SAFETY: by the caller.
        unsafe { self.copies.copy(source, target, bytes) };
    }

    /// Whether lines that the peer has read are overwritten quickly.
    pub fn is_near(&self) -> bool {
        !self.copies.is_past_caches()
    }

    /// Whether a block of a few KiB had better go in a packet: plain stores are
    /// quick, and the next copy into a cell is not one that tells whether they are.
    #[inline]
    pub fn favours_letters(&mut self, bytes: usize) -> bool {
        self.copies.spares(bytes)
    }

    /// Whether the peer had better read the next message where it is.
    #[inline]
    pub fn favours_reading(&mut self) -> bool {
        if self.avoid > 0 {
            self.avoid -= 1;
            return false;
        }
        self.copies.best() != 0 || !Chooser::can_choose()
    }

    /// The peer has read a message so many ticks after it was offered.
    pub fn was_read(&mut self, bytes: u64, ticks: u64) {
        // Two copies and the way there, with as much again before it is worth
        // a change.
        let best = self.copies.best();
        let copies = 4 * best * bytes / 1024;
        let way = 8 * best;
        if best == 0 || ticks <= copies + way {
            (self.next_avoid, self.slow) = (AVOID, 0);
            return;
        }
        self.slow += 1;
        if self.slow >= TRIES {
            self.slow = 0;
            self.avoid = self.next_avoid.max(AVOID);
            self.next_avoid = (2 * self.avoid).min(AVOID_LONG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_gets_cells_for_a_while() {
        let mut distance = Distance { copies: Chooser::knowing(100), ..Distance::default() };
        assert!(distance.favours_reading());
        distance.was_read(4096, 2000);
        assert!(distance.favours_reading());
        let read_slowly = |distance: &mut Distance, times: u32| {
            for _ in 0..times {
                assert!(distance.favours_reading());
                distance.was_read(4096, 10_000);
            }
        };
        for times in [AVOID, 2 * AVOID, 4 * AVOID] {
            read_slowly(&mut distance, TRIES);
            assert!((0..times).all(|_| !distance.favours_reading()));
            assert!(distance.favours_reading());
        }
        read_slowly(&mut distance, TRIES - 1);
        distance.was_read(4096, 2000);
        read_slowly(&mut distance, TRIES);
        assert!((0..AVOID).all(|_| !distance.favours_reading()) && distance.favours_reading());
    }
}
