//! A file that lies in memory: for tests, and the plainest example of a driver.

use super::driver::Driver;
use super::file_system::FileSystem;
use super::striped::Stripes;
use crate::{Class, Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The most bytes of such a file.
const MOST: u64 = 1 << 32;

/// A locked range: handle, offset, bytes, exclusive.
type Lock = (usize, u64, u64, bool);

/// What all handles of one file share.
#[derive(Default)]
struct Contents {
    bytes: Mutex<Vec<u8>>,
    locks: Mutex<Vec<Lock>>,
    unlocked: Condvar,
    /// How many wait for a lock.
    waiting: AtomicUsize,
}

/// A handle of a file in memory. A clone is the same handle; [`Memory::another`] is another one of the same file.
#[derive(Clone, Default)]
pub struct Memory {
    contents: Arc<Contents>,
    handle: usize,
    /// As if it lay on several servers.
    pub stripes: Option<Stripes>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Another handle of the same file; each needs a number of its own.
    pub fn another(&self, handle: usize) -> Memory {
        Memory { contents: Arc::clone(&self.contents), handle, stripes: self.stripes }
    }

    /// Whether somebody waits for a lock.
    pub fn is_waited_for(&self) -> bool {
        self.contents.waiting.load(Relaxed) > 0
    }

    /// As [`Driver::lock`], but gives up where others keep this handle out.
    pub fn try_lock(&self, offset: u64, bytes: u64, exclusive: bool) -> bool {
        let mut locks = held(&self.contents.locks);
        let free = !self.is_kept_out(&locks, (offset, bytes), exclusive);
        if free {
            locks.push((self.handle, offset, bytes, exclusive));
        }
        free
    }

    fn is_kept_out(&self, locks: &[Lock], (offset, bytes): (u64, u64), exclusive: bool) -> bool {
        let meets = |&(handle, at, length, alone): &Lock| {
            handle != self.handle && at < offset + bytes && offset < at + length && (alone || exclusive)
        };
        locks.iter().any(meets)
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        held(&self.contents.bytes).clone()
    }

    fn grow(bytes: &mut Vec<u8>, size: u64) -> Result<()> {
        if size > MOST {
            return Err(Error::new(
                Class::NoSpace,
                format!("a file in memory has at most {MOST} bytes, not {size}"),
            ));
        }
        if size as usize > bytes.len() {
            bytes.resize(size as usize, 0);
        }
        Ok(())
    }
}

impl Driver for Memory {
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<usize> {
        let bytes = held(&self.contents.bytes);
        let found = bytes.get(offset.min(bytes.len() as u64) as usize..).unwrap_or(&[]);
        let length = found.len().min(target.len());
        target[..length].copy_from_slice(&found[..length]);
        Ok(length)
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        let mut bytes = held(&self.contents.bytes);
        Memory::grow(&mut bytes, offset.saturating_add(source.len() as u64))?;
        bytes[offset as usize..][..source.len()].copy_from_slice(source);
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        Ok(held(&self.contents.bytes).len() as u64)
    }

    fn set_size(&self, size: u64) -> Result<()> {
        let mut bytes = held(&self.contents.bytes);
        Memory::grow(&mut bytes, size)?;
        bytes.truncate(size as usize);
        Ok(())
    }

    fn preallocate(&self, size: u64) -> Result<()> {
        Memory::grow(&mut held(&self.contents.bytes), size)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<()> {
        let mut locks = held(&self.contents.locks);
        while self.is_kept_out(&locks, (offset, bytes), exclusive) {
            self.contents.waiting.fetch_add(1, Relaxed);
            locks = self.contents.unlocked.wait(locks).unwrap_or_else(PoisonError::into_inner);
            self.contents.waiting.fetch_sub(1, Relaxed);
        }
        locks.push((self.handle, offset, bytes, exclusive));
        Ok(())
    }

    fn unlock(&self, offset: u64, bytes: u64) -> Result<()> {
        held(&self.contents.locks).retain(|lock| (lock.0, lock.1, lock.2) != (self.handle, offset, bytes));
        self.contents.unlocked.notify_all();
        Ok(())
    }

    fn file_system(&self) -> FileSystem {
        FileSystem { name: "memory", stripes: self.stripes, needs_locks: false }
    }
}
