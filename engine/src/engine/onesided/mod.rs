//! One-sided operations, as the faces start them.

mod exposing;
mod locking;
mod operations;
mod reach;
mod requests;
mod synchronising;

pub use exposing::Memory;

#[cfg(test)]
mod tests;
