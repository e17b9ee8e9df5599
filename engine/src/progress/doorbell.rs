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
//!
//! A doorbell may be counted ([`Doorbell::count_in`]): a counter in the same
//! segment then holds how many ranks are awake. Who moves the word from 0 to 1
//! takes one away, who moves it from 1 to 0 adds one; so a rank that has been
//! woken counts before it has got a core.

use super::barrier;
use crate::sync::{fence, AtomicI64, AtomicU32, Futex, Ordering};

/// One per rank, in its transport area. Zero: awake.
#[derive(Debug)]
#[repr(C)]
pub struct Doorbell {
    asleep: Futex,
    /// 1: the owner issues the barriers of both sides before it sleeps.
    promised: AtomicU32,
    /// Bytes from here to the counter of ranks awake; 0: not counted.
    counter: AtomicI64,
}

impl Doorbell {
    /// A doorbell outside shared memory, for tests.
    pub fn new() -> Doorbell {
        Doorbell { asleep: Futex::new(), promised: AtomicU32::new(0), counter: AtomicI64::new(0) }
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

    /// Counts this rank, which is awake, in `counter` from now on.
    ///
    /// # Safety
    /// The counter must live as long as the doorbell and lie at the same distance
    /// from it in all processes: in the same segment.
    pub unsafe fn count_in(&self, counter: &AtomicU32) {
        let distance = (counter as *const AtomicU32 as i64) - (self as *const Doorbell as i64);
        counter.fetch_add(1, Ordering::Relaxed);
        self.counter.store(distance, Ordering::Relaxed);
    }

    /// This rank is not counted any more.
    pub fn count_out(&self) {
        if let Some(counter) = self.counter() {
            counter.fetch_sub(1, Ordering::Relaxed);
            self.counter.store(0, Ordering::Relaxed);
        }
    }

    fn counter(&self) -> Option<&AtomicU32> {
        let distance = self.counter.load(Ordering::Relaxed);
        let place = (self as *const Doorbell).cast::<u8>().wrapping_offset(distance as isize);
        // SAFETY: `count_in` demands that the counter lies there in all processes.
        (distance != 0).then(|| unsafe { &*place.cast::<AtomicU32>() })
    }

    /// Wakes all threads that sleep here; costs a system call only if one does.
    #[inline]
    pub fn ring(&self) {
        // doorbell: paired with `sleep_unless`
        if self.asleep.word().load(Ordering::SeqCst) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.rise() {
            self.asleep.wake_all();
        }
    }

    /// Moves the word to 0; `true` if it was 1.
    fn rise(&self) -> bool {
        let was_asleep = self.asleep.word().swap(0, Ordering::SeqCst) != 0;
        if let (true, Some(counter)) = (was_asleep, self.counter()) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        was_asleep
    }

    /// Sleeps until rung, unless `work` says that there is something to do.
    /// May return early; the caller looks again in any case. `limit` in
    /// nanoseconds bounds the sleep.
    pub fn sleep_unless(&self, work: impl FnOnce() -> bool, limit: Option<u64>) {
        // doorbell: paired with `ring`
        if self.asleep.word().swap(1, Ordering::SeqCst) == 0 {
            if let Some(counter) = self.counter() {
                counter.fetch_sub(1, Ordering::Relaxed);
            }
        }
        fence(Ordering::SeqCst);
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
        self.asleep.sleep_while(1, limit);
        if self.asleep.word().load(Ordering::Relaxed) != 0 {
            // Nobody has rung. Other threads that sleep here are woken with this one.
            self.wake();
        }
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

    #[test]
    fn a_rank_that_sleeps_is_not_counted_and_one_that_was_rung_is() {
        let (counter, bell) = (AtomicU32::new(0), Doorbell::new());
        // SAFETY: both live until the end of this test, in one process.
        unsafe { bell.count_in(&counter) };
        let seen = || counter.load(Ordering::Relaxed);
        let work = || {
            assert_eq!(seen(), 0);
            bell.ring();
            assert_eq!(seen(), 1);
            true
        };
        bell.sleep_unless(work, None);
        bell.sleep_unless(|| false, Some(1000));
        assert_eq!(seen(), 1);
        bell.count_out();
        assert_eq!(seen(), 0);
    }

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
