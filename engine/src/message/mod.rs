//! Messages: matching, protocols and flow control (MPI-5.0 chapter 3).
//!
//! | size, layout | protocol | copies |
//! |---|---|---|
//! | ≤ 40 bytes, or 1 KiB in an express box | inside the packet; of a synchronous send with a ticket, 8 bytes | 2 |
//! | ≤ [`EAGER_BLOCK`](crate::tuning::crossovers::EAGER_BLOCK), in shared memory | the receiver reads it at once, wanted or not | 1, or 2 if not wanted yet |
//! | ≤ [`EAGER_BLOCK`](crate::tuning::crossovers::EAGER_BLOCK), one block | in cells of the sender, while both sides copy (`Payloads::push_block`) | 2 |
//! | ≤ [`EAGER_BYTES`] | in a packet with a long payload (`Payloads`): on a node, a cell of the sender | 2 |
//! | larger, sender's data in one block, memory reachable | the receiver copies (`rendezvous`), big ones both sides (`together`); or as below, if a sample says so (`sample`) | 1 |
//! | otherwise | the sender copies, in parts (`stream`) | 2, no staging |
//!
//! Flow control: payload of small messages lies in memory of the sender until the
//! receiver wants it; when that is used up, the message stays in the sender's
//! memory and only an offer travels. A receiver holds some 100 bytes for a message
//! that it has not asked for, and the payload of up to 1 MiB of them.

mod aside;
pub mod buffer;
mod collective;
mod device_messages;
mod device_streams;
pub mod failed;
pub mod groups;
mod in_groups;
pub mod later;
pub mod letter;
mod many;
mod matching;
mod outbox;
pub mod partitioned;
mod passed_memory;
mod persistent;
mod piece_descriptors;
mod placed;
pub mod probe;
pub(crate) mod progress_sources;
mod receive;
mod rendezvous;
mod rounds;
mod sample;
mod send;
mod stream;
mod telling_unfetched;
mod together;
pub mod turn;
mod unexpected;
pub(crate) mod unfetched;
pub mod wire;
mod with_host_copies;
mod withdraw;
pub mod work;

pub(crate) use aside::Aside;
pub use buffer::Buffer;
pub use matching::{Matching, Posted};
pub(crate) use piece_descriptors::{listen_for_descriptors, pass_descriptors, take_descriptor};
pub(crate) use sample::Samples;
pub use unexpected::Found;
pub use wire::Envelope;

/// Special ranks and tags are below this, so that any other negative number of
/// a program can be told as it is.
pub const SPECIAL_BELOW: i32 = i32::MIN + 8;
/// The null process: communication with it does nothing (MPI-5.0 §3.10).
pub const PROC_NULL: i32 = i32::MIN + 1;
/// A receive from any source.
pub const ANY_SOURCE: i32 = i32::MIN + 2;
/// As a root in an intercommunicator: this process is it (MPI-5.0 §6.2.3).
pub const ROOT: i32 = i32::MIN + 3;
/// A receive with any tag.
pub const ANY_TAG: i32 = i32::MIN + 1;
/// The largest tag.
pub const TAG_UPPER_BOUND: i32 = i32::MAX;
/// Messages up to this size are sent at once, if there is memory to load them.
pub const EAGER_BYTES: u64 = 32 << 10;
/// The same over a network, where an answer takes longer than a copy.
pub const EAGER_FAR_BYTES: u64 = 64 << 10;

/// The modes of sending (MPI-5.0 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// May be buffered.
    Standard,
    /// Standard, and the caller waits for its end before it does anything else.
    Blocking,
    /// Completes only when the receive has begun.
    Synchronous,
    /// The receive is already there (treated as standard).
    Ready,
    /// Always buffered.
    Buffered,
}
