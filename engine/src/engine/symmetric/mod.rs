//! Symmetric memory, as the faces use it: see [`crate::symmetric`].

mod allocating;
mod finding;
mod locking_words;
mod opening;
mod transfers;
mod watching;

pub use finding::Remote;
pub use transfers::Strided;
