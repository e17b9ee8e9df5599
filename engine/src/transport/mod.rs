//! How bytes move between ranks: the waist.
//!
//! A transport carries packets ([`Packets`]) and payloads too long for them ([`Payloads`]), and reaches into
//! the memory that a peer has offered ([`OfferedMemory`], [`Offers`]). Where two ranks see the same memory it
//! lets them share a task ([`SharedTasks`]), or use memory for long ([`ExposedMemory`]). It knows no communicator, no tag and no request: the message
//! room gives those bytes their meaning. The traits and their types know no transport.
//!
//! The engine has one transport, [`Routed`], which names ranks as the job does. It knows the [`Route`] to
//! each rank and hands what is for that rank to the transport that goes there.

mod access_descriptor;
mod arrival_words;
#[cfg(test)]
mod conformance;
mod exposed_memory;
pub mod fabric;
pub mod loopback;
mod means;
pub mod multicast;
pub mod network;
pub mod node;
mod offered_memory;
mod offers;
mod packets;
mod payloads;
mod remote_memory;
mod route;
mod routed;
mod routed_memory;
mod shared_tasks;
pub(crate) mod short_copy;
pub mod wire;

pub use access_descriptor::{AccessDescriptor, MemoryKind};
pub use arrival_words::{Arrivals, Ready, PLACES};
pub use exposed_memory::ExposedMemory;
pub use means::Means;
pub use offered_memory::OfferedMemory;
pub use offers::Offers;
pub use packets::{
    Arrival, Letter, Packet, Packets, Plain, INLINE_BYTES, LETTER_BYTES, LONG_LETTER_BYTES, OWN_KINDS,
};
pub use payloads::{Load, Payloads, Retained, Source};
pub use remote_memory::{RemoteMemory, Told};
pub use route::{Reaches, Route, Routes};
pub use routed::Routed;
pub use shared_tasks::{SharedTasks, Task};
