//! The engine of Serried.
//!
//! One engine stands under every face (MPI under two ABIs, later OpenSHMEM and
//! ARMCI). Rooms are modules; arrows between them point down only:
//!
//! * what programs mean: [`world`], [`collective`], [`onesided`], [`symmetric`], [`message`],
//!   [`request`], [`file`], [`datatype`], [`reduce`];
//! * how bytes move: [`transport`];
//! * what the operating system gives: [`memory`], [`device`], [`progress`], [`job`],
//!   [`observe`];
//! * what costs what on this machine: [`tuning`].
//!
//! The engine knows no C handle and no ABI. Inside it every count and
//! displacement has 64 bits.

pub mod clock;
pub mod collective;
mod core;
#[cfg(target_arch = "x86_64")]
mod cpu;
pub mod datatype;
pub mod device;
pub mod engine;
pub mod error;
pub mod file;
pub mod job;
pub mod kept;
mod loaded_library;
mod lock_order;
pub mod memory;
pub mod message;
pub mod observe;
pub mod onesided;
mod own_file;
pub mod progress;
mod rank;
pub mod reduce;
pub mod request;
pub mod settings;
pub mod symmetric;
mod sync;
#[cfg(test)]
mod test_ranks;
pub mod transport;
pub mod tuning;
pub mod world;

pub use engine::Engine;
pub use error::{Cause, Class, Error, NarrowElement, Operands, Result};
pub use rank::{JobRank, LocalRank};
