//! One-sided operations, as the faces start them.

mod asking;
mod awaited;
mod block;
mod changing;
mod chunks;
mod deferred;
mod device_lending;
mod device_memory;
mod exposed;
mod exposing;
mod leaving;
mod line_locks;
mod lines;
mod locking;
mod many_pieces;
mod mutexes;
mod obeying;
mod obeying_many;
mod operations;
mod places;
mod request;
mod rows_by_messages;
mod runs;
mod servant_thread;
mod served;
mod serving;
mod shared_blocks;
mod synchronising;
mod target_memory;
mod whole_blocks;
mod with_request;

pub(super) use asking::refused;
pub(super) use deferred::Deferred;
pub use exposing::Memory;
pub(super) use leaving::Farewells;
pub(super) use obeying::add_answer;
pub(super) use servant_thread::ServantThread;
pub(super) use served::Served;

#[cfg(test)]
mod tests;
