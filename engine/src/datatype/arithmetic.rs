//! Arithmetic on displacements and sizes that says so when 64 bits are too few.

use crate::{Class, Error, Result};

/// `a + b` bytes.
pub(super) fn add(a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or_else(too_large)
}

/// `a * b` bytes.
pub(super) fn multiply(a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or_else(too_large)
}

/// `a + b` bytes of data; no more than an `i64` holds.
pub(super) fn add_size(a: u64, b: u64) -> Result<u64> {
    a.checked_add(b).filter(|&sum| sum <= i64::MAX as u64).ok_or_else(too_large)
}

/// `a * b` bytes of data; no more than an `i64` holds.
pub(super) fn multiply_size(a: u64, b: u64) -> Result<u64> {
    a.checked_mul(b).filter(|&product| product <= i64::MAX as u64).ok_or_else(too_large)
}

#[cold]
fn too_large() -> Error {
    Error::new(
        Class::Count,
        "the datatype would reach beyond 2^63 bytes: check the counts, block lengths and displacements",
    )
}
