//! Datatypes: what lies where in a user's buffer.
pub mod basic;
pub use basic::Basic;

/// (skeleton, the datatype room replaces it)
#[derive(Debug)]
pub struct Datatype {}
