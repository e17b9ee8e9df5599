//! A long block that goes whole between here and another node.

use crate::engine::server::What;
use crate::onesided::Ask;

/// Where a block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    There,
    Here,
}

/// A block that servers move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub goes: Goes,
    /// Where it lies at the target.
    pub there: u64,
    /// Where it lies here.
    pub here: u64,
    pub bytes: u64,
}

impl Block {
    /// What is asked of servers.
    pub fn ask(&self) -> (What, Ask) {
        match self.goes {
            Goes::There => (What::Put, Ask::Take(self.there, self.bytes)),
            Goes::Here => (What::Get, Ask::Lend(self.there, self.bytes)),
        }
    }

    /// It in parts of so many bytes at most.
    pub fn parts(self, most: u64) -> impl Iterator<Item = Block> {
        (0..self.bytes).step_by(most as usize).map(move |at| Block {
            there: self.there + at,
            here: self.here + at,
            bytes: most.min(self.bytes - at),
            ..self
        })
    }
}
