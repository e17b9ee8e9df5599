//! The bodies of the functions, by the chapter of the standard.

pub mod active_set;
pub mod atomic;
pub mod collective;
pub mod memory;
pub mod rma;
pub mod setup;
pub mod team;
pub mod waiting;
