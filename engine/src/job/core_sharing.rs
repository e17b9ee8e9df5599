//! What the ranks of a node show each other of how they share its cores.

use super::NodeSegment;
use crate::observe::delays::Account;
use std::sync::atomic::Ordering;

impl NodeSegment {
    /// A rank has shown on its page which CPUs it may use: for the first time, or they have changed.
    pub fn affinity_shown(&self, is_first: bool) {
        self.header().shown.fetch_add(u32::from(is_first), Ordering::Relaxed);
        self.header().affinities.fetch_add(1, Ordering::Release); // affinity: paired with `affinities`
    }

    /// Whether all ranks have.
    pub fn all_affinities_shown(&self) -> bool {
        self.header().shown.load(Ordering::Relaxed) >= self.local_ranks()
    }

    /// A number that changes whenever a rank has: what it has shown can be read then.
    #[inline]
    pub fn affinities(&self) -> u32 {
        self.header().affinities.load(Ordering::Acquire) // affinity: paired with `affinity_shown`
    }

    /// The account of times in which ranks were late because they had slept.
    pub fn delays(&self) -> &Account {
        &self.header().delays
    }
}
