//! What a peer needs to reach memory that a rank offers.
//!
//! The owner's transport makes the descriptor, it travels in the offer, and the peer's transport reads it.
//! On a node the address is enough; a network asks for the key of a registration as well, and a device
//! for the kind of memory.

pub use crate::device::kind::MemoryKind;
use crate::{Class, Error, Result};

/// A range of memory of a rank, as its peers reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessDescriptor {
    /// Where it begins in the owner's process; 0: it cannot be reached.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// By what the owner's transport has registered it; 0 where that does not register.
    pub key: u64,
    /// What memory it is.
    pub kind: MemoryKind,
}

impl AccessDescriptor {
    /// Memory of the host that needs no key.
    #[inline]
    pub const fn host(address: u64, bytes: u64) -> AccessDescriptor {
        AccessDescriptor { address, bytes, key: 0, kind: MemoryKind::HOST }
    }

    /// So many bytes that no peer can reach.
    #[inline]
    pub const fn unreachable(bytes: u64) -> AccessDescriptor {
        AccessDescriptor::host(0, bytes)
    }

    /// Whether it can be reached at all.
    #[inline]
    pub const fn is_reachable(&self) -> bool {
        self.address != 0
    }

    /// Whether it can be fetched into these pieces, `(address, bytes)`.
    ///
    /// # Errors
    /// `Intern` for memory that was not registered, and for pieces of another length.
    pub fn check_fetch(&self, pieces: &[(usize, usize)]) -> Result<()> {
        match self.key != 0 && pieces.iter().map(|piece| piece.1 as u64).sum::<u64>() == self.bytes {
            true => Ok(()),
            false => Err(Error::new(Class::Intern, "memory of a peer is fetched that was not registered")),
        }
    }

    /// `bytes` bytes from `offset` on; they must lie inside.
    #[inline]
    pub const fn part(self, offset: u64, bytes: u64) -> AccessDescriptor {
        debug_assert!(offset + bytes <= self.bytes);
        AccessDescriptor { address: self.address + offset, bytes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_keeps_key_and_kind() {
        let whole = AccessDescriptor { address: 4096, bytes: 100, key: 7, kind: MemoryKind(3) };
        let part = whole.part(60, 40);
        assert_eq!(part, AccessDescriptor { address: 4156, bytes: 40, ..whole });
        assert!(part.is_reachable() && !AccessDescriptor::unreachable(40).is_reachable());
    }
}
