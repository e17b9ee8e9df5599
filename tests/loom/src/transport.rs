//! Twins of what packets are in the engine's `transport`.

use crate::sync::AtomicU64;

pub const INLINE_BYTES: usize = 40;

pub const LONG_LETTER_BYTES: usize = 16;

#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    pub kind: u8,
    pub header: [u64; 2],
    pub payload: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub kind: u8,
    pub bytes: u32,
    pub header: [u64; 2],
}

/// The places to look at are not looked at here: a reader peeks.
#[derive(Debug, Default)]
pub struct Arrivals;

impl Arrivals {
    pub fn add(&mut self, _word: &AtomicU64, _expected: u32) {}
}
