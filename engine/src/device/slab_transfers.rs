//! Blocks of device memory that come to the host or go there in parts, through two slabs in turn: the driver copies one part while the
//! processor works on the other.
//!
//! ```text
//! from the device: part 0 comes | part 1 comes while part 0 is sent | part 2 ...
//! to the device:   part 0 is received | part 1 is received while part 0 goes | ...
//! ```

use super::counted;
use super::interface::{DeviceMemory, Piece, Slab, SLAB_BYTES};
use crate::{Error, Result};
use std::fmt;
use std::ops::Range;

/// Where the block lies, and the slabs.
struct Pair {
    there: usize,
    bytes: u64,
    slabs: [Box<dyn Slab>; 2],
    /// The slab with which the processor works.
    current: usize,
}

impl Pair {
    fn new(memory: &DeviceMemory, there: usize, bytes: u64) -> Option<Pair> {
        let slabs = [super::slab(memory)?, super::slab(memory)?];
        Some(Pair { there, bytes, slabs, current: 0 })
    }

    fn here(&self) -> *mut u8 {
        self.slabs[self.current].memory()
    }

    fn there(&self, at: u64) -> *mut u8 {
        (self.there + at as usize) as *mut u8
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.there)
    }
}

/// A block that is read, from front to back.
#[derive(Debug)]
pub struct FromDevice {
    pair: Pair,
    /// The part in the current slab, and the one that is on its way to the other.
    part: Range<u64>,
    ahead: Range<u64>,
}

impl FromDevice {
    /// Of so many bytes from an address on; `None` if there are no slabs for it.
    pub fn new(memory: &DeviceMemory, there: usize, bytes: u64) -> Option<FromDevice> {
        Pair::new(memory, there, bytes).map(|pair| FromDevice { pair, part: 0..0, ahead: 0..0 })
    }

    /// The data from byte `at` on: where they are now, until the next call, and how many.
    ///
    /// # Errors
    /// What the driver says; then the block cannot be read.
    ///
    /// # Safety
    /// The program lends the block until this is dropped.
    pub unsafe fn data(&mut self, at: u64) -> Result<(*const u8, u64)> {
        if !self.part.contains(&at) {
            // SAFETY: by the caller.
            unsafe { self.turn(at)? };
        }
        let begin = (at - self.part.start) as usize;
        Ok((self.pair.here().wrapping_add(begin), self.part.end - at))
    }

    /// # Safety
    /// As above.
    unsafe fn turn(&mut self, at: u64) -> Result<()> {
        self.pair.current = 1 - self.pair.current;
        if self.ahead.start != at || self.ahead.is_empty() {
            // SAFETY: by the caller.
            self.ahead = unsafe { self.start(self.pair.current, at)? };
        }
        self.pair.slabs[self.pair.current].wait()?;
        self.part = self.ahead.clone();
        counted::copied(self.part.end - self.part.start);
        // SAFETY: by the caller.
        self.ahead = unsafe { self.start(1 - self.pair.current, self.part.end)? };
        Ok(())
    }

    /// # Safety
    /// As above.
    unsafe fn start(&mut self, which: usize, at: u64) -> Result<Range<u64>> {
        let part = at..self.pair.bytes.min(at + SLAB_BYTES as u64);
        let (bytes, from) = ((part.end - part.start) as usize, self.pair.there(at).cast_const());
        if bytes > 0 {
            let slab = &mut self.pair.slabs[which];
            // SAFETY: by the caller; nobody else uses the slab.
            unsafe { slab.start(&Piece { to: slab.memory(), from, bytes })? };
        }
        Ok(part)
    }
}

/// A block that is written, from front to back.
#[derive(Debug)]
pub struct ToDevice {
    pair: Pair,
    /// Which part is, or will be, in the current slab.
    part: Range<u64>,
    failed: Option<Error>,
}

impl ToDevice {
    /// Of so many bytes from an address on; `None` if there are no slabs for it.
    pub fn new(memory: &DeviceMemory, there: usize, bytes: u64) -> Option<ToDevice> {
        Pair::new(memory, there, bytes).map(|pair| ToDevice { pair, part: 0..0, failed: None })
    }

    /// Where the bytes from `at` on are to be put, and for how many there is room.
    ///
    /// # Safety
    /// The program lends the block until this is dropped. What was put here so far has been told ([`ToDevice::put`]).
    pub unsafe fn room(&mut self, at: u64) -> (*mut u8, usize) {
        let done = self.part.end - self.part.start;
        if at != self.part.end || done == SLAB_BYTES as u64 {
            // SAFETY: by the caller.
            unsafe { self.turn() };
            self.part = at..at;
        }
        let done = (self.part.end - self.part.start) as usize;
        let left = self.pair.bytes.saturating_sub(at).min((SLAB_BYTES - done) as u64);
        (self.pair.here().wrapping_add(done), left as usize)
    }

    /// So many bytes are there.
    pub fn put(&mut self, bytes: usize) {
        self.part.end += bytes as u64;
    }

    /// What is in the current slab begins to go, and the other one is free.
    ///
    /// # Safety
    /// As [`ToDevice::room`].
    unsafe fn turn(&mut self) {
        let (bytes, to) = ((self.part.end - self.part.start) as usize, self.pair.there(self.part.start));
        self.part.start = self.part.end;
        let slab = &mut self.pair.slabs[self.pair.current];
        if bytes > 0 && self.failed.is_none() {
            // SAFETY: by the caller; nobody else uses the slab.
            let started = unsafe { slab.start(&Piece { to, from: slab.memory(), bytes }) };
            self.failed = started.inspect(|()| counted::copied(bytes as u64)).err();
        }
        self.pair.current = 1 - self.pair.current;
        let waited = self.pair.slabs[self.pair.current].wait();
        self.failed = self.failed.take().or(waited.err());
    }

    /// All that was put is in the block.
    ///
    /// # Errors
    /// What the driver has said.
    ///
    /// # Safety
    /// As [`ToDevice::room`].
    pub unsafe fn finish(&mut self) -> Result<()> {
        for _ in 0..2 {
            // SAFETY: by the caller.
            unsafe { self.turn() };
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_raw_parts_mut;

    /// Memory of a device is memory of the host here; copies are done as late as they may be.
    struct Late {
        room: Vec<u8>,
        started: Vec<Piece>,
    }
    // SAFETY: the pieces are of memory of the test.
    unsafe impl Send for Late {}

    impl Slab for Late {
        fn memory(&self) -> *mut u8 {
            self.room.as_ptr().cast_mut()
        }

        unsafe fn start(&mut self, piece: &Piece) -> Result<()> {
            self.started.push(*piece);
            Ok(())
        }

        fn wait(&mut self) -> Result<()> {
            for piece in self.started.drain(..) {
                // SAFETY: both are as long, and of the test.
                unsafe { std::ptr::copy_nonoverlapping(piece.from, piece.to, piece.bytes) };
            }
            Ok(())
        }
    }

    fn pair(block: &mut [u8]) -> Pair {
        let slab = || Box::new(Late { room: vec![0xee; SLAB_BYTES], started: Vec::new() }) as Box<dyn Slab>;
        Pair {
            there: block.as_mut_ptr() as usize,
            bytes: block.len() as u64,
            slabs: [slab(), slab()],
            current: 0,
        }
    }

    fn block(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn a_block_is_read_in_parts_of_any_length_from_any_place_on() {
        for (bytes, begin, most) in
            [(10, 0, 3), (SLAB_BYTES * 3 + 5, 0, 70_000), (SLAB_BYTES * 2, 1000, SLAB_BYTES)]
        {
            let mut there = block(bytes);
            let mut read = FromDevice { pair: pair(&mut there), part: 0..0, ahead: 0..0 };
            let mut at = begin;
            while at < bytes {
                // SAFETY: the block stays.
                let (data, here) = unsafe { read.data(at as u64) }.unwrap();
                let taken = most.min(here as usize);
                // SAFETY: so many are there.
                let data = unsafe { from_raw_parts_mut(data.cast_mut(), taken) };
                assert!(taken > 0 && data == &there[at..at + taken]);
                at += taken;
            }
        }
    }

    #[test]
    fn a_block_is_written_in_parts_of_any_length_and_all_is_there_at_the_end() {
        for (bytes, most) in [(10, 3), (SLAB_BYTES * 3 + 5, 70_000), (SLAB_BYTES * 2, SLAB_BYTES)] {
            let (from, mut there) = (block(bytes), vec![0; bytes]);
            let mut write = ToDevice { pair: pair(&mut there), part: 0..0, failed: None };
            let mut at = 0;
            while at < bytes {
                // SAFETY: the block stays.
                let (room, left) = unsafe { write.room(at as u64) };
                let taken = most.min(left).min(bytes - at);
                // SAFETY: there is so much room.
                unsafe { from_raw_parts_mut(room, taken) }.copy_from_slice(&from[at..at + taken]);
                write.put(taken);
                at += taken;
            }
            // SAFETY: the block stays.
            unsafe { write.finish() }.unwrap();
            assert!(there == from);
        }
    }
}
