//! Collective operations, each described once as a schedule.
pub mod port;
pub use port::{Data, Port, Ticket};
