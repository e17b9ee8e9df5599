//! The lock around the engine's state.
//!
//! A program that asked for one thread pays no atomic operation: the lock is
//! then only a cell. Once several threads are asked for, it is a mutex. (The state
//! is in several of them then, the lanes, so that threads on different
//! communicators do not meet.)

use crate::lock_order::{self, Held, Level};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A value behind a mutex that can be switched off. It shares no cache line with others.
#[derive(Debug)]
#[repr(align(128))]
pub struct EngineLock<T> {
    threaded: AtomicBool,
    level: Level,
    mutex: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: with `threaded` set the mutex guards the value; without it the
// program has promised to call from one thread at a time (MPI-5.0 §11.6).
unsafe impl<T: Send> Sync for EngineLock<T> {}

/// Access to the value until dropped.
#[derive(Debug)]
pub struct Guard<'a, T> {
    value: *mut T,
    held: ManuallyDrop<Option<MutexGuard<'a, ()>>>,
    _order: Held,
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.held.is_some() {
            release(&mut self.held);
        }
    }
}

/// Apart from the rest, so that a guard which holds nothing stays in registers.
#[cold]
fn release(held: &mut ManuallyDrop<Option<MutexGuard<'_, ()>>>) {
    drop(held.take());
}

impl<T> EngineLock<T> {
    /// Locks only if `threaded`.
    pub fn new(value: T, level: Level, threaded: bool) -> EngineLock<T> {
        EngineLock {
            threaded: AtomicBool::new(threaded),
            level,
            mutex: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// From now on several threads may call at once. Only before a second
    /// thread calls.
    pub fn set_threaded(&self) {
        self.threaded.store(true, Relaxed);
    }

    /// Whether several threads may call at once.
    #[inline]
    pub fn is_threaded(&self) -> bool {
        self.threaded.load(Relaxed)
    }

    /// Takes the lock. Not reentrant: nothing of the user is called meanwhile.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        lock_order::check(self.level);
        let held = if self.threaded.load(Relaxed) { Some(self.acquire()) } else { None };
        Guard {
            value: self.value.get(),
            held: ManuallyDrop::new(held),
            _order: lock_order::enter(self.level),
        }
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let held = match self.threaded.load(Relaxed) {
            false => None,
            true => match self.mutex.try_lock() {
                Ok(held) => Some(held),
                Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
                Err(TryLockError::WouldBlock) => return None,
            },
        };
        Some(Guard {
            value: self.value.get(),
            held: ManuallyDrop::new(held),
            _order: lock_order::enter(self.level),
        })
    }

    #[cold]
    fn acquire(&self) -> MutexGuard<'_, ()> {
        self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only access: by the mutex, or by the
        // program's promise to use one thread, and `lock` is not reentrant.
        unsafe { &*self.value }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.value }
    }
}
