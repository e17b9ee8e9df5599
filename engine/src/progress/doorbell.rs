//! The doorbell: one word in shared memory on which a rank sleeps.
//!
//! # Protocol
//! The sleeper stores 1 (SeqCst), looks once more for work, and sleeps in the
//! kernel while the word is 1. Who has published work (SeqCst) reads the word
//! and, if it is 1, stores 0 and wakes. Of the two orders one is true: either
//! the sleeper sees the work, or the publisher sees the 1. While nobody sleeps
//! a publisher only reads a word that stays in its cache.

use std::sync::atomic::{AtomicU32, Ordering};

/// One per rank, in its transport area. Zero: awake.
#[derive(Debug)]
#[repr(C)]
pub struct Doorbell {
    asleep: AtomicU32,
}

impl Doorbell {
    /// A doorbell outside shared memory, for tests.
    pub const fn new() -> Doorbell {
        Doorbell { asleep: AtomicU32::new(0) }
    }

    /// Wakes all threads that sleep here; costs a system call only if one does.
    #[inline]
    pub fn ring(&self) {
        // doorbell: paired with `sleep_unless`
        if self.asleep.load(Ordering::SeqCst) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.asleep.swap(0, Ordering::SeqCst) != 0 {
            // SAFETY: the address is valid and four-byte aligned.
            unsafe { libc::syscall(libc::SYS_futex, self.asleep.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        }
    }

    /// Sleeps until rung, unless `work` says that there is something to do.
    /// May return early; the caller looks again in any case. `limit` in
    /// nanoseconds bounds the sleep.
    pub fn sleep_unless(&self, work: impl FnOnce() -> bool, limit: Option<u64>) {
        self.asleep.store(1, Ordering::SeqCst); // doorbell: paired with `ring`
        std::sync::atomic::fence(Ordering::SeqCst);
        if work() {
            // Other threads of this process may sleep here as well: wake them,
            // for the word no longer says so.
            self.wake();
            return;
        }
        let time = limit.map(|limit| libc::timespec {
            tv_sec: (limit / 1_000_000_000) as libc::time_t,
            tv_nsec: (limit % 1_000_000_000) as libc::c_long,
        });
        let time = time.as_ref().map_or(std::ptr::null(), |time| time as *const libc::timespec);
        // SAFETY: the address is valid and aligned; `time` is null or points to
        // a live timespec.
        unsafe { libc::syscall(libc::SYS_futex, self.asleep.as_ptr(), libc::FUTEX_WAIT, 1, time) };
    }
}

impl Default for Doorbell {
    fn default() -> Self {
        Doorbell::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::Arc;

    #[test]
    fn no_ring_is_lost_between_two_threads() {
        let shared = Arc::new((Doorbell::new(), AtomicU64::new(0), Doorbell::new(), AtomicU64::new(0)));
        let other = Arc::clone(&shared);
        let rounds = 20_000;
        let thread = std::thread::spawn(move || {
            for round in 1..=rounds {
                while other.1.load(Ordering::SeqCst) < round {
                    other.0.sleep_unless(|| other.1.load(Ordering::SeqCst) >= round, None);
                }
                other.3.store(round, Ordering::SeqCst);
                other.2.ring();
            }
        });
        for round in 1..=rounds {
            shared.1.store(round, Ordering::SeqCst);
            shared.0.ring();
            while shared.3.load(Ordering::SeqCst) < round {
                shared.2.sleep_unless(|| shared.3.load(Ordering::SeqCst) >= round, None);
            }
        }
        thread.join().unwrap();
    }
}
