//! The means by which a process reaches into the memory of another.

use crate::observe::page::{add_together, Counters};

/// By what means this process reaches into the memory of a peer, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The peer's memory is mapped here: the process itself, and memory in the
    /// peer's window as far as it is shared.
    Direct,
    /// The kernel copies between the two processes in one call.
    CrossMemory,
    /// The kernel reads a file that is the memory of the peer.
    MemoryFile,
    /// Not at all: the owner has to copy through cells.
    Cells,
}

impl Means {
    /// Counts bytes that were copied between two processes by it.
    #[inline]
    pub fn count(self, counters: &Counters, bytes: u64) {
        let counter = match self {
            Means::Direct => &counters.bytes_direct,
            Means::CrossMemory => &counters.bytes_cross_memory,
            Means::MemoryFile => &counters.bytes_memory_file,
            Means::Cells => &counters.bytes_cells,
        };
        add_together(counter, bytes);
    }
}
