//! Tasks of two ranks: one opens it, and each of them claims parts and does them, until all are done.
//!
//! Both know the number of bytes. Exactly one of them is told that the part which it has done was the
//! last; it tells the other. Until then the task is open, and a claimed part keeps it from being done.

use super::{Plain, Reaches};

/// A task, as its owner names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    /// Which of those that can be open at a time.
    pub number: u32,
    /// Tells it from those that had the number before.
    pub generation: u32,
}

// SAFETY: two integers, no padding.
unsafe impl Plain for Task {}

/// Sharing tasks with ranks that see the same memory. A transport without such ranks leaves
/// everything as it is here.
pub trait SharedTasks: Reaches {
    /// Opens a task of one's own; `None` if too many are open, or the transport has none.
    fn open_task(&mut self) -> Option<Task> {
        None
    }

    /// Claims the next part of a task of `owner` over `bytes` bytes: its offset and length. `None` if all
    /// are claimed, or the task is over.
    fn claim_part(&self, _owner: Self::Peer, _task: Task, _bytes: u64) -> Option<(u64, u64)> {
        None
    }

    /// A part of `part` bytes is done; `true` if it was the last.
    fn part_is_done(&self, _owner: Self::Peer, _task: Task, _part: u64, _bytes: u64) -> bool {
        false
    }

    /// All of it is done, and both know it.
    fn close_task(&mut self, _task: Task) {}
}
