//! Atomic mode (MPI-5.0 §14.6.1): who accesses a range keeps others out of it by a lock of the file system, which
//! is also between nodes and between jobs.

use super::driver::Driver;
use super::opened::File;
use crate::Result;
use std::sync::PoisonError;

impl File {
    /// Does something with a range of the file, first and end, alone in atomic mode: other writers (`exclusive`), or
    /// all others that access it.
    ///
    /// # Errors
    /// What the file system says; what the work says.
    pub(super) fn guarded<T>(
        &self,
        (first, end): (u64, u64),
        exclusive: bool,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if !self.is_atomic() || first == end {
            return work();
        }
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.driver.lock(first, end - first, exclusive)?;
        let done = work();
        self.driver.unlock(first, end - first)?;
        done
    }
}
