//! Collectives of ranks that share a node, over shared memory.
//!
//! A communicator whose members are all on the node gets a [`ControlBlock`] after its
//! first few operations: its rank 0 lends one ([`Pool`]) and tells the others by
//! a message. If there is none to lend, the communicator stays with messages.
//! Each member has its own view of it ([`Member`]).
//!
//! Every operation here has the same shape: write what I contribute into my
//! place, arrive, wait for those whose data I need, read. A reduction is combined
//! by everybody who needs it, along the tree of `tree.rs`, so its bits are those
//! of the message forms. Nonblocking and persistent operations are the same forms,
//! left where they have to wait, at blocks of their own ([`Task`]), because a block
//! counts operations. Both may be mixed, for they never match each other (MPI-5.0 §6.12).
//!
//! Payload that is too long for a slot goes straight between the buffers of the program
//! (`algorithm/zero_copy.rs`), or by messages where the members cannot reach each other's memory.

mod algorithm;
mod buffer;
mod copying;
mod nonblocking;
mod protocol;
mod reduction;
#[cfg(test)]
mod tests;
mod work_sharing;

pub use super::scratch::Scratch;
pub use algorithm::slots::{fits, run};
pub use algorithm::zero_copy::{can, run as run_large, wants};
pub use buffer::peer_memory::{PeerMemory, Reachable};
pub use nonblocking::{Places, Task};
pub use nonblocking::{FIRST_WITHOUT_PLACES, MOST_MEMBERS_WITH_PLACES, MOST_PLACES};
pub use protocol::access::Access;
pub use protocol::control_block::ControlBlock;
pub use protocol::member::{Endpoint, Member};
pub use protocol::party::Party;
pub use protocol::pool::{self, Pool};
pub use protocol::shape::{Shape, MOST_MEMBERS};
pub use protocol::until::Until;
pub use protocol::wait::{at_once, Wait};

/// Operations of a communicator that go by messages before it asks for a block:
/// one that is freed soon shall not pay for it.
pub const FIRST_BY_MESSAGES: u32 = 2;
