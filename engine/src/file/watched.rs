//! The driver as a file uses it: what goes through is counted on the rank's page, and a change that fails is remembered.

use super::driver::Driver;
use super::file_system::FileSystem;
use crate::observe::page::{add_together, FileCounters};
use crate::progress::clock;
use crate::Result;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Another driver, watched.
pub(super) struct Watched {
    driver: Box<dyn Driver>,
    counters: &'static FileCounters,
    failed: AtomicBool,
}

impl Watched {
    pub fn new(driver: Box<dyn Driver>, counters: &'static FileCounters) -> Watched {
        Watched { driver, counters, failed: AtomicBool::new(false) }
    }

    /// Whether a change of the file has failed: then it does not hold what the program wanted.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    fn timed<T>(&self, work: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        let begun = clock::nanoseconds();
        let done = work(&*self.driver);
        add_together(&self.counters.nanoseconds, clock::nanoseconds().saturating_sub(begun));
        done
    }

    fn counted<T>(&self, calls: &AtomicU64, work: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        add_together(calls, 1);
        self.timed(work)
    }

    /// Remembers a failure.
    fn noted<T>(&self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.failed.store(true, Relaxed);
        }
        done
    }
}

impl Driver for Watched {
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<usize> {
        let read = self.counted(&self.counters.reads, |driver| driver.read(offset, target))?;
        add_together(&self.counters.bytes_read, read as u64);
        Ok(read)
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        self.noted(self.counted(&self.counters.writes, |driver| driver.write(offset, source)))?;
        add_together(&self.counters.bytes_written, source.len() as u64);
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        self.driver.size()
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.noted(self.timed(|driver| driver.set_size(size)))
    }

    fn preallocate(&self, size: u64) -> Result<()> {
        self.noted(self.timed(|driver| driver.preallocate(size)))
    }

    fn sync(&self) -> Result<()> {
        self.noted(self.counted(&self.counters.syncs, |driver| driver.sync()))
    }

    fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<()> {
        self.timed(|driver| driver.lock(offset, bytes, exclusive))
    }

    fn unlock(&self, offset: u64, bytes: u64) -> Result<()> {
        self.driver.unlock(offset, bytes)
    }

    fn file_system(&self) -> FileSystem {
        self.driver.file_system()
    }
}
