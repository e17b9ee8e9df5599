//! Pieces of memory that are mapped by the program, as memory of the device.

use crate::memory::{Allocation, Memory, Sort};
use crate::virtual_memory::{map, NOTHING};
use crate::{Answer, INVALID_VALUE};
use std::os::fd::AsRawFd;

impl Memory {
    /// Maps a piece, which cannot be used before access is given.
    pub fn map_piece(&mut self, first: usize, bytes: usize, handle: u64) -> Result<(), Answer> {
        let memory = &mut self.virtual_memory;
        let there = memory.driver_of(first).ok_or(INVALID_VALUE)?;
        let fits = memory.range_of(first).is_some_and(|one| first + bytes <= one.program + one.bytes);
        let piece = memory.piece(handle)?;
        if piece.bytes != bytes || !fits {
            return Err(INVALID_VALUE);
        }
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        map(first, bytes, libc::PROT_NONE, flags, piece.file.as_raw_fd())?;
        map(there, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, piece.file.as_raw_fd())?;
        piece.uses += 1;
        memory.mapped.push((first, handle, false));
        self.add_virtual(first, bytes);
        Ok(())
    }

    pub fn give_access(&mut self, first: usize, bytes: usize) -> Result<(), Answer> {
        let mut mapped = self.virtual_memory.mapped.iter_mut();
        mapped.by_ref().filter(|one| (first..first + bytes).contains(&one.0)).for_each(|one| one.2 = true);
        Ok(())
    }

    /// Takes all pieces in a part of a range away.
    pub fn unmap_pieces(&mut self, first: usize, bytes: usize) -> Result<(), Answer> {
        let there = self.virtual_memory.driver_of(first).ok_or(INVALID_VALUE)?;
        let is_in = |one: &(usize, u64, bool)| (first..first + bytes).contains(&one.0);
        let gone: Vec<(usize, u64, bool)> =
            self.virtual_memory.mapped.iter().filter(|one| is_in(one)).copied().collect();
        for &(at, handle, _) in &gone {
            self.forget(at)?;
            self.virtual_memory.release(handle)?;
        }
        self.virtual_memory.mapped.retain(|one| !is_in(one));
        for at in [first, there] {
            map(at, bytes, libc::PROT_NONE, NOTHING | libc::MAP_FIXED, -1)?;
        }
        Ok(())
    }

    /// Where the driver has bytes of a range, if all of them are mapped and can be used; `None` for other memory.
    pub fn for_driver_virtual(&self, address: usize, bytes: usize) -> Option<Result<usize, Answer>> {
        let there = self.virtual_memory.driver_of(address)?;
        let mut at = address;
        while at < address + bytes {
            let has_access = |first| self.virtual_memory.mapped.iter().any(|one| one.0 == first && one.2);
            match self.find(at).filter(|one| has_access(one.first)) {
                Some(Allocation { first, bytes, .. }) => at = first + bytes,
                None => return Some(Err(INVALID_VALUE)),
            }
        }
        Some(Ok(there))
    }

    fn add_virtual(&mut self, first: usize, bytes: usize) {
        let number = self.next_number();
        let (sort, context, mapped) = (Sort::Virtual, 0, None);
        self.add_allocation(Allocation { first, bytes, number, sort, context, mapped });
    }
}
