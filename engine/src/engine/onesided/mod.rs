//! One-sided operations, as the faces start them.

mod exposing;
mod operations;
mod requests;
mod synchronising;

pub use exposing::Memory;
