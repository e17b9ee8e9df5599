//! Memory that ranks of a node expose to one another for long: peers use it at any time, by plain loads and stores where
//! both have it mapped.

use super::{AccessDescriptor, Reaches};
use crate::memory::window::{Children, Opened};
use crate::progress::changes::Changes;
use crate::progress::watchers::Bell;

/// Exposing memory, and reaching what a peer has exposed.
pub trait ExposedMemory: Reaches {
    /// Lets peers use memory of one's own for long, at any time: the part of it that they reach by plain loads and
    /// stores until [`ExposedMemory::unexpose`].
    fn expose(&mut self, address: *mut u8, bytes: u64, children: Children) -> Opened;

    /// Ends what [`ExposedMemory::expose`] began, which gave `opened`.
    fn unexpose(&mut self, address: *mut u8, bytes: u64, opened: Opened);

    /// Where memory of `peer` lies in this process that it has opened (at [`Opened::at`]), for as
    /// long as it is.
    fn exposed(&mut self, peer: Self::Peer, memory: AccessDescriptor) -> Option<*mut u8>;

    /// How this rank changes memory of `peer` by atomic instructions or under a lock, beside others.
    fn changes(&self, peer: Self::Peer) -> Option<Changes>;

    /// How this rank tells `peer` that it has changed its memory.
    fn bell(&self, peer: Self::Peer) -> Option<Bell>;
}
