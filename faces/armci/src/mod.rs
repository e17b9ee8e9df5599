//! ARMCI: puts, gets and accumulates of strides and vectors to memory that all ranks allocate together, atomics, mutexes,
//! groups, and messages. It has the binary interface that Global Arrays of Debian is compiled against.
//!
//! A module of each shared library (see `faces/common`), over the types of its ABI: a group of ARMCI has a communicator
//! of MPI. `calls.rs` declares every function once; the other files have their bodies. `world.rs` has what lies between:
//! who the ranks are, and what memory they have.
//!
//! # Promises
//! * Operations are done when they return, nonblocking ones too, so operations of one rank to one place happen in the
//!   order of its calls. The target has nothing to do for them, if its memory can be reached.
//! * Accumulates and read-modify-writes are atomic for each element, also against MPI's.
//! * A wrong argument ends the job with a sentence, before anything is written. Where there is no memory,
//!   `ARMCI_Malloc` says so.

mod allocation;
mod argument_checks;
mod begin;
mod contiguous;
mod declared;
mod domains;
mod fences;
mod global_operations;
mod group_of_c;
mod mutex_sets;
mod notifications;
mod processor_groups;
mod strides;
mod two_sided;
mod values;
mod vectors;
mod wall;
mod which_domain;
mod world_of_armci;

pub use begin::end_with_mpi;
pub use declared::NAMES;
pub use world_of_armci::each_communicator;
