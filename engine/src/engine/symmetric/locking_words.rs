//! Locks in symmetric words (OpenSHMEM 1.6 chapter 9.14): whoever waits sleeps, and they take turns in the order of asking.
//!
//! # Protocol
//! A lock is a word of 8 bytes, zero at first. In one rank, its *home*, the first half of the word is the *tail*: 1 + the
//! rank that has asked last, 0 if the lock is free. In each rank the second half is its place in the queue: the top bit
//! says that it waits, the others 1 + the rank that comes after it. A rank that asks becomes the tail, tells the one before that it
//! follows, and waits until its own bit is gone; the rank that gives the lock back takes it from the one after it.

use super::finding::Remote;
use crate::datatype::Basic;
use crate::engine::reason::Reason;
use crate::engine::Engine;
use crate::reduce::Builtin;
use crate::symmetric::Symmetric;
use crate::{Class, Error, Result};
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::PoisonError;

const WAITS: u32 = 1 << 31;

/// One lock, as this rank sees it.
#[derive(Clone, Copy)]
struct Lock<'a> {
    engine: &'a Engine,
    symmetric: &'a Symmetric,
    address: *mut u8,
    home: u32,
}

impl Lock<'_> {
    fn word(&self, pe: u32, half: usize) -> Remote {
        Remote { name: "lock", address: self.address.wrapping_add(4 * half), pe }
    }

    /// Changes half of the word of a rank; what it was.
    fn change(&self, (pe, half): (u32, usize), builtin: Builtin, by: u32) -> Result<u32> {
        let mut old = 0u32;
        let operation = (Basic::Uint32, builtin);
        let items = ((&raw const by).cast(), (&raw mut old).cast());
        self.engine.change_word(self.symmetric, self.word(pe, half), operation, items)?;
        Ok(old)
    }

    /// Makes the tail `new` if it is `known`; what it was.
    fn swap_tail(&self, known: u32, new: u32) -> Result<u32> {
        let mut old = 0u32;
        let items = ((&raw const new).cast(), (&raw const known).cast(), (&raw mut old).cast());
        self.engine.swap_word(self.symmetric, self.word(self.home, 0), 4, items)?;
        Ok(old)
    }

    /// The own place in the queue.
    fn place(&self) -> &AtomicU32 {
        // SAFETY: found to be symmetric, so memory of this rank; aligned, and others change it as a word.
        unsafe { &*self.address.add(4).cast::<AtomicU32>() }
    }
}

impl Engine {
    /// Takes a lock; waits for it (`shmem_set_lock`).
    ///
    /// # Errors
    /// `RmaRange`, `Disp`; `RmaSync` when this thread holds it.
    pub fn take_lock(&self, symmetric: &Symmetric, address: *mut u8) -> Result<()> {
        let lock = self.lock_at(symmetric, address)?;
        self.note_lock(&lock, true)?;
        let me = symmetric.rank() + 1;
        lock.place().store(WAITS, Ordering::SeqCst);
        let before = lock.change((lock.home, 0), Builtin::Replace, me)?;
        if before != 0 {
            lock.change((before - 1, 1), Builtin::BitOr, me)?;
            let is_over = || lock.place().load(Ordering::SeqCst) & WAITS == 0;
            self.watch_for(symmetric, Reason::Memory(Some(before - 1)), is_over)?;
        }
        Ok(())
    }

    /// Takes it if it is free (`shmem_test_lock`).
    ///
    /// # Errors
    /// As [`Engine::take_lock`], but not when this rank holds it.
    pub fn try_lock(&self, symmetric: &Symmetric, address: *mut u8) -> Result<bool> {
        let lock = self.lock_at(symmetric, address)?;
        if !self.note_lock(&lock, false)? {
            return Ok(false);
        }
        lock.place().store(0, Ordering::SeqCst);
        let last = lock.swap_tail(0, symmetric.rank() + 1)?;
        if last == 0 {
            return Ok(true);
        }
        self.forget_lock(&lock);
        // A program may ask again and again.
        self.look(self.lane(symmetric.world.context()), |_| ())?;
        self.polled(Reason::Memory(Some(last - 1)))?;
        Ok(false)
    }

    /// Gives it back, after all that was written under it (`shmem_clear_lock`).
    ///
    /// # Errors
    /// As above; `RmaSync` when this rank does not hold it.
    pub fn give_lock(&self, symmetric: &Symmetric, address: *mut u8) -> Result<()> {
        let lock = self.lock_at(symmetric, address)?;
        if !self.locks_of(symmetric).contains_key(&(address as usize)) {
            return Err(Error::new(Class::RmaSync, format!("this PE does not hold the lock at {address:p}")));
        }
        self.quiet()?;
        let next = || lock.place().load(Ordering::SeqCst) & !WAITS;
        if next() == 0 && lock.swap_tail(symmetric.rank() + 1, 0)? == symmetric.rank() + 1 {
            self.forget_lock(&lock);
            return Ok(());
        }
        // The next one is the tail, and is about to say that it follows.
        self.watch(symmetric, || next() != 0)?;
        let after = next() - 1;
        self.forget_lock(&lock);
        lock.change((after, 1), Builtin::BitAnd, !WAITS)?;
        Ok(())
    }

    fn lock_at<'a>(&'a self, symmetric: &'a Symmetric, address: *mut u8) -> Result<Lock<'a>> {
        if !(address as usize).is_multiple_of(8) {
            let sentence =
                format!("argument lock: {address:p} is no multiple of 8, as the address of a long is");
            return Err(Error::new(Class::Disp, sentence));
        }
        let remote = Remote { name: "lock", address, pe: symmetric.rank() };
        let (_, offset) = self.find(symmetric, remote, 8)?;
        let home = (offset / 64 % u64::from(symmetric.size())) as u32;
        Ok(Lock { engine: self, symmetric, address, home })
    }

    fn locks_of<'a>(
        &self,
        symmetric: &'a Symmetric,
    ) -> std::sync::MutexGuard<'a, std::collections::HashMap<usize, u64>> {
        symmetric.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that this thread wants a lock; if another one has it, waits for that, or gives `false`.
    fn note_lock(&self, lock: &Lock, wait: bool) -> Result<bool> {
        let me = this_thread();
        loop {
            match self.locks_of(lock.symmetric).entry(lock.address as usize) {
                Entry::Vacant(entry) => {
                    entry.insert(me);
                    return Ok(true);
                }
                Entry::Occupied(_) if !wait => return Ok(false),
                Entry::Occupied(entry) if *entry.get() == me => {
                    let address = lock.address;
                    let sentence =
                        format!("this PE holds the lock at {address:p} already, and would wait for itself");
                    return Err(Error::new(Class::RmaSync, sentence));
                }
                Entry::Occupied(_) => {}
            }
            let is_free = || !self.locks_of(lock.symmetric).contains_key(&(lock.address as usize));
            self.glance(lock.symmetric, is_free)?;
            std::thread::yield_now();
        }
    }

    fn forget_lock(&self, lock: &Lock) {
        self.locks_of(lock.symmetric).remove(&(lock.address as usize));
    }
}

fn this_thread() -> u64 {
    // SAFETY: asking is always allowed.
    unsafe { libc::pthread_self() as u64 }
}
