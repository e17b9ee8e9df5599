//! Memory of the device, mapped twice: for the program without access (managed memory with it), and
//! for the driver.

use crate::mapped::{place_of, Mapped, BYTES, NUMBERS_BYTES};
use crate::virtual_memory::VirtualMemory;
use crate::{Answer, Handle, ALREADY_REGISTERED, ILLEGAL_ADDRESS, INVALID_VALUE, OUT_OF_MEMORY};
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::Ordering::SeqCst;

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
    /// The program has mapped it.
    Virtual,
}

pub struct Allocation {
    pub first: usize,
    pub bytes: usize,
    pub number: u64,
    pub sort: Sort,
    pub context: Handle,
    /// It is another process's.
    pub mapped: Option<Mapped>,
}

/// Memory of one sort, as it is mapped for the program and for the driver.
struct Arena {
    program: usize,
    driver: usize,
    file: c_int,
}

#[derive(Default)]
pub struct Memory {
    /// Without and with access for the program.
    arenas: [Option<Arena>; 2],
    live: Vec<Allocation>,
    numbers: u64,
    /// Pinned memory of the host: where each begins and ends.
    pinned: Vec<(usize, usize)>,
    pub virtual_memory: VirtualMemory,
}

impl Arena {
    fn new(access: c_int) -> Option<Arena> {
        // SAFETY: a file of our own, mapped at places that the system chooses.
        unsafe {
            let file =
                libc::syscall(libc::SYS_memfd_create, c"fake device".as_ptr(), libc::MFD_CLOEXEC) as c_int;
            if file < 0 || libc::ftruncate(file, (BYTES + NUMBERS_BYTES) as libc::off_t) != 0 {
                return None;
            }
            let map = |access| {
                let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
                let mapped = libc::mmap(ptr::null_mut(), BYTES + NUMBERS_BYTES, access, flags, file, 0);
                (mapped != libc::MAP_FAILED).then_some(mapped as usize)
            };
            // The file stays open for other processes.
            Some(Arena { program: map(access)?, driver: map(libc::PROT_READ | libc::PROT_WRITE)?, file })
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
        let number = self.numbers;
        self.live.push(Allocation { first, bytes, number, sort, context, mapped: None });
        self.say(first, self.numbers, true);
        let there = self.for_driver(first, bytes)?;
        // SAFETY: memory of the driver, which nobody else uses.
        unsafe { ptr::write_bytes(there as *mut u8, FRESH, bytes) };
        Ok(first)
    }

    fn is_of_device(&self, address: usize) -> bool {
        let is_mapped = |mapped: &Mapped| (mapped.program..mapped.program + mapped.length).contains(&address);
        self.virtual_memory.driver_of(address).is_some()
            || self.arena_of(address).is_some()
            || self.live.iter().flat_map(|one| &one.mapped).any(is_mapped)
    }

    fn arena_of(&self, address: usize) -> Option<&Arena> {
        let mut arenas = self.arenas.iter().flatten();
        arenas.find(|arena| (arena.program..arena.program + BYTES).contains(&address))
    }

    /// The file in which an address lies, and where.
    pub fn place_in_file(&self, address: usize) -> Option<(c_int, usize)> {
        self.arena_of(address).map(|arena| (arena.file, address - arena.program))
    }

    /// Tells other processes that an allocation is there, or not any more.
    fn say(&self, first: usize, number: u64, is_there: bool) {
        if let Some(arena) = self.arena_of(first) {
            // SAFETY: mapped behind the memory.
            let place = unsafe { place_of(arena.driver + BYTES, number) };
            place.store(if is_there { number } else { 0 }, SeqCst);
        }
    }

    pub fn all(&self) -> &[Allocation] {
        &self.live
    }

    /// A number that no other allocation has.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub fn add_allocation(&mut self, one: Allocation) {
        self.live.push(one);
    }

    /// Memory of another process has been mapped.
    pub fn add_mapped(&mut self, first: usize, bytes: usize, context: Handle, mapped: Mapped) {
        self.numbers += 1;
        let (number, sort, mapped) = (self.numbers, Sort::Device, Some(mapped));
        self.live.push(Allocation { first, bytes, number, sort, context, mapped });
    }

    /// An allocation is not there any more.
    pub fn forget(&mut self, first: usize) -> Result<(), Answer> {
        let place = self.live.iter().position(|one| one.first == first).ok_or(INVALID_VALUE)?;
        let one = self.live.swap_remove(place);
        self.say(first, one.number, false);
        Ok(())
    }

    /// Where the driver has bytes: its own mapping, or the program's memory of the host.
    pub fn for_driver(&self, address: usize, bytes: usize) -> Result<usize, Answer> {
        if !self.is_of_device(address) {
            return Ok(address);
        }
        if let Some(found) = self.for_driver_virtual(address, bytes) {
            return found;
        }
        let one = self.find(address).ok_or(INVALID_VALUE)?;
        if address + bytes > one.first + one.bytes {
            return Err(INVALID_VALUE);
        }
        if let Some(mapped) = &one.mapped {
            return Ok(address - mapped.program + mapped.driver);
        }
        self.arena_of(address).map(|arena| address - arena.program + arena.driver).ok_or(INVALID_VALUE)
    }

    /// Memory of the host that programs on the device reach.
    pub fn allocate_pinned(&mut self, bytes: usize) -> usize {
        let first = Vec::leak(vec![FRESH; bytes]).as_ptr() as usize;
        self.pinned.push((first, first + bytes));
        first
    }

    /// Memory of the program becomes such.
    pub fn pin(&mut self, first: usize, bytes: usize) -> Result<(), Answer> {
        if self.pinned.iter().any(|&(begin, end)| begin < first + bytes && first < end) {
            return Err(ALREADY_REGISTERED);
        }
        self.pinned.push((first, first + bytes));
        Ok(())
    }

    /// Where a program on the device finds bytes: never in other memory of the host.
    pub fn for_program(&self, address: usize, bytes: usize) -> Result<usize, Answer> {
        let is_pinned = |&(first, end): &(usize, usize)| first <= address && address + bytes <= end;
        if !self.is_of_device(address) && !self.pinned.iter().any(is_pinned) {
            return Err(ILLEGAL_ADDRESS);
        }
        self.for_driver(address, bytes).map_err(|_| ILLEGAL_ADDRESS)
    }

    /// Gives an allocation back.
    pub fn free(&mut self, first: usize) -> Result<(), Answer> {
        match self.find(first) {
            Some(one) if one.mapped.is_some() || one.sort == Sort::Virtual => Err(INVALID_VALUE),
            _ => self.forget(first),
        }
    }

    pub fn context_goes(&mut self, context: Handle) {
        let is_of_it = |one: &Allocation| one.sort == Sort::Device && one.context == context;
        let all: Vec<usize> = self.live.iter().filter(|one| is_of_it(one)).map(|one| one.first).collect();
        for first in all {
            let _ = self.forget(first);
        }
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
