//! Memory that an operation owns while it runs, perhaps within reach of other ranks.

use super::temporary::Temporary;
use crate::memory::bounce::Bounce;

/// Memory that an operation owns while it runs.
pub struct Scratch(Memory);

enum Memory {
    Heap(Temporary),
    Bounce(Bounce),
}

impl Scratch {
    /// Where it begins.
    pub fn address(&self) -> *mut u8 {
        match &self.0 {
            Memory::Heap(heap) => heap.address(),
            Memory::Bounce(bounce) => bounce.address(),
        }
    }

    /// How many bytes it has, at least.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Memory::Heap(heap) => heap.bytes(),
            Memory::Bounce(bounce) => bounce.bytes(),
        }
    }
}

impl From<Bounce> for Scratch {
    fn from(bounce: Bounce) -> Scratch {
        Scratch(Memory::Bounce(bounce))
    }
}

impl From<Temporary> for Scratch {
    fn from(heap: Temporary) -> Scratch {
        Scratch(Memory::Heap(heap))
    }
}
