//! Memory of the device that another process has allocated, mapped here by a handle.
//!
//! A handle names the process, its file, and the allocation by place and number: the numbers of those that are there stand
//! at the end of the file, so that a handle of memory that was freed is found out.

use crate::mapped::{asked, Mapped, MemHandle, PAGE};
use crate::memory::{Allocation, Memory, Sort};
use crate::{Answer, Handle, ALREADY_MAPPED, INVALID_CONTEXT, INVALID_VALUE, NOT_SUPPORTED};

impl Memory {
    /// The handle of the allocation in which an address lies.
    pub fn handle_of(&self, address: usize) -> Result<MemHandle, Answer> {
        let one = self.find(address).filter(|one| one.sort == Sort::Device && one.mapped.is_none());
        let one = one.ok_or(INVALID_VALUE)?;
        let (file, offset) = self.place_in_file(one.first).ok_or(INVALID_VALUE)?;
        let (number, bytes) = (one.number, one.bytes as u64);
        Ok(MemHandle {
            process: std::process::id(),
            file,
            number,
            offset: offset as u64,
            bytes,
            spare: [0; 4],
        })
    }

    /// Maps what a handle names; not in the process that has allocated it, and only once.
    pub fn open(&mut self, handle: &MemHandle, context: Handle) -> Result<usize, Answer> {
        if asked() == "off" {
            return Err(NOT_SUPPORTED);
        }
        if handle.process == std::process::id() {
            return Err(INVALID_CONTEXT);
        }
        let is_it = |one: &Allocation| {
            one.mapped.as_ref().is_some_and(|mapped| mapped.handle == (handle.process, handle.number))
        };
        if self.all().iter().any(is_it) {
            return Err(ALREADY_MAPPED);
        }
        let mapped = Mapped::new(handle)?;
        let first = mapped.program + handle.offset as usize % PAGE;
        self.add_mapped(first, handle.bytes as usize, context, mapped);
        Ok(first)
    }

    /// Gives a mapping back.
    pub fn close(&mut self, first: usize) -> Result<(), Answer> {
        match self.find(first) {
            Some(one) if one.first == first && one.mapped.is_some() => self.forget(first),
            _ => Err(INVALID_VALUE),
        }
    }
}
