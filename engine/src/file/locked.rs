//! A driver for file systems on which a node sees what another one has written only under a lock (NFS): each access
//! locks its range. Taking a lock brings what others have written here, and giving it back brings ours there.

use super::driver::Driver;
use super::file_system::FileSystem;
use crate::Result;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Another driver, whose accesses lock their ranges.
pub(super) struct Locked<D> {
    driver: D,
    /// Locks of atomic mode that this handle has: accesses under them take none, for giving theirs back would make a
    /// hole in these.
    held: AtomicUsize,
    /// Whether the handle reads: one that does not can have no shared locks.
    reads: bool,
}

/// A byte that no access has: who locks it waits for nobody.
const BEHIND_ALL: (u64, usize) = (i64::MAX as u64 - 1, 1);

/// The driver with which ranks on so many nodes access a file.
pub(super) fn driver_for(file: impl Driver + 'static, nodes: usize, reads: bool) -> Box<dyn Driver> {
    match file.file_system().needs_locks && nodes > 1 {
        true => Box::new(Locked::new(file, reads)),
        false => Box::new(file),
    }
}

impl<D: Driver> Locked<D> {
    pub fn new(driver: D, reads: bool) -> Locked<D> {
        Locked { driver, held: AtomicUsize::new(0), reads }
    }

    fn under_lock<T>(
        &self,
        (offset, bytes): (u64, usize),
        exclusive: bool,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if bytes == 0 || self.held.load(Relaxed) > 0 {
            return work();
        }
        self.driver.lock(offset, bytes as u64, exclusive)?;
        let done = work();
        self.driver.unlock(offset, bytes as u64)?;
        done
    }
}

impl<D: Driver> Driver for Locked<D> {
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<usize> {
        self.under_lock((offset, target.len()), false, || self.driver.read(offset, target))
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        self.under_lock((offset, source.len()), true, || self.driver.write(offset, source))
    }

    /// A node keeps the size for some seconds, but asks for it anew when it has taken a lock.
    fn size(&self) -> Result<u64> {
        self.under_lock(BEHIND_ALL, !self.reads, || self.driver.size())
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.driver.set_size(size)
    }

    fn preallocate(&self, size: u64) -> Result<()> {
        self.driver.preallocate(size)
    }

    fn sync(&self) -> Result<()> {
        self.driver.sync()
    }

    fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<()> {
        self.driver.lock(offset, bytes, exclusive)?;
        self.held.fetch_add(1, Relaxed);
        Ok(())
    }

    fn unlock(&self, offset: u64, bytes: u64) -> Result<()> {
        self.held.fetch_sub(1, Relaxed);
        self.driver.unlock(offset, bytes)
    }

    fn file_system(&self) -> FileSystem {
        self.driver.file_system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::file_in_memory::Memory;

    #[test]
    fn accesses_wait_for_locks_of_others_and_not_for_those_of_their_own_handle() {
        let contents = Memory::default();
        let (mine, other) = (Locked::new(contents.another(0), true), contents.another(1));
        other.lock(100, 10, true).unwrap();
        mine.write(0, b"before").unwrap(); // the range is another
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| mine.write(105, b"x"));
            while !contents.is_waited_for() {
                std::thread::yield_now();
            }
            assert_eq!(contents.bytes().len(), 6, "nothing is written while another one has the lock");
            other.unlock(100, 10).unwrap();
            waits.join().unwrap().unwrap();
        });
        mine.lock(0, 200, true).unwrap();
        mine.write(50, b"mine").unwrap();
        assert!(!other.try_lock(150, 1, true), "an access leaves a lock of atomic mode whole");
        mine.unlock(0, 200).unwrap();
        assert!(other.try_lock(150, 1, true));
    }
    #[test]
    fn the_size_is_asked_for_under_a_lock_that_no_access_waits_for() {
        let contents = Memory::default();
        let (mine, other) = (Locked::new(contents.another(0), true), contents.another(1));
        mine.write(0, b"four").unwrap();
        other.lock(0, 1 << 60, true).unwrap();
        assert_eq!(mine.size().unwrap(), 4);
        other.lock(BEHIND_ALL.0, 1, true).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| mine.size());
            while !contents.is_waited_for() {
                std::thread::yield_now();
            }
            other.unlock(BEHIND_ALL.0, 1).unwrap();
            assert_eq!(waits.join().unwrap().unwrap(), 4);
        });
    }
}
