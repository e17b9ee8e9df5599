//! How memory of the device lies in a file, and mappings of such a file of another process.

use crate::{Answer, INVALID_VALUE};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of memory of each sort; behind them stand the numbers.
pub const BYTES: usize = 1 << 30;
/// Numbers of allocations that are there, each at its place.
pub const NUMBERS: usize = 4096;
/// Bytes of them.
pub const NUMBERS_BYTES: usize = 8 * NUMBERS;
pub const PAGE: usize = 4096;

/// `CUipcMemHandle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct MemHandle {
    pub process: u32,
    pub file: i32,
    pub number: u64,
    pub offset: u64,
    pub bytes: u64,
    pub spare: [u64; 4],
}

/// How memory of another process is mapped.
pub struct Mapped {
    pub handle: (u32, u64),
    /// Whole pages, for the program and for the driver.
    pub program: usize,
    pub driver: usize,
    pub length: usize,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `Mapped::new`.
        unsafe {
            libc::munmap(self.program as *mut _, self.length);
            libc::munmap(self.driver as *mut _, self.length);
        }
    }
}

/// The place of a number.
///
/// # Safety
/// The numbers are mapped there.
pub unsafe fn place_of(numbers: usize, number: u64) -> &'static AtomicU64 {
    // SAFETY: by the caller.
    unsafe { &*(numbers as *const AtomicU64).add(number as usize % NUMBERS) }
}

/// Maps a part of a file.
fn map(file: i32, access: i32, offset: usize, length: usize) -> Result<usize, Answer> {
    // SAFETY: a new mapping, where the system likes.
    let mapped =
        unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED, file, offset as libc::off_t) };
    if mapped == libc::MAP_FAILED {
        Err(INVALID_VALUE)
    } else {
        Ok(mapped as usize)
    }
}

/// How the driver shall behave.
pub fn asked() -> String {
    std::env::var("FAKE_CUDA_IPC").unwrap_or_default()
}

impl Mapped {
    pub fn new(handle: &MemHandle) -> Result<Mapped, Answer> {
        let path = format!("/proc/{}/fd/{}", handle.process, handle.file);
        let file =
            std::fs::OpenOptions::new().read(true).write(true).open(path).map_err(|_| INVALID_VALUE)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let numbers = map(file.as_raw_fd(), access, BYTES, NUMBERS_BYTES)?;
        // SAFETY: mapped just now.
        let is_there = unsafe {
            let there = place_of(numbers, handle.number).load(Ordering::SeqCst) == handle.number;
            libc::munmap(numbers as *mut _, NUMBERS_BYTES);
            there
        };
        if !is_there {
            return Err(INVALID_VALUE);
        }
        let begin = handle.offset as usize / PAGE * PAGE;
        let length = (handle.offset as usize + handle.bytes as usize).next_multiple_of(PAGE) - begin;
        // What a driver that is wrong would map.
        let begin = if asked() == "wrong" { BYTES / 2 } else { begin };
        let program = map(file.as_raw_fd(), libc::PROT_NONE, begin, length)?;
        let driver = map(file.as_raw_fd(), access, begin, length)?;
        Ok(Mapped { handle: (handle.process, handle.number), program, driver, length })
    }
}
