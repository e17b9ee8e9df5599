//! Blocks of the symmetric heap. All ranks call alike, and so know without asking where the blocks of the others lie.

use super::opening::{all_memory, no_memory, ALIGNMENT};
use crate::collective::{Data, Operation};
use crate::datatype::{Basic, Datatype};
use crate::engine::Engine;
use crate::reduce::{Builtin, Operator};
use crate::symmetric::{Heap, Symmetric};
use crate::world::Communicator;
use crate::{Class, Error, Result};
use std::ptr;
use std::sync::Arc;

/// Where a block lies: in which chunk, and at which offset.
type Where = (usize, usize);

/// Each call is collective, and a barrier as the standard says (OpenSHMEM 1.6 chapter 9.3).
///
/// # Errors
/// All: `NotSame` when not all ranks give the same arguments; what progress reports.
impl Engine {
    /// A block of so many bytes, at least one; `alignment` is a power of two. Barrier at the end.
    ///
    /// # Errors
    /// As above, and `NoMem`.
    pub fn allocate_symmetric(
        &self,
        symmetric: &Symmetric,
        bytes: usize,
        alignment: usize,
        zeroed: bool,
    ) -> Result<*mut u8> {
        self.agree(&symmetric.world, [bytes as u64, alignment as u64], "size")?;
        let mut heap = symmetric.heap();
        let (chunk, offset) = self.take_block(symmetric, &mut heap, bytes, alignment)?;
        let address = (heap.chunks[chunk].0.base + offset) as *mut u8;
        drop(heap);
        if zeroed {
            // SAFETY: the block just taken.
            unsafe { address.write_bytes(0, bytes) };
        }
        self.barrier_of(&symmetric.world)?;
        Ok(address)
    }

    /// Gives a block back. Barrier at the beginning.
    ///
    /// # Errors
    /// As above, and `Base` when no block begins there.
    pub fn free_symmetric(&self, symmetric: &Symmetric, address: *mut u8) -> Result<()> {
        let mut heap = symmetric.heap();
        let (chunk, offset) = find_block(&heap, address)?;
        self.quiet()?;
        self.agree(&symmetric.world, [chunk as u64, offset as u64], "ptr")?;
        self.give_block(symmetric, &mut heap, (chunk, offset))
    }

    /// Gives a block another length, perhaps elsewhere; its contents stay. Barriers at both ends.
    ///
    /// # Errors
    /// As above, `Base`, and `NoMem`: the block is as it was then.
    pub fn resize_symmetric(&self, symmetric: &Symmetric, address: *mut u8, bytes: usize) -> Result<*mut u8> {
        let mut heap = symmetric.heap();
        let (chunk, offset) = find_block(&heap, address)?;
        self.quiet()?;
        self.agree(&symmetric.world, [offset as u64, bytes as u64], "size")?;
        if heap.chunks[chunk].1.resize(offset, bytes) {
            drop(heap);
            self.barrier_of(&symmetric.world)?;
            return Ok(address);
        }
        let length = heap.chunks[chunk].1.length(offset).unwrap_or(0);
        let (new_chunk, new_offset) = self.take_block(symmetric, &mut heap, bytes, 1)?;
        let from = (heap.chunks[chunk].0.base + offset) as *const u8;
        let moved = (heap.chunks[new_chunk].0.base + new_offset) as *mut u8;
        // SAFETY: two blocks of the own heap, and the shorter length of both.
        unsafe { ptr::copy_nonoverlapping(from, moved, length.min(bytes)) };
        self.barrier_of(&symmetric.world)?;
        self.give_block(symmetric, &mut heap, (chunk, offset))?;
        Ok(moved)
    }

    /// Bytes of the heap's blocks in use, and address space that it has.
    pub fn usage_of(&self, symmetric: &Symmetric) -> (usize, usize) {
        let heap = symmetric.heap();
        let usage = heap.chunks.iter().map(|(_, blocks)| blocks.usage());
        usage.fold((0, 0), |(used, all), (bytes, in_use)| (used + in_use, all + bytes))
    }

    fn take_block(
        &self,
        symmetric: &Symmetric,
        heap: &mut Heap,
        bytes: usize,
        alignment: usize,
    ) -> Result<Where> {
        for (number, (chunk, blocks)) in heap.chunks.iter_mut().enumerate() {
            // Beyond its own alignment a chunk begins elsewhere in each rank.
            if alignment > chunk.alignment {
                continue;
            }
            if let Some(offset) = blocks.take(bytes, alignment) {
                return Ok((number, offset));
            }
        }
        self.grow(symmetric, heap, bytes, alignment.max(ALIGNMENT))?;
        let number = heap.chunks.len() - 1;
        let taken = heap.chunks[number].1.take(bytes, alignment);
        taken.map(|offset| (number, offset)).ok_or_else(|| no_memory(bytes))
    }

    /// Another chunk, twice as large as the one before, if the limits allow it.
    fn grow(&self, symmetric: &Symmetric, heap: &mut Heap, bytes: usize, alignment: usize) -> Result<()> {
        let has: usize = heap.chunks.iter().map(|(chunk, _)| chunk.bytes).sum();
        let in_use: usize = heap.chunks.iter().map(|(_, blocks)| blocks.usage().1).sum();
        if heap.limit.is_some_and(|limit| has.saturating_add(bytes) > limit) {
            return Err(exhausted(bytes, in_use, "SHMEM_SYMMETRIC_SIZE allows no more"));
        }
        let ranks = self.job().node.local_ranks() as usize;
        if in_use.saturating_add(bytes).saturating_mul(ranks) > all_memory() {
            let why = format!("{ranks} PEs of this machine together would need more than its memory");
            return Err(exhausted(bytes, in_use, &why));
        }
        let least = bytes.saturating_add(ALIGNMENT);
        let last = heap.chunks.last().map_or(0, |(chunk, _)| chunk.bytes);
        let (chunk, blocks) = self.new_chunk(&symmetric.world, least.max(2 * last), least, alignment)?;
        heap.chunks.push((Arc::new(chunk), blocks));
        symmetric.publish(heap);
        Ok(())
    }

    /// The last chunk goes when nothing in it is in use any more, but never the first.
    fn give_block(&self, symmetric: &Symmetric, heap: &mut Heap, (chunk, offset): Where) -> Result<()> {
        heap.chunks[chunk].1.give(offset);
        while heap.chunks.len() > 1 && heap.chunks.last().is_some_and(|(_, blocks)| blocks.is_empty()) {
            let Some((chunk, _)) = heap.chunks.pop() else { break };
            symmetric.publish(heap);
            self.end_chunk(&chunk)?;
        }
        Ok(())
    }

    /// All that this rank has written is where it belongs.
    ///
    /// # Errors
    /// As of [`Engine::order_accesses`].
    pub fn quiet(&self) -> Result<()> {
        self.order_accesses()
    }

    pub(super) fn barrier_of(&self, world: &Arc<Communicator>) -> Result<()> {
        self.run_collective(world, &Operation::Barrier)
    }

    /// Whether the members reach each other's heaps by plain loads and stores. Collective.
    ///
    /// # Errors
    /// What progress reports.
    pub fn share_heaps(&self, symmetric: &Symmetric, communicator: &Arc<Communicator>) -> Result<bool> {
        let reaches_all = {
            let heap = symmetric.heap();
            let exposure = &heap.chunks[0].0.exposure;
            communicator.group.iter().all(|peer| self.region_of(exposure, peer.0).here(0, 1).is_some())
        };
        self.all_say(communicator, reaches_all)
    }

    /// A barrier of ranks that give the same words.
    fn agree(&self, world: &Arc<Communicator>, words: [u64; 2], name: &str) -> Result<()> {
        // The largest, and the complement of the smallest.
        let mut both = [words[0], words[1], !words[0], !words[1]];
        let receive = Data::new(both.as_mut_ptr().cast(), 0, 4, &Datatype::basic(Basic::Uint64))?;
        let operator = Arc::new(Operator::builtin(Builtin::Max)).into();
        self.run_collective(world, &Operation::Allreduce { send: None, receive, operator })?;
        match both == [words[0], words[1], !words[0], !words[1]] {
            true => Ok(()),
            false => {
                let sentence =
                    format!("argument {name}: not all PEs have given the same; this one {}", words[0]);
                Err(Error::new(Class::NotSame, sentence))
            }
        }
    }
}

fn find_block(heap: &Heap, address: *mut u8) -> Result<Where> {
    let address = address as usize;
    let found = heap.chunks.iter().enumerate().find_map(|(number, (chunk, blocks))| {
        let offset = address.checked_sub(chunk.base)?;
        blocks.length(offset).map(|_| (number, offset))
    });
    // The table at the beginning is not the program's.
    found.filter(|&place| place != (0, 0)).ok_or_else(|| {
        let sentence = format!(
            "no block of the symmetric heap begins at {address:#x}: was it freed before, or not allocated there?"
        );
        Error::new(Class::Base, sentence)
    })
}

#[cold]
fn exhausted(bytes: usize, in_use: usize, why: &str) -> Error {
    let sentence =
        format!("the symmetric heap is exhausted: {bytes} bytes are wanted, {in_use} are in use, and {why}");
    Error::new(Class::NoMem, sentence)
}
