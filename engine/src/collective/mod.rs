//! Collective operations (MPI-5.0 chapter 6), each described once.
//!
//! A function here writes the part of one rank down as a [`Schedule`], which
//! the blocking, nonblocking and persistent forms share. It only looks at who
//! takes part ([`Members`]) and where data lie ([`Data`]); what moves them is a
//! [`Port`]. Arguments are checked by the face; here a wrong one is a wrong
//! result, never a crash of ours.
//!
//! Promises: results of reductions depend on ranks alone (see `tree.rs`); any
//! datatype works, gaps and negative bounds included; empty blocks make no
//! message; no buffer that a program only lends for reading is written.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod buffers_of;
mod data;
mod exact;
pub mod formula;
mod gather;
mod halving;
pub mod hierarchy;
mod inter;
mod members;
pub mod multicast;
mod neighbour;
pub mod node;
mod operation;
mod partial;
pub mod port;
mod readers;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod schedule;
mod scratch;
mod selection;
mod temporary;
mod traffic;
mod tree;

#[cfg(test)]
pub(crate) mod tests;

pub use allgather::{allgather, allgatherv};
pub use allreduce::allreduce;
pub use alltoall::{alltoall, alltoallw};
pub use barrier::barrier;
pub use broadcast::broadcast;
pub use gather::{gather, gatherv};
pub use members::{Members, Role, Root};
pub use neighbour::{neighbour_allgather, neighbour_alltoall, Neighbourhood, Sent};
pub use operation::Operation;
pub use port::{Blocks, Data, Port, Ticket};
pub use reduce::reduce;
pub use reduce_scatter::{reduce_scatter, Counts};
pub use scan::{exscan, scan};
pub use scatter::{scatter, scatterv};
pub use schedule::{Advance, Schedule, UserCall};
