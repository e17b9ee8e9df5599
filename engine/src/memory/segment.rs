//! A memfd mapped into this process and, by passing the descriptor, into
//! others.

use super::system_calls;
use crate::{Class, Error, Result};
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// A shared mapping of a memfd, or of its beginning. Unmapped on drop.
///
/// Every byte may be written by other processes at any time: access it by
/// atomics, or by the ownership rules of the structure that lies in it.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    descriptor: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread; what lies in it
// is guarded by the rules of the structures built over it.
unsafe impl Send for Segment {}
// SAFETY: as above; `&Segment` only hands out raw addresses.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes a memfd of `length` bytes (sparse, zero, sealed against growing and
    /// shrinking) and maps its first `bytes`. `name` appears in /proc/PID/maps only.
    ///
    /// # Errors
    /// `NoMem` when the system refuses, with its reason.
    pub fn create(name: &CStr, bytes: usize, length: u64) -> Result<Segment> {
        let raw = system_calls::memory_file(name, libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if raw < 0 {
            return Err(system_error("memfd_create", bytes));
        }
        // SAFETY: `raw` is a descriptor that we just got and nobody else owns.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        // Beyond the limit there is no error but a signal.
        if length > file_limit() {
            return Err(Error::new(
                Class::NoMem,
                format!(
                    "shared memory of {bytes} bytes is more than the limit on the size of files allows; raise `ulimit -f`"
                ),
            ));
        }
        // SAFETY: plain system calls on our own descriptor.
        let sized = unsafe { libc::ftruncate(raw, length as libc::off_t) };
        if sized != 0 {
            return Err(system_error("ftruncate of a memfd", bytes));
        }
        // SAFETY: as above.
        unsafe { libc::fcntl(raw, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) };
        Segment::map(descriptor, bytes)
    }

    /// Maps the first `bytes` of a descriptor that another process made with
    /// [`Segment::create`].
    ///
    /// # Errors
    /// `NoMem` when it cannot be mapped; `Intern` when it is shorter.
    pub fn map(descriptor: OwnedFd, bytes: usize) -> Result<Segment> {
        if length(descriptor.as_fd())? < bytes as u64 {
            return Err(Error::new(Class::Intern, "the shared segment of the job is too short"));
        }
        // SAFETY: a new shared mapping at an address the kernel chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(system_error("mmap of the shared segment", bytes));
        }
        let base = NonNull::new(base.cast()).expect("mmap never returns null on success");
        Ok(Segment { base, bytes, descriptor })
    }

    /// Maps `bytes` from `offset` on once more, over memory of this process.
    ///
    /// # Errors
    /// `NoMem` when the system refuses, with its reason.
    ///
    /// # Safety
    /// `[target, target + bytes)` must be whole pages that hold nothing but what may
    /// be replaced by what the segment holds, and live as long as the process.
    pub unsafe fn map_over(&self, offset: usize, bytes: usize, target: *mut u8) -> Result<()> {
        debug_assert!(offset + bytes <= self.bytes);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: by the caller; the range lies in the segment.
        let mapped =
            unsafe { libc::mmap(target.cast(), bytes, protection, flags, descriptor, offset as libc::off_t) };
        if mapped == libc::MAP_FAILED {
            return Err(system_error("mmap of a part of the shared segment", bytes));
        }
        Ok(())
    }

    /// Reserves the pages of `[offset, offset + bytes)`, so that touching them
    /// cannot raise SIGBUS.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine or container do not allow it.
    pub fn reserve(&self, offset: usize, bytes: usize) -> Result<()> {
        debug_assert!(offset + bytes <= self.bytes);
        // SAFETY: plain system call on our own descriptor.
        let refused = unsafe {
            libc::fallocate(self.descriptor.as_raw_fd(), 0, offset as libc::off_t, bytes as libc::off_t)
        };
        if refused != 0 {
            return Err(system_error("reserving shared memory", bytes));
        }
        Ok(())
    }

    /// Gives the pages of `[offset, offset + bytes)` back to the system, for all
    /// who map them; they read as zero afterwards.
    ///
    /// # Errors
    /// `NoMem` when the system refuses, with its reason.
    pub fn give_back(&self, offset: usize, bytes: usize) -> Result<()> {
        debug_assert!(offset + bytes <= self.bytes);
        give_back(self.descriptor(), offset as u64, bytes)
    }

    /// Where the segment begins in this process.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The descriptor, to pass on.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `base..base+bytes` is the mapping made in `map`; nothing
        // borrowed from `self` outlives it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A piece of the file behind a segment that lies beyond what all map. Unmapped on drop; children inherit it.
#[derive(Debug)]
pub struct Piece {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: as for `Segment`.
unsafe impl Send for Piece {}
// SAFETY: as for `Segment`.
unsafe impl Sync for Piece {}

impl Piece {
    /// Maps `[offset, offset + bytes)` of the file behind a segment, which must be as long; whole pages.
    ///
    /// # Errors
    /// `NoMem` when the system refuses, with its reason.
    pub fn map(descriptor: BorrowedFd, offset: u64, bytes: usize) -> Result<Piece> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        let (file, offset) = (descriptor.as_raw_fd(), offset as libc::off_t);
        // SAFETY: a new shared mapping at an address the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, offset) };
        match NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED) {
            Some(base) => Ok(Piece { base, bytes }),
            None => Err(system_error("mmap of shared memory", bytes)),
        }
    }

    /// Where it begins in this process.
    pub fn address(&self) -> usize {
        self.base.as_ptr() as usize
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; whoever drops it says that nobody uses it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Gives the pages of a range of the file behind a segment back to the system; they read as zero afterwards.
///
/// # Errors
/// `NoMem` when the system refuses, with its reason.
pub fn give_back(descriptor: BorrowedFd, offset: u64, bytes: usize) -> Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain system call on a descriptor of ours.
    match unsafe {
        libc::fallocate(descriptor.as_raw_fd(), mode, offset as libc::off_t, bytes as libc::off_t)
    } {
        0 => Ok(()),
        _ => Err(system_error("giving shared memory back", bytes)),
    }
}

/// Length of the file behind a descriptor.
///
/// # Errors
/// `Intern` when it is no file of memory.
pub fn length(descriptor: BorrowedFd) -> Result<u64> {
    // SAFETY: an all-zero `stat` is a valid value to be overwritten.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is a valid place for the result.
    if unsafe { libc::fstat(descriptor.as_raw_fd(), &mut status) } != 0 || status.st_size <= 0 {
        return Err(Error::new(Class::Intern, "the shared segment of the job has no size"));
    }
    Ok(status.st_size as u64)
}

/// Bytes that a file may have.
fn file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if known && limit.rlim_cur != libc::RLIM_INFINITY {
        limit.rlim_cur
    } else {
        u64::MAX
    }
}

fn system_error(what: &str, bytes: usize) -> Error {
    let cause = std::io::Error::last_os_error();
    let hint = match cause.raw_os_error() {
        Some(libc::EMFILE) => "too many files are open: raise `ulimit -n`",
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => "a sandbox (seccomp) seems to deny it",
        _ => {
            "look at the memory limit of the container or cgroup, and at that on address space (`ulimit -v`)"
        }
    };
    Error::new(Class::NoMem, format!("{what} ({bytes} bytes) failed: {cause}; {hint}"))
}
