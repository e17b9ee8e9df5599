//! Memory that ranks offer one another for the time of an operation, and how a peer reads and
//! writes it: by plain loads and stores where both have it mapped, else by what the system allows.

use super::{AccessDescriptor, Means, Reaches};
use crate::memory::cross_memory::Pair;
use crate::{Class, Error, Result};
use std::fmt::Display;

/// Reading and writing what a peer has offered. A transport that reaches into no
/// memory leaves everything as it is here.
pub trait OfferedMemory: Reaches {
    /// By what means any memory of `peer` is reached. Tried at first use. Some
    /// may be reached by better ones: see [`OfferedMemory::direct`].
    fn means(&mut self, _peer: Self::Peer) -> Means {
        Means::Cells
    }

    /// Why [`OfferedMemory::means`] of `peer` are no better, for people; empty if
    /// they are the best, or were not tried.
    fn why_not_better(&self, _peer: Self::Peer) -> String {
        "this transport reaches into no memory".to_owned()
    }

    /// What peers need to reach `bytes` bytes of one's own at `address`, until the operation at hand is
    /// complete.
    fn describe(&mut self, _address: *const u8, bytes: u64) -> AccessDescriptor {
        AccessDescriptor::unreachable(bytes)
    }

    /// Where memory of `peer` lies in this process, if all of it can be read there by plain loads
    /// until the peer's operation with it is complete.
    fn direct(&mut self, _peer: Self::Peer, _memory: AccessDescriptor) -> Option<*const u8> {
        None
    }

    /// The program lends `bytes` bytes of its own at `address` until the
    /// operation at hand is complete, and so many peers will want all of them: they may become
    /// directly readable. Whether they are by now, by plain loads.
    fn lend(&mut self, _address: *const u8, _bytes: u64, _readers: u32) -> bool {
        false
    }

    /// Whether all of this memory of one's own can be read by plain loads.
    fn is_shared(&self, _address: *const u8, _bytes: u64) -> bool {
        false
    }

    /// As [`OfferedMemory::direct`], for writing. If it gives an address,
    /// [`OfferedMemory::end_write`] must follow: the peer cannot fork before.
    fn begin_write(&mut self, _peer: Self::Peer, _memory: AccessDescriptor) -> Option<*mut u8> {
        None
    }

    /// What [`OfferedMemory::begin_write`] began is over.
    fn end_write(&mut self, _peer: Self::Peer) {}

    /// Copies memory of `peer` into pieces of one's own, `(address, bytes)`, which together have its
    /// length. Says by what means.
    ///
    /// # Errors
    /// When it cannot be read; part of it may have been then.
    ///
    /// # Safety
    /// The pieces must be writable memory that nothing else uses meanwhile.
    unsafe fn read(
        &mut self,
        peer: Self::Peer,
        _memory: AccessDescriptor,
        _pieces: &[(usize, usize)],
    ) -> Result<Means> {
        Err(out_of_reach(peer))
    }

    /// Fills memory of `peer` from one's own at `local`.
    ///
    /// # Errors
    /// When it cannot be written.
    ///
    /// # Safety
    /// `local` must be readable for as many bytes; the peer must have offered the memory.
    unsafe fn write(&mut self, peer: Self::Peer, _memory: AccessDescriptor, _local: *const u8) -> Result<()> {
        Err(out_of_reach(peer))
    }

    /// As [`OfferedMemory::read`], of many pieces.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    unsafe fn read_many(&mut self, peer: Self::Peer, pairs: &[Pair]) -> Result<()> {
        pairs.iter().try_for_each(|pair| {
            let memory = AccessDescriptor::host(pair.there, pair.bytes as u64);
            // SAFETY: by the caller.
            unsafe { self.read(peer, memory, &[(pair.here, pair.bytes)]).map(drop) }
        })
    }

    /// As [`OfferedMemory::write`], of many pieces.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    unsafe fn write_many(&mut self, peer: Self::Peer, pairs: &[Pair]) -> Result<()> {
        pairs.iter().try_for_each(|pair| {
            let memory = AccessDescriptor::host(pair.there, pair.bytes as u64);
            // SAFETY: by the caller.
            unsafe { self.write(peer, memory, pair.here as *const u8) }
        })
    }
}

#[cold]
fn out_of_reach(peer: impl Display) -> Error {
    Error::new(Class::Intern, format!("this transport does not reach into the memory of rank {peer}"))
}
