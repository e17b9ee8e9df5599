//! What the members of a communicator agree on: the control block that they share, and each member's own view
//! of it.

pub mod access;
pub mod claim;
pub mod control_block;
pub mod member;
pub mod party;
pub mod payload;
pub mod pool;
pub mod retained;
mod room;
pub mod shape;
pub mod until;
pub mod wait;
