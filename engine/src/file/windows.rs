//! Memory of the node in which collective writing brings data together.

use super::team::Loan;

/// Two windows, one behind the other, in memory that rank 0 lends.
pub(super) struct Windows {
    /// Where the first begins at rank 0.
    pub address: u64,
    /// Bytes of each, a power of two.
    pub window: u64,
    /// Of rank 0.
    pub loan: Option<Box<dyn Loan>>,
}
