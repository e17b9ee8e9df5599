//! What a member exposes of the memory of devices, as its driver knows it. The face has found it when it was exposed; it
//! holds as long as it is exposed, since a program keeps exposed memory.

use crate::device::DeviceMemory;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A piece: where it begins, whose memory it is, and 1 + where others are told how to map it (0: nowhere).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePiece {
    pub address: u64,
    pub memory: DeviceMemory,
    pub lent: u64,
}

/// Pieces that this member exposes in one exposure.
#[derive(Debug, Default)]
pub struct DevicePieces(Mutex<Vec<DevicePiece>>);

impl DevicePieces {
    fn list(&self) -> MutexGuard<'_, Vec<DevicePiece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece is exposed.
    pub fn add(&self, piece: DevicePiece) {
        self.list().push(piece);
    }

    /// The one at an address is not any more.
    pub fn remove(&self, address: u64) -> Option<DevicePiece> {
        let mut list = self.list();
        let place = list.iter().position(|one| one.address == address)?;
        Some(list.swap_remove(place))
    }

    /// None is any more: they were these.
    pub fn take_all(&self) -> Vec<DevicePiece> {
        std::mem::take(&mut self.list())
    }

    /// The memory of the piece that begins at an address.
    pub fn at(&self, address: u64) -> Option<DeviceMemory> {
        self.list().iter().find(|one| one.address == address).map(|one| one.memory)
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
        let piece = |address, number| DevicePiece { address, memory: memory(number), lent: 0 };
        let pieces = DevicePieces::default();
        pieces.add(piece(4096, 1));
        pieces.add(piece(4352, 2));
        assert_eq!(pieces.at(4352), Some(memory(2)));
        assert_eq!(pieces.remove(4096), Some(piece(4096, 1)));
        assert_eq!((pieces.at(4096), pieces.at(4100)), (None, None));
        pieces.add(piece(4096, 3));
        assert_eq!(pieces.at(4096), Some(memory(3)));
    }
}
