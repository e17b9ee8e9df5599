//! A lock in shared memory whose waiters sleep. It is held for a few copies, and by nobody
//! who waits for another rank meanwhile.
//!
//! # Protocol
//! The word is 0: free; 1: held; 2: held, and somebody may sleep for it. Who finds it held says 2 and
//! sleeps while it is 2; an owner that gives back a 2 wakes one sleeper, and that one says 2 again, for there may
//! be more.

use crate::sync::{Futex, Ordering};

/// Looks before sleeping.
#[cfg(not(loom))]
const LOOKS: u32 = 200;
#[cfg(loom)]
const LOOKS: u32 = 0;

/// The lock. Zero: free.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SleepingLock(Futex);

/// It is held until this is dropped.
#[derive(Debug)]
pub struct Held<'a>(&'a SleepingLock);

impl SleepingLock {
    /// Free.
    pub fn new() -> SleepingLock {
        SleepingLock(Futex::new())
    }

    /// Takes it.
    #[inline]
    pub fn lock(&self) -> Held<'_> {
        if self.0.word().compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
        Held(self)
    }

    #[cold]
    fn wait(&self) {
        let word = self.0.word();
        for _ in 0..LOOKS {
            if word.load(Ordering::Relaxed) == 0
                && word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
        while word.swap(2, Ordering::Acquire) != 0 {
            self.0.sleep_while(2, None);
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0 .0.word().swap(0, Ordering::Release) == 2 {
            self.0 .0.wake_one();
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
            let _held = counter.0.lock();
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
}
