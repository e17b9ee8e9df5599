//! How members reach each other's memory.

/// What can be done with the memory of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing.
    Nothing,
    /// It can be read.
    Read,
    /// It can be read and written.
    Write,
}
