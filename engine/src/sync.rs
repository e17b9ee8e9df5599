//! Atomics, and a word to sleep on, for what ranks share without a lock. The
//! modules that use these names are also compiled in `tests/loom`, where they
//! stand for types whose every interleaving is tried.

pub use std::sync::atomic::{fence, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// A word in shared memory on which threads of all processes can sleep.
#[derive(Debug)]
#[repr(transparent)]
pub struct Futex(AtomicU32);

impl Futex {
    /// A word, zero.
    pub const fn new() -> Futex {
        Futex(AtomicU32::new(0))
    }

    /// The word.
    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// Sleeps if the word is `value`, until woken. May return early. `limit` in
    /// nanoseconds bounds the sleep.
    pub fn sleep_while(&self, value: u32, limit: Option<u64>) {
        let time = limit.map(|limit| libc::timespec {
            tv_sec: (limit / 1_000_000_000) as libc::time_t,
            tv_nsec: (limit % 1_000_000_000) as libc::c_long,
        });
        let time = time.as_ref().map_or(std::ptr::null(), |time| time as *const libc::timespec);
        // SAFETY: the address is valid and aligned; `time` is null or points to
        // a live timespec.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAIT, value, time) };
    }

    /// Wakes all that sleep on it.
    pub fn wake_all(&self) {
        self.wake(i32::MAX);
    }

    /// Wakes one that sleeps on it, if one does.
    pub fn wake_one(&self) {
        self.wake(1);
    }

    fn wake(&self, most: i32) {
        // SAFETY: the address is valid and four-byte aligned.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, most) };
    }
}

impl Default for Futex {
    fn default() -> Self {
        Futex::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    /// Two threads write one word with nothing between them.
    #[test]
    #[ignore = "wrong on purpose: tests/sanitize/threads has to find it"]
    fn a_race_on_purpose() {
        let mut word = 0_u64;
        let address = (&raw mut word) as usize;
        let (begin, end) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            for value in 0..2 {
                let (begin, end) = (&begin, &end);
                scope.spawn(move || {
                    begin.wait();
                    // SAFETY: the word lives; that both write it at once is what is wanted.
                    unsafe { (address as *mut u64).write_volatile(value) };
                    end.wait();
                });
            }
        });
    }
}
