//! What this server has done for others and not told them yet.
//!
//! It tells each origin up to which number all of its requests are done, with the next message that goes there anyway;
//! alone, once enough are done, or when a request says so. An origin that has been told all takes no memory.

use std::collections::BTreeMap;

/// Origins that have not been told all, at most: one more is told at once.
pub const MOST_UNTOLD: usize = 256;

/// What is done and not told, by the node that has asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Acknowledgements {
    /// The number of the last request that is done, and how many.
    untold: BTreeMap<u32, (u64, u16)>,
}

impl Acknowledgements {
    /// A request is done; whether the origin has to be told now.
    pub fn note(&mut self, origin: u32, sequence: u64, most: u16) -> bool {
        let (last, count) = self.untold.entry(origin).or_default();
        (*last, *count) = (sequence, *count + 1);
        *count >= most || self.untold.len() > MOST_UNTOLD
    }

    /// What there is to tell a node, which is being told; 0 if nothing.
    pub fn tell(&mut self, origin: u32) -> u64 {
        self.untold.remove(&origin).map_or(0, |(last, _)| last)
    }

    /// How many have not been told all.
    pub fn untold(&self) -> usize {
        self.untold.len()
    }
}
