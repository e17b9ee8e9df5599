//! How bytes move between ranks: the waist.
//!
//! A transport carries packets ([`Packets`]) and payloads too long for them ([`Payloads`]), and reaches into
//! the memory that a peer has offered ([`OfferedMemory`], [`Offers`]). Where two ranks see the same memory it
//! lets them share a task ([`SharedTasks`]). It knows no communicator, no tag and no request: the message
//! room gives those bytes their meaning. The traits and their types know no transport.

mod access_descriptor;
mod arrivals;
#[cfg(test)]
mod conformance;
mod means;
pub mod node;
mod offered_memory;
mod offers;
mod packets;
mod payloads;
mod shared_tasks;
mod short_copy;

pub use access_descriptor::{AccessDescriptor, MemoryKind};
pub use arrivals::{Arrivals, PLACES};
pub use means::Means;
pub use offered_memory::OfferedMemory;
pub use offers::Offers;
pub use packets::{
    Arrival, Letter, Packet, Packets, Plain, INLINE_BYTES, LETTER_BYTES, LONG_LETTER_BYTES, OWN_KINDS,
};
pub use payloads::{Load, Payloads, Retained, Source};
pub use shared_tasks::{SharedTasks, Task};
