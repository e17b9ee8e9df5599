//! Files (MPI-5.0 chapter 14): views, independent and collective access, over drivers of file systems.
//!
//! A [`File`] is what one rank has opened together with others. A [`View`](view::View) says which bytes of the file
//! the rank sees; it is flattened lazily, and one without holes is known as such. Data go between memory and file
//! in pieces that fit the second-level cache; where a side has no gaps its bytes are not copied at all.
//!
//! Promises:
//! * Nothing is read in order to be written back, and nothing is locked but in atomic mode: bytes that a call does
//!   not write are never touched.
//! * Ranks that share a node never send file data as messages: in collective writing they store it side by side in
//!   memory of the node, from which one of them writes ([`collective`]).
//! * What a call has written is in the file system before the rank's next call that could tell anybody of it
//!   ([`behind`]; nonblocking: when the request is complete), so a barrier or a message is enough for ranks of this
//!   machine to see it.
//!
//! The file system is reached by the trait [`Driver`] alone, the other ranks by the trait [`Team`] alone.

mod access_of_call;
mod alike;
mod assembly;
mod atomic;
pub mod behind;
mod by_messages;
mod checksum;
mod collective_access;
mod collective_plan;
pub mod driver;
mod failure;
pub mod file_in_memory;
pub mod file_system;
mod hints;
mod in_parts;
mod locked;
mod mode;
mod open;
mod opened;
mod pieces;

mod position;
mod replacement;
pub mod representation;
mod size;
mod source;
pub mod striped;
mod team;
#[cfg(test)]
mod tests;
mod transfer;
pub mod ufs;
mod verified;
mod view;
mod watched;
mod windows;

pub use access_of_call::{Items, Place};
pub use driver::Driver;
pub use file_system::FileSystem;
pub use hints::accepted;
pub use in_parts::Transfer;
pub use mode::Mode;
pub use open::{delete, open};
pub use opened::{File, Split, SplitKind};
pub use position::Whence;
pub use representation::{Conversion, Representation};
pub use team::{Alone, Loan, NearWord, Shared, Team};
