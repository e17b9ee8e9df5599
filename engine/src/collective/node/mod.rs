//! Small collectives of ranks that share a node, over shared memory.
//!
//! A communicator whose members are all on the node gets a [`Block`] after its
//! first few operations: its rank 0 lends one ([`pool`]) and tells the others by
//! a message. If there is none to lend, the communicator stays with messages.
//! Each member has a [`Seat`] there.
//!
//! Every operation here has the same shape: write what I contribute into my
//! place, arrive, wait for those whose data I need, read. A reduction is combined
//! by everybody who needs it, along the tree of `tree.rs`, so its bits are those
//! of the message forms. Blocking operations come here. Nonblocking and
//! persistent ones run as messages: several of them may be under way at once and
//! persistent ones may be started in any order, while a block counts operations.
//! Both may be mixed, for they never match each other (MPI-5.0 §6.12).
//!
//! What is too long for a slot goes by messages too. A mark has room for the
//! address and length of a buffer: that is how long payload will be read straight
//! from the memory of the others, with the same epochs.

mod block;
mod combine;
mod forms;
pub mod pool;
mod seat;
#[cfg(test)]
mod tests;

pub use block::{Block, Shape, Until, MOST_MEMBERS};
pub use forms::{fits, run};
pub use pool::Pool;
pub use seat::{Seat, Wait};

/// Operations of a communicator that go by messages before it asks for a block:
/// one that is freed soon shall not pay for it.
pub const FIRST_BY_MESSAGES: u32 = 2;
