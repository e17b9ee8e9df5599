//! A word that the members of a communicator share: the shared pointer of a file.
//!
//! On one node it lies in a block of the node segment, where all reach it. If members are on several nodes, rank 0
//! exposes it as a window does: its node's server, or its servant, changes it for the others while it computes.

use super::onesided::Memory;
use super::Engine;
use crate::collective::node::{ControlBlock, Shape};
use crate::collective::{Data, Operation, Root};
use crate::datatype::{Basic, Datatype};
use crate::file::{NearWord, Shared};
use crate::onesided::Exposure;
use crate::world::Communicator;
use crate::{Class, Result};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Bytes of the word.
const BYTES: usize = size_of::<u64>();

impl Engine {
    /// A word that all members share, zero at first; nothing if rank 0 has no memory for it. Collective.
    ///
    /// # Errors
    /// What goes wrong with messages.
    pub(super) fn share_word(&self, communicator: &Arc<Communicator>) -> Result<Option<Box<dyn Shared>>> {
        match (0..communicator.size()).all(|member| self.local_rank(communicator, member).is_some()) {
            true => self.lend_word(communicator),
            false => self.expose_word(communicator),
        }
    }

    /// A word that all members reach.
    fn lend_word(&self, communicator: &Arc<Communicator>) -> Result<Option<Box<dyn Shared>>> {
        let (shape, lends) = (Shape::new(1), communicator.rank == 0);
        let mut told = [0u64];
        if lends {
            told[0] = self.pool().lend(shape).map_or(0, |offset| offset as u64 + 1);
        }
        if communicator.size() > 1 {
            let packed = Datatype::basic(Basic::Packed);
            let data = Data::new(told.as_mut_ptr().cast(), 0, BYTES as i64, &packed)?;
            self.run_collective(communicator, &Operation::Broadcast { root: Root::Rank(0), data })?;
        }
        let first = self.local_rank(communicator, 0);
        let (Some(offset), Some(first)) = (told[0].checked_sub(1), first) else { return Ok(None) };
        // SAFETY: rank 0 has lent this part of its area, as a block of this shape, until it leaves it.
        let block =
            unsafe { ControlBlock::new(self.job.node.blocks_area(first.0).add(offset as usize), shape) };
        let word = block.at(shape.first_place()).cast();
        Ok(Some(Box::new(NearWord::new(OfBlock { word, block, lends }))))
    }

    /// A word that a server or a servant changes for those who do not reach it.
    fn expose_word(&self, communicator: &Arc<Communicator>) -> Result<Option<Box<dyn Shared>>> {
        let Some(engine) = self.for_ever() else { return Ok(None) };
        let bytes = if communicator.rank == 0 { BYTES } else { 0 };
        match self.expose(communicator, Memory::Allocated(bytes as i64), 1) {
            Ok(exposure) => {
                exposure.communicator().set_name(&format!("the shared pointer of {}", communicator.name()));
                Ok(Some(Box::new(FarWord { engine, exposure, known: AtomicU64::new(0) })))
            }
            Err(error) if error.class() == Class::NoMem => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// One slot of a block, which rank 0 leaves when it is dropped.
struct OfBlock {
    word: *const AtomicU64,
    block: ControlBlock,
    lends: bool,
}

// SAFETY: the word is atomic; the block is used once, to say that it is left, by an atomic.
unsafe impl Send for OfBlock {}
// SAFETY: as above.
unsafe impl Sync for OfBlock {}

impl Deref for OfBlock {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        // SAFETY: a slot is aligned and zero at first, and the node segment lives for ever; files are closed together.
        unsafe { &*self.word }
    }
}

impl Drop for OfBlock {
    fn drop(&mut self) {
        if self.lends {
            self.block.leave();
        }
    }
}

/// A word of the first member of an exposure.
struct FarWord {
    engine: &'static Engine,
    exposure: Arc<Exposure>,
    /// What it was last, as far as this member knows.
    known: AtomicU64,
}

impl Shared for FarWord {
    fn guess(&self) -> u64 {
        self.known.load(Relaxed)
    }

    fn swap(&self, expected: u64, new: u64) -> Result<u64> {
        let region = self.engine.region_of(&self.exposure, 0);
        let mut was = 0u64;
        let items = ((&raw const new).cast(), (&raw const expected).cast(), (&raw mut was).cast());
        // SAFETY: three words of this function; rank 0 exposes one.
        unsafe { self.engine.swap(region, (0, BYTES), items)? };
        self.known.store(if was == expected { new } else { was }, Relaxed);
        Ok(was)
    }

    fn give_back(&self) -> Result<()> {
        self.engine.unexpose(&self.exposure)
    }
}
