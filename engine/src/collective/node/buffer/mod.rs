//! Memory that members let each other read and write: how it is described, and how others reach it.

pub mod contiguous;
pub mod descriptor;
pub mod destination;
pub mod expected;
pub mod lending;
pub mod peer_memory;
pub mod short_table;
pub mod table;
pub mod table_entry;
pub mod table_writer;
