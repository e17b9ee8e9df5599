//! One-sided operations, as the faces start them.

mod asking;
mod changing;
mod exposing;
mod locking;
mod operations;
mod reach;
mod requests;
mod serving;
mod synchronising;

pub use exposing::Memory;

#[cfg(test)]
mod tests;
