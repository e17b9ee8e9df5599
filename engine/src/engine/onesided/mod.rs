//! One-sided operations, as the faces start them.

mod asking;
mod changing;
mod exposed;
mod exposing;
mod locking;
mod many_pieces;
mod mutexes;
mod operations;
mod serving;
mod synchronising;
mod target_memory;
mod with_request;

pub use exposing::Memory;

#[cfg(test)]
mod tests;
