//! Opening symmetric memory and closing it.

use crate::engine::onesided::Memory;
use crate::engine::Engine;
use crate::memory::window::{self, Children};
use crate::onesided::Exposure;
use crate::symmetric::{loaded, Blocks, Chunk, Heap, Object, Statics, Symmetric};
use crate::world::create::create_from_group;
use crate::world::{Communicator, ErrorHandler, Group};
use crate::{Class, Error, Result};
use std::sync::{Arc, OnceLock};

/// Of chunks, if no block asks for more: of a huge page.
pub(super) const ALIGNMENT: usize = 2 << 20;
/// The first chunk is so long, as far as the machine has memory.
const FIRST_BYTES: usize = 1 << 30;
/// At the beginning of the heap lies the table of the variables of a rank: how many there are, and each.
pub(super) const TABLE_BYTES: usize = 64 << 10;
pub(super) const TABLE_ROWS: usize = (TABLE_BYTES - 8) / size_of::<Object>();

impl Engine {
    /// Opens symmetric memory of all ranks of the job. Collective. `limit`: the most bytes of the heap; else as much as
    /// there is.
    ///
    /// # Errors
    /// `NoMem` when not even a small heap is to be had.
    pub fn open_symmetric(&self, limit: Option<usize>) -> Result<Symmetric> {
        // Before anything starts a thread.
        let objects = self.open_variables();
        let group = Arc::new(Group::identity(self.size()));
        let handler = Arc::new(ErrorHandler::Fatal);
        let world = Arc::new(create_from_group(self, &group, "serried: symmetric memory", handler)?);
        world.set_name("all PEs");
        let least = 2 * TABLE_BYTES;
        let wanted = limit.map_or(FIRST_BYTES.min(all_memory()), |limit| limit.saturating_add(TABLE_BYTES));
        let mut heap =
            Heap { limit: limit.map(|limit| limit.saturating_add(TABLE_BYTES)), ..Heap::default() };
        let (chunk, mut blocks) = self.new_chunk(&world, wanted.max(least), least, ALIGNMENT)?;
        let table = blocks.take(TABLE_BYTES, ALIGNMENT).ok_or_else(no_table)?;
        // SAFETY: the block just taken.
        unsafe { write_table((chunk.base + table) as *mut u64, &objects) };
        heap.chunks.push((Arc::new(chunk), blocks));
        let exposure = self.expose_statics(&world, &objects)?;
        let of_peers = (0..self.size()).map(|_| OnceLock::new()).collect();
        Ok(Symmetric::new(world, heap, Statics { exposure, objects, of_peers }))
    }

    /// The variables of this rank, opened to others as far as the children of a fork have them for themselves all the same.
    fn open_variables(&self) -> Vec<Object> {
        let mut objects = loaded();
        for one in &mut objects {
            one.opened = self.open_memory(one.address, one.bytes, Children::NeverShare);
        }
        objects
    }

    /// All can be reached by others.
    fn expose_statics(&self, world: &Arc<Communicator>, objects: &[Object]) -> Result<Arc<Exposure>> {
        let exposure = self.expose(world, Memory::Dynamic, 1)?;
        objects.iter().try_for_each(|one| self.attach_opened(&exposure, one.entry()))?;
        self.barrier_of(world)?;
        Ok(exposure)
    }

    /// A new piece of the heap of `wanted` bytes, or of less but not below `least`, at a multiple of `alignment` in all
    /// ranks. Collective.
    ///
    /// # Errors
    /// `NoMem`, in all ranks.
    pub(super) fn new_chunk(
        &self,
        world: &Arc<Communicator>,
        wanted: usize,
        least: usize,
        alignment: usize,
    ) -> Result<(Chunk, Blocks)> {
        let mut bytes = wanted.checked_next_multiple_of(4096).ok_or_else(|| no_memory(wanted))?;
        loop {
            let memory = window::take(bytes, alignment).unwrap_or(std::ptr::null_mut());
            match self.expose(world, Memory::Given { address: memory, bytes: bytes as i64 }, 1) {
                Ok(exposure) => {
                    let chunk = Chunk { base: memory as usize, bytes, alignment, exposure };
                    return Ok((chunk, Blocks::new(bytes)));
                }
                Err(_) => {
                    // SAFETY: null, or just taken.
                    unsafe { window::give(memory) };
                    if bytes <= least {
                        return Err(no_memory(least));
                    }
                    bytes = (bytes / 2).max(least).next_multiple_of(4096);
                }
            }
        }
    }

    /// Takes a piece of the heap back. Collective.
    pub(super) fn end_chunk(&self, chunk: &Chunk) -> Result<()> {
        self.unexpose(&chunk.exposure)?;
        // SAFETY: from `new_chunk`; no rank uses it any more.
        unsafe { window::give(chunk.base as *mut u8) };
        Ok(())
    }

    /// Closes symmetric memory: all of the heap goes. Collective.
    ///
    /// # Errors
    /// What progress reports.
    pub fn close_symmetric(&self, symmetric: &Symmetric) -> Result<()> {
        self.quiet()?;
        self.barrier_of(&symmetric.world)?;
        self.unexpose(&symmetric.statics.exposure)?;
        let mut heap = symmetric.heap();
        for (chunk, _) in heap.chunks.drain(..).rev() {
            self.end_chunk(&chunk)?;
        }
        symmetric.publish(&mut heap);
        drop(heap);
        symmetric.world.free();
        Ok(())
    }
}

/// # Safety
/// `table` can be written for [`TABLE_BYTES`].
unsafe fn write_table(table: *mut u64, objects: &[Object]) {
    let rows = objects.len().min(TABLE_ROWS);
    // SAFETY: by the caller.
    unsafe {
        table.write(rows as u64);
        table.add(1).cast::<Object>().copy_from_nonoverlapping(objects.as_ptr(), rows);
    }
}

/// Bytes of memory of this machine.
pub(super) fn all_memory() -> usize {
    window::all_memory()
}

fn no_table() -> Error {
    Error::new(Class::Intern, "the symmetric heap has no room for its first block")
}

#[cold]
pub(super) fn no_memory(bytes: usize) -> Error {
    let sentence = format!("{bytes} bytes of memory for the symmetric heap are not to be had in all ranks");
    Error::new(Class::NoMem, sentence)
}
