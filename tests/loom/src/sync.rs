//! Twin of the engine's `sync`, over loom.
//!
//! Loom takes SeqCst accesses for AcqRel ones, but knows SeqCst fences. A SeqCst
//! store or exchange is therefore made one between two fences, as on x86; a
//! SeqCst load is no fence.

pub use std::sync::atomic::Ordering;

use loom::sync::atomic;
use loom::sync::{Condvar, Mutex};
use Ordering::{AcqRel, Acquire, Release, SeqCst};

pub fn fence(order: Ordering) {
    atomic::fence(order);
}

/// Runs a store or an exchange of an order, which it gets as loom knows it.
fn between_fences<T>(order: Ordering, weaker: Ordering, work: impl FnOnce(Ordering) -> T) -> T {
    if order != SeqCst {
        return work(order);
    }
    fence(SeqCst);
    let result = work(weaker);
    fence(SeqCst);
    result
}

macro_rules! twin {
    ($($name:ident $number:ty),*) => {$(
        #[derive(Debug)]
        pub struct $name(atomic::$name);

        impl $name {
            pub fn new(value: $number) -> Self {
                $name(atomic::$name::new(value))
            }
            pub fn load(&self, order: Ordering) -> $number {
                self.0.load(if order == SeqCst { Acquire } else { order })
            }
            pub fn store(&self, value: $number, order: Ordering) {
                between_fences(order, Release, |order| self.0.store(value, order));
            }
            pub fn swap(&self, value: $number, order: Ordering) -> $number {
                between_fences(order, AcqRel, |order| self.0.swap(value, order))
            }
            pub fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                between_fences(order, AcqRel, |order| self.0.fetch_add(value, order))
            }
            pub fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                between_fences(order, AcqRel, |order| self.0.fetch_sub(value, order))
            }
            pub fn fetch_or(&self, value: $number, order: Ordering) -> $number {
                between_fences(order, AcqRel, |order| self.0.fetch_or(value, order))
            }
            pub fn fetch_and(&self, value: $number, order: Ordering) -> $number {
                between_fences(order, AcqRel, |order| self.0.fetch_and(value, order))
            }
            pub fn compare_exchange(
                &self, old: $number, new: $number, order: Ordering, failed: Ordering,
            ) -> Result<$number, $number> {
                let failed = if failed == SeqCst { Acquire } else { failed };
                between_fences(order, AcqRel, |order| self.0.compare_exchange(old, new, order, failed))
            }
            pub fn compare_exchange_weak(
                &self, old: $number, new: $number, order: Ordering, failed: Ordering,
            ) -> Result<$number, $number> {
                self.compare_exchange(old, new, order, failed)
            }
        }
    )*};
}

twin! { AtomicU32 u32, AtomicU64 u64, AtomicI64 i64 }

/// A word to sleep on. The kernel looks at the word and falls asleep under a lock
/// that who wakes takes as well; nobody is woken without a reason, and no sleep
/// ends by itself, so a lost wake is a deadlock that loom reports.
#[derive(Debug)]
pub struct Futex {
    word: AtomicU32,
    bucket: Mutex<()>,
    sleepers: Condvar,
}

impl Futex {
    pub fn new() -> Futex {
        Futex { word: AtomicU32::new(0), bucket: Mutex::new(()), sleepers: Condvar::new() }
    }

    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    pub fn sleep_while(&self, value: u32, _limit: Option<u64>) {
        let bucket = self.bucket.lock().unwrap();
        if self.word.load(Acquire) == value {
            drop(self.sleepers.wait(bucket).unwrap());
        }
    }

    pub fn wake_all(&self) {
        let _bucket = self.bucket.lock().unwrap();
        self.sleepers.notify_all();
    }

    pub fn wake_one(&self) {
        let _bucket = self.bucket.lock().unwrap();
        self.sleepers.notify_one();
    }
}

impl Default for Futex {
    fn default() -> Self {
        Futex::new()
    }
}
