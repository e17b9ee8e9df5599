//! What a member exposes of the memory of devices, as its driver knows it. The face has found it when it was exposed; it
//! holds as long as it is exposed, since a program keeps exposed memory.

use crate::device::DeviceMemory;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pieces that this member exposes in one exposure: where each begins, and whose memory it is.
#[derive(Debug, Default)]
pub struct DevicePieces(Mutex<Vec<(u64, DeviceMemory)>>);

impl DevicePieces {
    fn list(&self) -> MutexGuard<'_, Vec<(u64, DeviceMemory)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece is exposed.
    pub fn add(&self, address: u64, memory: DeviceMemory) {
        self.list().push((address, memory));
    }

    /// It is not any more.
    pub fn remove(&self, address: u64) {
        self.list().retain(|one| one.0 != address);
    }

    /// The memory of the piece that begins at an address.
    pub fn at(&self, address: u64) -> Option<DeviceMemory> {
        self.list().iter().find(|one| one.0 == address).map(|one| one.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryKind;

    #[test]
    fn a_piece_is_known_as_long_as_it_is_exposed() {
        let memory = |number| DeviceMemory {
            kind: MemoryKind::CUDA,
            first: 4096,
            bytes: 512,
            number,
            device: 0,
            context: 7,
        };
        let pieces = DevicePieces::default();
        pieces.add(4096, memory(1));
        pieces.add(4352, memory(2));
        assert_eq!(pieces.at(4352), Some(memory(2)));
        pieces.remove(4096);
        assert_eq!((pieces.at(4096), pieces.at(4100)), (None, None));
        pieces.add(4096, memory(3));
        assert_eq!(pieces.at(4096), Some(memory(3)));
    }
}
