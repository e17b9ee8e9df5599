//! A word that the members of a communicator share: the shared pointer of a file.
//!
//! It lies in the blocks area of rank 0. On one node all reach it there. If members are on several nodes, the server of
//! rank 0's node changes it for the others, whatever rank 0 does; only rank 0 tells it so. Where there are no servers, rank
//! 0 exposes the word as a window does, and its servant changes it.

use super::onesided::Memory;
use super::Engine;
use crate::collective::node::{ControlBlock, Shape};
use crate::file::{NearWord, Shared, Team};
use crate::onesided::{Control, Entry, Exposure, Farewell, Region, Segment, Servant, Told};
use crate::world::Communicator;
use crate::{Class, Result};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Bytes of the word.
const BYTES: usize = size_of::<u64>();
/// Memory for words is lent in cache lines.
const LINE: usize = 64;
/// A word that is served lies behind the control words of its only member.
const WORD_AT: usize = Control::bytes(1).next_multiple_of(LINE);

impl Engine {
    /// A word that all members share, zero at first; nothing if rank 0 has no memory for it. Collective.
    ///
    /// # Errors
    /// What goes wrong with messages.
    pub(super) fn share_word(
        &self,
        communicator: &Arc<Communicator>,
        team: &dyn Team,
    ) -> Result<Option<Box<dyn Shared>>> {
        if (0..communicator.size()).all(|member| self.local_rank(communicator, member).is_some()) {
            return self.lend_word(communicator, team);
        }
        let Some(engine) = self.for_ever() else { return Ok(None) };
        match self.serve_word(engine, communicator, team)? {
            Some(word) => Ok(Some(word)),
            None => self.expose_word(engine, communicator),
        }
    }

    /// A word that all members reach.
    fn lend_word(
        &self,
        communicator: &Arc<Communicator>,
        team: &dyn Team,
    ) -> Result<Option<Box<dyn Shared>>> {
        let (shape, lends) = (Shape::new(1), communicator.rank == 0);
        let mut told = [0u64];
        if lends {
            told[0] = self.pool().lend(shape).map_or(0, |offset| offset as u64 + 1);
        }
        team.tell(0, &mut told)?;
        let first = self.local_rank(communicator, 0);
        let (Some(offset), Some(first)) = (told[0].checked_sub(1), first) else { return Ok(None) };
        // SAFETY: rank 0 has lent this part of its area, as a block of this shape, until it leaves it.
        let block =
            unsafe { ControlBlock::new(self.job.node.blocks_area(first.0).add(offset as usize), shape) };
        let word = block.at(shape.first_place()).cast();
        Ok(Some(Box::new(NearWord::new(OfBlock { word, block, lends }))))
    }

    /// A word that the server of rank 0's node changes for those who do not reach it; nothing if not all have servers, or
    /// rank 0 has no memory.
    fn serve_word(
        &self,
        engine: &'static Engine,
        communicator: &Arc<Communicator>,
        team: &dyn Team,
    ) -> Result<Option<Box<dyn Shared>>> {
        let (context, region) = (communicator.context(), self.region_of_word(communicator));
        let has_server = self.has_server() && communicator.group.iter().all(|rank| !rank.is_foreign());
        let farewell = Arc::new(Farewell::new(communicator));
        let mut word = ServedWord { engine, context, lent: None, region, known: AtomicU64::new(0), farewell };
        let mut is_there = has_server;
        if communicator.rank == 0 && has_server {
            is_there = self.enter_word(&mut word)?;
        }
        let told = team.gather(&[u64::from(is_there), word.lent.map_or(0, |offset| offset as u64)])?;
        if told.chunks(2).any(|one| one[0] == 0) {
            word.take_back()?;
            return Ok(None);
        }
        self.keep_until_freed(&word.farewell, None);
        if let Some(local) = self.local_rank(communicator, 0) {
            word.region.lies_at(self.job.node.blocks_area(local.0) as usize + told[1] as usize + WORD_AT);
        }
        Ok(Some(Box::new(word)))
    }

    /// The word of a communicator, as a rank of another node knows it.
    fn region_of_word(&self, communicator: &Communicator) -> Region {
        let job_rank = communicator.group.job_rank(0);
        let servant = Servant {
            context: communicator.context(),
            me: communicator.rank,
            member: 0,
            job_rank,
            node: Some(self.node_of(job_rank)),
            may_answer_late: false,
            takes_blocks: false,
            takes_long: false,
        };
        let peer = self.local_rank(communicator, 0).map(|_| job_rank);
        let entry = Entry { address: 0, bytes: BYTES as u64, ..Entry::default() };
        self.open_region(peer, servant, entry, (communicator.rank == 0, false))
    }

    /// Rank 0 lends the word and tells the server of its node; whether that can serve it.
    fn enter_word(&self, word: &mut ServedWord) -> Result<bool> {
        let Some(offset) = self.pool().lend_plain(WORD_AT + LINE) else { return Ok(false) };
        word.lent = Some(offset);
        let segment = Segment { address: 0, bytes: BYTES as u64, unit: 1 };
        let (control, block) = (1 + offset as u64, 1 + (offset + WORD_AT) as u64);
        let is_entered =
            self.enter_alone(word.context, Told { segment, control, block, ..Told::default() })?;
        if !is_entered {
            self.pool().take_back(offset);
            word.lent = None;
        }
        Ok(is_entered)
    }

    /// A word that the servant of rank 0 changes for those who do not reach it.
    fn expose_word(
        &self,
        engine: &'static Engine,
        communicator: &Arc<Communicator>,
    ) -> Result<Option<Box<dyn Shared>>> {
        let bytes = if communicator.rank == 0 { BYTES } else { 0 };
        match self.expose(communicator, Memory::Allocated(bytes as i64), 1) {
            Ok(exposure) => {
                exposure.communicator().set_name(&format!("the shared pointer of {}", communicator.name()));
                Ok(Some(Box::new(ExposedWord { engine, exposure, known: AtomicU64::new(0) })))
            }
            Err(error) if error.class() == Class::NoMem => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts `new` in the place of `expected` in a word.
    fn swap_in(&self, region: &Region, (expected, new): (u64, u64), known: &AtomicU64) -> Result<u64> {
        let mut was = 0u64;
        let items = ((&raw const new).cast(), (&raw const expected).cast(), (&raw mut was).cast());
        // SAFETY: three words of this function; the region has one.
        unsafe { self.swap(region, (0, BYTES), items)? };
        known.store(if was == expected { new } else { was }, Relaxed);
        Ok(was)
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

/// A word of rank 0 that its node's server serves.
struct ServedWord {
    engine: &'static Engine,
    context: u64,
    /// Of rank 0: where the memory of the word lies in its blocks area.
    lent: Option<usize>,
    region: Region,
    /// What the word was last, as far as this member knows.
    known: AtomicU64,
    /// Who needs it no more.
    farewell: Arc<Farewell>,
}

impl ServedWord {
    /// Rank 0 takes the word back from the server of its node.
    fn take_back(&self) -> Result<()> {
        let Some(offset) = self.lent else { return Ok(()) };
        self.engine.leave_alone(self.context)?;
        self.engine.pool().take_back(offset);
        Ok(())
    }
}

impl Shared for ServedWord {
    fn guess(&self) -> u64 {
        self.known.load(Relaxed)
    }

    fn swap(&self, expected: u64, new: u64) -> Result<u64> {
        self.engine.swap_in(&self.region, (expected, new), &self.known)
    }

    fn give_back(&self) -> Result<()> {
        if self.engine.job().node.goes_on_without_ranks() {
            self.engine.leave_together(&self.farewell)?;
        }
        self.engine.end_farewell(&self.farewell);
        self.take_back()
    }
}

/// A word of the first member of an exposure.
struct ExposedWord {
    engine: &'static Engine,
    exposure: Arc<Exposure>,
    known: AtomicU64,
}

impl Shared for ExposedWord {
    fn guess(&self) -> u64 {
        self.known.load(Relaxed)
    }

    fn swap(&self, expected: u64, new: u64) -> Result<u64> {
        self.engine.swap_in(self.engine.region_of(&self.exposure, 0), (expected, new), &self.known)
    }

    fn give_back(&self) -> Result<()> {
        self.engine.unexpose(&self.exposure)
    }
}
