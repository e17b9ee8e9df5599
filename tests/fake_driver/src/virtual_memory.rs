//! Memory that a program maps by itself (`cuMemCreate`, `cuMemMap`): pieces of it, each a file of its own, side by side in a range of
//! addresses. The range is there twice, as other memory of the device: for the program without access, and for the driver.

use crate::{Answer, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// Lengths and addresses are multiples of this.
pub const GRANULARITY: usize = 64 << 10;
/// What fresh memory holds.
const FRESH: u8 = 0xdb;

/// A range of addresses.
pub struct Range {
    pub program: usize,
    pub driver: usize,
    pub bytes: usize,
}

/// Memory that can be mapped.
pub struct Piece {
    handle: u64,
    pub file: OwnedFd,
    pub bytes: usize,
    is_shareable: bool,
    /// How often it is held, by handles and mappings.
    pub uses: usize,
}

#[derive(Default)]
pub struct VirtualMemory {
    ranges: Vec<Range>,
    pieces: Vec<Piece>,
    /// Where each piece is mapped, and whether it can be used there.
    pub mapped: Vec<(usize, u64, bool)>,
    handles: u64,
}

pub fn map(at: usize, bytes: usize, access: c_int, flags: c_int, file: RawFd) -> Result<usize, Answer> {
    // SAFETY: a new mapping, or one in a range of ours.
    let mapped = unsafe { libc::mmap(at as *mut _, bytes, access, flags | libc::MAP_NORESERVE, file, 0) };
    if mapped == libc::MAP_FAILED {
        Err(OUT_OF_MEMORY)
    } else {
        Ok(mapped as usize)
    }
}

pub const NOTHING: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

fn is_whole(bytes: usize) -> Result<(), Answer> {
    if bytes > 0 && bytes.is_multiple_of(GRANULARITY) {
        Ok(())
    } else {
        Err(INVALID_VALUE)
    }
}

impl VirtualMemory {
    /// Where the driver has an address of a range.
    pub fn driver_of(&self, address: usize) -> Option<usize> {
        let range = self.range_of(address)?;
        Some(address - range.program + range.driver)
    }

    pub fn range_of(&self, address: usize) -> Option<&Range> {
        self.ranges.iter().find(|one| (one.program..one.program + one.bytes).contains(&address))
    }

    pub fn reserve(&mut self, bytes: usize) -> Result<usize, Answer> {
        is_whole(bytes)?;
        let place = || -> Result<usize, Answer> {
            let found = map(0, bytes + GRANULARITY, libc::PROT_NONE, NOTHING, -1)?;
            let first = found.next_multiple_of(GRANULARITY);
            // SAFETY: what lies before and behind is not needed.
            unsafe {
                if first > found {
                    libc::munmap(found as *mut _, first - found);
                }
                libc::munmap((first + bytes) as *mut _, found + GRANULARITY - first);
            }
            Ok(first)
        };
        let (program, driver) = (place()?, place()?);
        self.ranges.push(Range { program, driver, bytes });
        Ok(program)
    }

    pub fn unreserve(&mut self, first: usize) -> Result<(), Answer> {
        let place = self.ranges.iter().position(|one| one.program == first).ok_or(INVALID_VALUE)?;
        let end = first + self.ranges[place].bytes;
        if self.mapped.iter().any(|one| (first..end).contains(&one.0)) {
            return Err(INVALID_VALUE);
        }
        let Range { program, driver, bytes } = self.ranges.swap_remove(place);
        // SAFETY: mapped by `reserve`; nothing is there.
        unsafe {
            libc::munmap(program as *mut _, bytes);
            libc::munmap(driver as *mut _, bytes);
        }
        Ok(())
    }

    fn add(&mut self, file: OwnedFd, bytes: usize, is_shareable: bool) -> u64 {
        self.handles += 1;
        self.pieces.push(Piece { handle: self.handles, file, bytes, is_shareable, uses: 1 });
        self.handles
    }

    pub fn create(&mut self, bytes: usize, is_shareable: bool) -> Result<u64, Answer> {
        is_whole(bytes)?;
        // SAFETY: a file of our own.
        let file = unsafe {
            let file =
                libc::syscall(libc::SYS_memfd_create, c"fake memory".as_ptr(), libc::MFD_CLOEXEC) as c_int;
            if file < 0 || libc::ftruncate(file, bytes as libc::off_t) != 0 {
                return Err(OUT_OF_MEMORY);
            }
            OwnedFd::from_raw_fd(file)
        };
        let there = map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd())?;
        // SAFETY: mapped just now.
        unsafe {
            ptr::write_bytes(there as *mut u8, FRESH, bytes);
            libc::munmap(there as *mut _, bytes);
        }
        Ok(self.add(file, bytes, is_shareable))
    }

    pub fn piece(&mut self, handle: u64) -> Result<&mut Piece, Answer> {
        self.pieces.iter_mut().find(|one| one.handle == handle).ok_or(INVALID_VALUE)
    }

    pub fn release(&mut self, handle: u64) -> Result<(), Answer> {
        let piece = self.piece(handle)?;
        piece.uses -= 1;
        self.pieces.retain(|one| one.uses > 0);
        Ok(())
    }

    /// A descriptor of it, for another process.
    pub fn export(&mut self, handle: u64) -> Result<RawFd, Answer> {
        let piece = self.piece(handle)?;
        if !piece.is_shareable {
            return Err(NOT_SUPPORTED);
        }
        // SAFETY: a descriptor of ours.
        let file = unsafe { libc::fcntl(piece.file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) };
        if file < 0 {
            Err(OUT_OF_MEMORY)
        } else {
            Ok(file)
        }
    }

    /// The memory of a descriptor that has come from another process.
    pub fn import(&mut self, file: RawFd) -> Result<u64, Answer> {
        // SAFETY: asks about a descriptor; the copy is ours.
        let (file, bytes) = unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            let copy = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 0);
            if copy < 0 || libc::fstat(copy, &raw mut about) != 0 {
                return Err(INVALID_VALUE);
            }
            (OwnedFd::from_raw_fd(copy), about.st_size as usize)
        };
        is_whole(bytes)?;
        Ok(self.add(file, bytes, true))
    }

    /// The handle of what is mapped at an address.
    pub fn retain(&mut self, address: usize) -> Result<u64, Answer> {
        let pieces = &self.pieces;
        let bytes = |handle| pieces.iter().find(|one| one.handle == handle).map_or(0, |one| one.bytes);
        let is_there = |one: &&(usize, u64, bool)| address.wrapping_sub(one.0) < bytes(one.1);
        let handle = self.mapped.iter().find(is_there).ok_or(INVALID_VALUE)?.1;
        self.piece(handle)?.uses += 1;
        Ok(handle)
    }
}
