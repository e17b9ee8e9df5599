//! What a file system has to offer: bytes at offsets.

use super::file_system::FileSystem;
use crate::Result;

/// An open file of a file system. Calls may come from several threads at once.
pub trait Driver: Send + Sync {
    /// Reads into all of `target` from `offset` on, or up to the end of the file. Gives how many bytes were read.
    ///
    /// # Errors
    /// What the file system says, in its class.
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<usize>;

    /// Writes all of `source` from `offset` on.
    ///
    /// # Errors
    /// What the file system says, in its class; part of it may have been written then.
    fn write(&self, offset: u64, source: &[u8]) -> Result<()>;

    /// The size in bytes.
    ///
    /// # Errors
    /// What the file system says.
    fn size(&self) -> Result<u64>;

    /// Cuts the file or makes it longer, by zeros.
    ///
    /// # Errors
    /// What the file system says.
    fn set_size(&self, size: u64) -> Result<()>;

    /// Reserves room for the first `size` bytes; the file becomes no shorter.
    ///
    /// # Errors
    /// What the file system says.
    fn preallocate(&self, size: u64) -> Result<()>;

    /// Brings all that was written to the device.
    ///
    /// # Errors
    /// What the file system says.
    fn sync(&self) -> Result<()>;

    /// Keeps other handles, in this process or another, out of a range of bytes until the same range is unlocked:
    /// all of them (`exclusive`), or those that ask to be alone. Sleeps until it can be had.
    ///
    /// # Errors
    /// What the file system says.
    fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<()>;

    /// Gives a range back.
    ///
    /// # Errors
    /// What the file system says.
    fn unlock(&self, offset: u64, bytes: u64) -> Result<()>;

    /// The file system, as far as it matters to those who write together.
    fn file_system(&self) -> FileSystem;
}
