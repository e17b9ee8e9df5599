//! Symmetric memory: what lies at corresponding places in all ranks of a job, so that a rank names the memory of another
//! by an address of its own (OpenSHMEM 1.6 chapter 3).
//!
//! There are two kinds. The *heap* consists of pieces ([`Chunk`]) that all ranks take together; each is an exposure. The
//! *statics* are the variables of the program and its libraries, which are loaded at an address of its own in each rank.
//! Operations are methods of the engine (`engine::symmetric`).
//!
//! # Promises
//! * No size has to be guessed: a piece costs address space, and memory only where it is used. If it is full there is
//!   another one, twice as large.
//! * All ranks make the same calls in the same order, so each knows without asking where the blocks of all others lie.
//! * An address that is not symmetric is an error, and nothing is written then.

mod blocks;
mod objects;

pub(crate) use blocks::Blocks;
pub(crate) use objects::{loaded, Object};

use crate::onesided::{Exposure, Region};
use crate::world::Communicator;
use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A piece of the heap, which begins at another address in each rank.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Where it begins here.
    pub base: usize,
    /// Its length.
    pub bytes: usize,
    /// It begins at a multiple of that in all ranks.
    pub alignment: usize,
    /// The exposure of it.
    pub exposure: Arc<Exposure>,
}

/// What is known about the heap, the same in all ranks.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Each chunk and its blocks.
    pub chunks: Vec<(Arc<Chunk>, Blocks)>,
    /// Lists of chunks that others may still read.
    pub outgrown: Vec<Box<[Arc<Chunk>]>>,
    /// The most bytes of all chunks together.
    pub limit: Option<usize>,
}

/// The symmetric memory of a rank.
#[derive(Debug)]
pub struct Symmetric {
    /// All ranks, in a context of its own.
    pub(crate) world: Arc<Communicator>,
    heap: Mutex<Heap>,
    /// The chunks, for who looks an address up.
    list: AtomicPtr<Box<[Arc<Chunk>]>>,
    pub(crate) statics: Statics,
    /// Locks that this rank holds or waits for: where they lie, and the thread.
    pub(crate) locks: Mutex<HashMap<usize, u64>>,
}

/// Where a rank has each of the objects that this one has.
pub(crate) type Places = Box<[Option<Region>]>;

/// The variables of the program.
#[derive(Debug)]
pub(crate) struct Statics {
    /// By which others are served that cannot reach them.
    pub exposure: Arc<Exposure>,
    /// Those of this rank, by address.
    pub objects: Vec<Object>,
    /// Where they lie in other ranks, found out at first use; in the order of `objects`.
    pub of_peers: Box<[OnceLock<Places>]>,
}

impl Symmetric {
    pub(crate) fn new(world: Arc<Communicator>, heap: Heap, statics: Statics) -> Symmetric {
        let made = Symmetric {
            world,
            heap: Mutex::new(heap),
            list: AtomicPtr::default(),
            statics,
            locks: Mutex::default(),
        };
        made.publish(&mut made.heap());
        made
    }

    /// How many ranks there are.
    #[inline]
    pub fn size(&self) -> u32 {
        self.world.size()
    }

    /// My rank.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.world.rank
    }

    /// All ranks, in a context of its own.
    pub fn world(&self) -> &Arc<Communicator> {
        &self.world
    }

    pub(crate) fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the chunks as they are now to who looks an address up.
    pub(crate) fn publish(&self, heap: &mut Heap) {
        let list: Box<[Arc<Chunk>]> = heap.chunks.iter().map(|(chunk, _)| chunk.clone()).collect();
        let fresh = Box::into_raw(Box::new(list));
        let old = self.list.swap(fresh, Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: made above; who still reads the chunks reads those of `outgrown`.
            heap.outgrown.push(*unsafe { Box::from_raw(old) });
        }
    }

    /// The chunk in which some bytes lie, and where there.
    #[inline]
    pub(crate) fn chunk(&self, address: usize, bytes: usize) -> Option<(&Arc<Chunk>, usize)> {
        // SAFETY: set by `publish`; lists that are replaced live as long as `self`.
        let list = unsafe { &*self.list.load(Ordering::Acquire) };
        list.iter().find_map(|chunk| {
            let offset = address.wrapping_sub(chunk.base);
            (offset < chunk.bytes && bytes <= chunk.bytes - offset).then_some((chunk, offset))
        })
    }
}

impl Drop for Symmetric {
    fn drop(&mut self) {
        // SAFETY: made by `publish`, and nobody looks any more.
        drop(unsafe { Box::from_raw(self.list.load(Ordering::Acquire)) });
    }
}
