//! A lock that allocates nothing, poisons nothing and can be held over a fork.

use std::sync::atomic::{AtomicU32, Ordering};

/// 0: free; 1: held; 2: held, and somebody may sleep for it.
#[derive(Debug)]
pub struct Lock(AtomicU32);

impl Lock {
    /// Free.
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Takes it.
    #[inline]
    pub fn lock(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        for _ in 0..100 {
            if self.0.load(Ordering::Relaxed) == 0
                && self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
        while self.0.swap(2, Ordering::Acquire) != 0 {
            let none = std::ptr::null::<libc::timespec>();
            let flags = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the word is valid and aligned.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), flags, 2, none) };
        }
    }

    /// Gives it back.
    #[inline]
    pub fn unlock(&self) {
        if self.0.swap(0, Ordering::Release) == 2 {
            let flags = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), flags, 1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Counter(Lock, UnsafeCell<u64>);
    // SAFETY: the number is touched under the lock only.
    unsafe impl Sync for Counter {}

    impl Counter {
        fn add(&self) {
            self.0.lock();
            // SAFETY: the lock is held.
            unsafe { *self.1.get() += 1 };
            self.0.unlock();
        }
    }

    #[test]
    fn no_addition_is_lost() {
        let counter = Counter(Lock::new(), UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| counter.add()));
            }
        });
        assert_eq!(counter.1.into_inner(), 80_000);
    }
}
