//! How a rank waits: it spins while a core is free for it and only for
//! microseconds, then it sleeps, and whoever sends to it wakes it.

pub mod barrier;
pub mod changes;
mod cores;
pub mod crowd;
pub mod doorbell;
pub mod foreign_load;
pub mod knock;
pub mod lock;
pub mod partner;
pub mod poll_turn;
mod sleeper;
pub mod sleeping_lock;
pub mod slowdown;
pub mod sources;
pub mod spread;
pub mod wait;
pub mod watchers;
pub mod whereabouts;

pub use crate::clock;
pub use crowd::Crowd;
pub use doorbell::Doorbell;
pub use sleeper::Sleeper;
