//! Memory of the device, mapped twice: for the program without access (managed memory with it), and
//! for the driver.

use crate::{Answer, Handle, INVALID_VALUE, OUT_OF_MEMORY};
use std::ffi::c_int;
use std::ptr;

/// Bytes of each sort of memory.
const BYTES: usize = 1 << 30;
/// Allocations begin at multiples of this, with a gap behind each.
const ALIGNMENT: usize = 512;
/// What fresh memory holds.
const FRESH: u8 = 0xdb;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Of a context.
    Device,
    /// Of a pool, which belongs to none.
    Pool,
    /// The processor may touch it.
    Managed,
}

pub struct Allocation {
    pub first: usize,
    pub bytes: usize,
    pub number: u64,
    pub sort: Sort,
    pub context: Handle,
}

/// Memory of one sort, as it is mapped for the program and for the driver.
struct Arena {
    program: usize,
    driver: usize,
}

#[derive(Default)]
pub struct Memory {
    /// Without and with access for the program.
    arenas: [Option<Arena>; 2],
    live: Vec<Allocation>,
    numbers: u64,
}

impl Arena {
    fn new(access: c_int) -> Option<Arena> {
        // SAFETY: a file of our own, mapped at places that the system chooses.
        unsafe {
            let file =
                libc::syscall(libc::SYS_memfd_create, c"fake device".as_ptr(), libc::MFD_CLOEXEC) as c_int;
            if file < 0 || libc::ftruncate(file, BYTES as libc::off_t) != 0 {
                return None;
            }
            let map = |access| {
                let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
                let mapped = libc::mmap(ptr::null_mut(), BYTES, access, flags, file, 0);
                (mapped != libc::MAP_FAILED).then_some(mapped as usize)
            };
            let arena = Arena { program: map(access)?, driver: map(libc::PROT_READ | libc::PROT_WRITE)? };
            libc::close(file);
            Some(arena)
        }
    }
}

impl Memory {
    pub fn find(&self, address: usize) -> Option<&Allocation> {
        self.live.iter().find(|one| (one.first..one.first + one.bytes).contains(&address))
    }

    fn arena(&mut self, sort: Sort) -> Result<&Arena, Answer> {
        let (place, access) = match sort {
            Sort::Managed => (1, libc::PROT_READ | libc::PROT_WRITE),
            _ => (0, libc::PROT_NONE),
        };
        if self.arenas[place].is_none() {
            self.arenas[place] = Arena::new(access);
        }
        self.arenas[place].as_ref().ok_or(OUT_OF_MEMORY)
    }

    /// The lowest place that is free: so addresses are soon used again.
    pub fn allocate(&mut self, bytes: usize, sort: Sort, context: Handle) -> Result<usize, Answer> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let begin = self.arena(sort)?.program;
        let room = |one: &Allocation| one.bytes.next_multiple_of(ALIGNMENT) + ALIGNMENT;
        let mut first = begin;
        self.live.sort_unstable_by_key(|one| one.first);
        for one in self.live.iter().filter(|one| (begin..begin + BYTES).contains(&one.first)) {
            if one.first.saturating_sub(first) >= bytes.next_multiple_of(ALIGNMENT) + ALIGNMENT {
                break;
            }
            first = one.first + room(one);
        }
        if first + bytes > begin + BYTES {
            return Err(OUT_OF_MEMORY);
        }
        self.numbers += 1;
        self.live.push(Allocation { first, bytes, number: self.numbers, sort, context });
        let there = self.for_driver(first, bytes)?;
        // SAFETY: memory of the driver, which nobody else uses.
        unsafe { ptr::write_bytes(there as *mut u8, FRESH, bytes) };
        Ok(first)
    }

    fn is_of_device(&self, address: usize) -> bool {
        let mut arenas = self.arenas.iter().flatten();
        arenas.any(|arena| (arena.program..arena.program + BYTES).contains(&address))
    }

    /// Where the driver has bytes: its own mapping, or the program's memory of the host.
    pub fn for_driver(&self, address: usize, bytes: usize) -> Result<usize, Answer> {
        if !self.is_of_device(address) {
            return Ok(address);
        }
        let one = self.find(address).ok_or(INVALID_VALUE)?;
        if address + bytes > one.first + one.bytes {
            return Err(INVALID_VALUE);
        }
        let mut arenas = self.arenas.iter().flatten();
        let arena = arenas.find(|arena| (arena.program..arena.program + BYTES).contains(&address));
        arena.map(|arena| address - arena.program + arena.driver).ok_or(INVALID_VALUE)
    }

    /// Gives an allocation back.
    pub fn free(&mut self, first: usize) -> Result<(), Answer> {
        let place = self.live.iter().position(|one| one.first == first).ok_or(INVALID_VALUE)?;
        self.live.swap_remove(place);
        Ok(())
    }

    pub fn context_goes(&mut self, context: Handle) {
        self.live.retain(|one| one.sort != Sort::Device || one.context != context);
    }

    /// Copies at once.
    ///
    /// # Safety
    /// What is memory of the host can be read or written.
    pub unsafe fn copy(&self, to: usize, from: usize, bytes: usize) -> Result<(), Answer> {
        let (to, from) = (self.for_driver(to, bytes)?, self.for_driver(from, bytes)?);
        // SAFETY: by the caller, and what the driver has is its own.
        unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }
}
