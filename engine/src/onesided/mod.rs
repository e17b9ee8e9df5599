//! One-sided operations: memory that ranks expose to others, and what those do there
//! alone (MPI-5.0 chapter 12; OpenSHMEM and ARMCI mean the same).
//!
//! An [`Exposure`] is made by all members of a communicator together; each exposes a
//! [`Segment`] of its memory, or attaches memory later. A [`Target`] names a place in
//! the segment of a member. The operations and the synchronisation are methods of the
//! engine (`engine::onesided`).
//!
//! # Promises
//! * On a node the origin does all of an operation by itself: the target may compute,
//!   sleep or be stopped. Where it cannot reach the target's memory, the target does it whenever it
//!   makes progress.
//! * Accumulates, fetches and swaps are atomic for each element, against each other
//!   whatever the operator, and done before the call returns, so in the order of the calls.
//! * Whatever is wrong with an argument is an error, and nothing is written then.

mod addresses;
mod assertions;
mod atomic_word;
mod attached;
mod control;
mod device_pieces;
mod epochs;
mod exposure;
mod fair_lock;
mod farewell;
mod group_words;
mod piece_heads;
mod pieces;
mod region;
mod requests_to_servant;
pub mod server;
mod target;
mod words;

pub use addresses::Addresses;
pub use assertions::Assertions;
pub(crate) use atomic_word::compare_and_swap;
pub(crate) use attached::{find, Attached, Entry};
pub(crate) use control::{Control, Numbered, Seat};
pub(crate) use device_pieces::{DevicePiece, DevicePieces};
pub(crate) use epochs::{Awaited, Epochs};
pub use exposure::{Exposure, Kind, LockOf, Segment};
pub(crate) use exposure::{Known, Mutexes, Provided, Queued, Told};
pub(crate) use fair_lock::FairLock;
pub(crate) use farewell::Farewell;
pub(crate) use group_words::GroupWord;
pub(crate) use piece_heads::{rows, Row};
pub(crate) use pieces::{Batch, Rows};
pub use pieces::{FarPiece, Pieces, Scattered, Strided, MOST_LEVELS};
pub use region::Region;
pub(crate) use region::{Servant, Way};
pub(crate) use requests_to_servant::{Ask, Locking, Many, Taking, HEAD_BYTES};
pub use requests_to_servant::{BUFFER_BYTES, MOST_BYTES, MOST_LONG};
pub use target::Target;
pub(crate) use words::{Element, Elements};

/// How a member locks the segment of another (MPI-5.0 §12.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Others may hold it as well, as long as theirs is shared.
    Shared,
    /// Nobody else may hold it.
    Exclusive,
}
