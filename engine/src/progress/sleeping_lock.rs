//! A lock in shared memory whose waiters sleep. It is held for a few copies, and by nobody
//! who waits for another rank meanwhile.
//!
//! # Protocol
//! The word is 0: free; else twice 1 + its owner, and 1 more if somebody may sleep for it. Who finds it held says that and
//! sleeps while it stays so. An owner that gives it back wakes one sleeper if there may be one, and that one says again that
//! somebody may sleep, for there may be more. An owner that has failed wakes nobody: a sleeper looks from time to time
//! whether it has, and takes its place.

use crate::sync::{Futex, Ordering};

/// Looks before sleeping.
#[cfg(not(loom))]
const LOOKS: u32 = 200;
#[cfg(loom)]
const LOOKS: u32 = 0;
/// Nanoseconds after which a sleeper looks whether the owner has failed.
const NAP: u64 = 20_000_000;

/// The lock. Zero: free.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SleepingLock(Futex);

/// It is held until this is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    lock: &'a SleepingLock,
    /// The owner before has failed while it held it.
    pub succeeds: bool,
}

impl SleepingLock {
    /// Free.
    pub fn new() -> SleepingLock {
        SleepingLock(Futex::new())
    }

    /// Takes it, for an owner of this number.
    #[inline]
    pub fn lock(&self, owner: u32, has_failed: impl Fn(u32) -> bool) -> Held<'_> {
        let mine = 2 * (1 + owner);
        let succeeds = match self.0.word().compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => false,
            Err(_) => self.wait(mine, &has_failed),
        };
        Held { lock: self, succeeds }
    }

    /// Whether the owner before has failed.
    #[cold]
    fn wait(&self, mine: u32, has_failed: &dyn Fn(u32) -> bool) -> bool {
        let word = self.0.word();
        for _ in 0..LOOKS {
            if word.load(Ordering::Relaxed) == 0
                && word.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return false;
            }
            std::hint::spin_loop();
        }
        loop {
            let seen = word.load(Ordering::Relaxed);
            let succeeds = seen != 0 && has_failed(seen / 2 - 1);
            let takes = seen == 0 || succeeds;
            let next = if takes { mine | 1 } else { seen | 1 };
            if word.compare_exchange(seen, next, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            if takes {
                return succeeds;
            }
            self.0.sleep_while(next, Some(NAP));
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        let futex = &self.lock.0;
        if futex.word().swap(0, Ordering::Release) & 1 == 1 {
            futex.wake_one();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Counter(SleepingLock, UnsafeCell<u64>);
    // SAFETY: the number is touched under the lock only.
    unsafe impl Sync for Counter {}

    #[test]
    fn no_addition_is_lost() {
        let counter = Counter(SleepingLock::new(), UnsafeCell::new(0));
        let add = || {
            let counter = &counter;
            let _held = counter.0.lock(0, |_| false);
            // SAFETY: the lock is held.
            unsafe { *counter.1.get() += 1 };
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| add()));
            }
        });
        assert_eq!(counter.1.into_inner(), 80_000);
    }

    #[test]
    fn who_waits_takes_the_place_of_an_owner_that_has_failed() {
        let lock = SleepingLock::new();
        std::mem::forget(lock.lock(7, |_| false));
        let held = lock.lock(1, |owner| owner == 7);
        assert!(held.succeeds);
        drop(held);
        assert!(!lock.lock(1, |_| true).succeeds, "nobody held it");
    }
}
