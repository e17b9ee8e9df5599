//! Collectives of ranks that share a node, over shared memory.
//!
//! A communicator whose members are all on the node gets a [`Block`] after its
//! first few operations: its rank 0 lends one ([`pool`]) and tells the others by
//! a message. If there is none to lend, the communicator stays with messages.
//! Each member has a [`Seat`] there.
//!
//! Every operation here has the same shape: write what I contribute into my
//! place, arrive, wait for those whose data I need, read. A reduction is combined
//! by everybody who needs it, along the tree of `tree.rs`, so its bits are those
//! of the message forms. Nonblocking and persistent operations are the same forms,
//! left where they have to wait, at blocks of their own ([`Later`]), because a block
//! counts operations. Both may be mixed, for they never match each other (MPI-5.0 §6.12).
//!
//! What is too long for a slot goes straight between the buffers of the program
//! ([`large`]), or by messages where the members cannot reach each other's memory.

mod begun;
mod behind;
mod block;
mod combine;
mod direction;
mod exchange;
mod forms;
mod helped;
mod items;
mod large;
mod later;
mod lent;
mod offers;
mod pair;
pub mod pool;
mod prefix;
mod pushed;
mod reach;
mod rooted;
mod scattered;
mod seat;
mod share;
mod swap;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod whole;

pub use block::{Block, Shape, Until, MOST_MEMBERS};
pub use forms::{fits, run};
pub use large::{can, run as run_large, wants};
pub use later::{at_once, Later, Places, Stand};
pub use later::{FIRST_WITHOUT_PLACES, MOST_MEMBERS_WITH_PLACES, MOST_PLACES};
pub use pool::Pool;
pub use reach::{Plain, Reach, Reaches, Room};
pub use seat::{Place, Seat, Wait};

/// Operations of a communicator that go by messages before it asks for a block:
/// one that is freed soon shall not pay for it.
pub const FIRST_BY_MESSAGES: u32 = 2;
