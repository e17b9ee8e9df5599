//! Memory of peers that share none with this rank: their transport is asked for it, and it comes later.
//!
//! A rank registers memory for a peer and hands the access descriptor on, in a packet of the message room. The peer
//! fetches it straight into memory of its own. When all of it is there, its transport hands it a packet that it has
//! made itself, in the order of all packets that come: so nobody has to look for completions, and nobody waits for
//! them in another way than for packets.

use super::{AccessDescriptor, Reaches};
use crate::{Class, Error, Result};

/// The packet by which a rank is told that what it has begun is complete. Its payload is empty, or says in words why it
/// has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it means to the message room.
    pub kind: u8,
    /// 16 bytes that the message room reads.
    pub header: [u64; 2],
}

/// Fetching memory of peers. A transport that cannot leaves everything as it is here.
pub trait RemoteMemory: Reaches {
    /// Lets `peer` fetch `bytes` bytes at `address`, which stay as they are until [`RemoteMemory::unregister`]. What it
    /// needs for that has a key; without one it cannot fetch.
    fn register(&mut self, _peer: Self::Peer, _address: *const u8, bytes: u64) -> AccessDescriptor {
        AccessDescriptor::unreachable(bytes)
    }

    /// The peer has what it wanted of memory with a key, or will not want it.
    fn unregister(&mut self, _peer: Self::Peer, _memory: AccessDescriptor) {}

    /// Begins to fetch memory of `peer` into pieces of one's own, `(address, bytes)`, which together have its length.
    ///
    /// # Errors
    /// When it cannot be begun; nothing is told then.
    ///
    /// # Safety
    /// The pieces must be writable memory that nothing else uses until the rank is told. The peer must keep the memory
    /// registered until then.
    unsafe fn fetch(
        &mut self,
        peer: Self::Peer,
        _memory: AccessDescriptor,
        _pieces: &[(usize, usize)],
        _told: Told,
    ) -> Result<()> {
        Err(Error::new(Class::Intern, format!("this transport does not fetch memory of rank {peer}")))
    }

    /// What was to be told so is not wanted any more: the pieces may be used for something else when this returns.
    fn forget_fetches(&mut self, _peer: Self::Peer, _is_meant: &dyn Fn(&Told) -> bool) {}
}
