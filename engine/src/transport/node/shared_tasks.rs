//! Tasks that two ranks of a node share, by a block in shared memory.
//!
//! # Rules
//! The owner has a block with a claim word (generation and next part) and a count of bytes done. Both ranks
//! claim parts by moving the claim word on; the one that has claimed a part does it and then adds its bytes to
//! `done`. The one whose addition makes `done` equal to the whole knows that all is done; exactly one does. A
//! generation is used once: a rank that comes late finds another one in the claim word and claims
//! nothing. A claimed part keeps `done` short of the whole until it is done, so the block stays until
//! nobody touches it.

use super::NodeTransport;
use crate::transport::{SharedTasks, Task};
use crate::LocalRank;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tasks that a rank can have open at a time.
pub const TASKS: usize = 64;
/// Bytes that are claimed at a time, at least and at most.
const PART_BYTES: (u64, u64) = (32 << 10, 256 << 10);

/// The words of a task.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct TaskBlock {
    /// Generation (upper 32 bits) and next part (lower 32 bits).
    claim: AtomicU64,
    /// Bytes done so far.
    done: AtomicU64,
}

/// The tasks of a rank: which are free, and the generation of the last.
#[derive(Debug)]
pub struct Tasks {
    free: Vec<u32>,
    generation: u32,
}

impl Default for Tasks {
    fn default() -> Self {
        Tasks { free: (0..TASKS as u32).collect(), generation: 0 }
    }
}

/// Bytes of the parts of a task over `bytes` bytes: two to four parts, so that a rank that comes late
/// still finds one; more of a long one.
fn part_of(bytes: u64) -> u64 {
    (bytes / 4).next_multiple_of(4096).clamp(PART_BYTES.0, PART_BYTES.1)
}

impl TaskBlock {
    fn open(&self, generation: u32) {
        self.done.store(0, Ordering::Relaxed);
        self.claim.store((generation as u64) << 32, Ordering::Release); // shared-task: paired with `claim`
    }

    fn claim(&self, generation: u32, bytes: u64) -> Option<(u64, u64)> {
        let part_bytes = part_of(bytes);
        let mut word = self.claim.load(Ordering::Acquire); // shared-task: paired with `open`
        loop {
            let part = word & 0xffff_ffff;
            let offset = part * part_bytes;
            if (word >> 32) as u32 != generation || offset >= bytes {
                return None;
            }
            match self.claim.compare_exchange_weak(word, word + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some((offset, part_bytes.min(bytes - offset))),
                Err(now) => word = now,
            }
        }
    }

    fn part_is_done(&self, part: u64, bytes: u64) -> bool {
        self.done.fetch_add(part, Ordering::AcqRel) + part == bytes
    }
}

impl SharedTasks for NodeTransport {
    fn open_task(&mut self) -> Option<Task> {
        let number = self.tasks.free.pop()?;
        self.tasks.generation = self.tasks.generation.wrapping_add(1);
        let generation = self.tasks.generation;
        self.own.task(number).open(generation);
        Some(Task { number, generation })
    }

    fn claim_part(&self, LocalRank(owner): LocalRank, task: Task, bytes: u64) -> Option<(u64, u64)> {
        self.area_of(owner).task(task.number).claim(task.generation, bytes)
    }

    fn part_is_done(&self, LocalRank(owner): LocalRank, task: Task, part: u64, bytes: u64) -> bool {
        self.area_of(owner).task(task.number).part_is_done(part, bytes)
    }

    fn close_task(&mut self, task: Task) {
        self.tasks.free.push(task.number);
    }
}
