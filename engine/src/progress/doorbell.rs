//! The doorbell: one word in shared memory on which a rank sleeps.
//!
//! # Protocol
//! The sleeper stores 1 (SeqCst), looks once more for work, and sleeps in the
//! kernel while the word is 1. Who has published work (SeqCst) reads the word
//! and, if it is 1, stores 0 and wakes. Of the two orders one is true: either
//! the sleeper sees the work, or the publisher sees the 1. While nobody sleeps
//! a publisher only reads a word that stays in its cache.
//!
//! A rank that spins long before it sleeps may promise to issue the barriers of
//! both sides itself ([`Doorbell::promise_barriers`]). Publishers that it reaches
//! (`barrier::register`) then publish with a plain release store. The promise is
//! never taken back; who has not seen it yet issues a barrier too many.

use super::barrier;
use std::sync::atomic::{AtomicU32, Ordering};

/// One per rank, in its transport area. Zero: awake.
#[derive(Debug)]
#[repr(C)]
pub struct Doorbell {
    asleep: AtomicU32,
    /// 1: the owner issues the barriers of both sides before it sleeps.
    promised: AtomicU32,
}

impl Doorbell {
    /// A doorbell outside shared memory, for tests.
    pub const fn new() -> Doorbell {
        Doorbell { asleep: AtomicU32::new(0), promised: AtomicU32::new(0) }
    }

    /// The owner will issue the barriers of publishers from now on. Only where
    /// [`barrier::everywhere`] works.
    pub fn promise_barriers(&self) {
        self.promised.store(1, Ordering::SeqCst);
    }

    /// Whether a publisher that `barrier::register` has registered may do without
    /// a barrier before [`Doorbell::ring`].
    #[inline]
    pub fn has_promised(&self) -> bool {
        self.promised.load(Ordering::Relaxed) != 0
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
        if self.has_promised() && !barrier::everywhere() {
            // It worked when it was promised: a sandbox entered since. Without
            // the barrier a ring may be missed, so this is no sleep but a nap.
            std::thread::sleep(std::time::Duration::from_micros(50));
            self.wake();
            return;
        }
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
        ring_to_and_fro(Ordering::SeqCst, |_| ());
    }

    #[test]
    fn no_ring_is_lost_when_the_sleeper_issues_the_barriers() {
        if barrier::register() {
            ring_to_and_fro(Ordering::Release, Doorbell::promise_barriers);
        }
    }

    fn ring_to_and_fro(publish: Ordering, prepare: impl Fn(&Doorbell)) {
        let shared = Arc::new((Doorbell::new(), AtomicU64::new(0), Doorbell::new(), AtomicU64::new(0)));
        prepare(&shared.0);
        prepare(&shared.2);
        let other = Arc::clone(&shared);
        let rounds = 20_000;
        let thread = std::thread::spawn(move || {
            for round in 1..=rounds {
                while other.1.load(Ordering::SeqCst) < round {
                    other.0.sleep_unless(|| other.1.load(Ordering::SeqCst) >= round, None);
                }
                other.3.store(round, publish);
                barrier::counterpart();
                other.2.ring();
            }
        });
        for round in 1..=rounds {
            shared.1.store(round, publish);
            barrier::counterpart();
            shared.0.ring();
            while shared.3.load(Ordering::SeqCst) < round {
                shared.2.sleep_unless(|| shared.3.load(Ordering::SeqCst) >= round, None);
            }
        }
        thread.join().unwrap();
    }
}
