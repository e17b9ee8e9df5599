//! What the ranks of a node know of those that have failed, and of communicators that were revoked (`revocations`): lists in
//! the node segment that only grow; and by which tables those that are left agree.
//!
//! In a job on several nodes the launcher numbers both, and the agent of each node writes them in that order. Who has
//! failed stands in the table of nodes then (`node_table`), and here only how many.
//!
//! `news` changes after each entry. A rank that finds it changed reads the lists; all see the same.

use super::agreements::{self, Agreements};
use super::node_segment::AGREEMENTS_AT;
use super::{Job, NodeSegment};
use crate::{clock, JobRank, Result};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::PoisonError;

/// Nanoseconds for which a rank has failed lately, in a job on one node and in one on several: ranks that live need some
/// milliseconds to end what they have begun, more where they share cores or talk over a network. Nobody may wait longer than
/// 100 milliseconds for a rank that has failed, and a second where there are several nodes.
const LATELY: u64 = 40_000_000;
const LATELY_AMONG_NODES: u64 = 250_000_000;

impl Job {
    /// As so manieth of all a rank has failed, if it has.
    pub fn failure_of(&self, rank: JobRank) -> Option<u32> {
        match self.network() {
            Some(network) => network.failure_of(rank).filter(|&number| number <= self.node.failures()),
            None => self.node.failure_of(self.local(rank)?.0),
        }
    }

    /// Whether a rank has failed lately: others may still end what it had ended before.
    pub fn has_failed_lately(&self) -> bool {
        let lately = if self.network().is_some() { LATELY_AMONG_NODES } else { LATELY };
        self.node.last_failure().is_some_and(|noted| clock::nanoseconds().saturating_sub(noted) < lately)
    }

    /// The ranks that have failed, in that order.
    pub fn failed(&self) -> Vec<JobRank> {
        let ranks = match self.network() {
            Some(_) => self.node.failed_of(self.size, |rank| self.failure_of(JobRank(rank))),
            None => self.node.failed().into_iter().map(|local| self.local_ranks[local as usize]).collect(),
        };
        ranks.into_iter().map(JobRank).collect()
    }
}

impl NodeSegment {
    /// A number that changes when a rank has failed or a communicator was revoked; 0: never so far.
    #[inline]
    pub fn news(&self) -> u32 {
        self.header().news.load(Acquire) // news: paired with `note_failures` and `note_revocation`
    }

    /// Says that the job goes on without ranks that fail; the launcher does, before it starts any.
    pub fn go_on_without_ranks(&self) {
        self.header().goes_on.store(1, Relaxed);
    }

    /// Whether the job goes on without ranks that fail.
    pub fn goes_on_without_ranks(&self) -> bool {
        self.header().goes_on.load(Relaxed) == 1
    }

    /// Says that a local rank has failed, and that the job goes on without it. The launcher alone does, and rings
    /// the others afterwards.
    pub fn note_failure(&self, local_rank: u32) {
        let number = self.failures() + 1;
        self.page(local_rank).identity.failed.store(number, Relaxed);
        self.note_failures(number);
    }

    /// The same of a rank of another node, which the table of nodes names.
    pub fn note_failure_elsewhere(&self) {
        self.note_failures(self.failures() + 1);
    }

    fn note_failures(&self, number: u32) {
        self.header().last_failure.store(clock::nanoseconds(), Relaxed);
        self.header().failures.store(number, Release); // failures: paired with `failures`
        self.header().news.fetch_add(1, SeqCst); // news: paired with `news`; before a ring
    }

    /// How many ranks have failed, of those without which the job goes on.
    #[inline]
    pub fn failures(&self) -> u32 {
        self.header().failures.load(Acquire) // failures: paired with `note_failure`
    }

    /// When the last failure was noted here, by the clock of the node.
    fn last_failure(&self) -> Option<u64> {
        (self.failures() > 0).then(|| self.header().last_failure.load(Relaxed))
    }

    /// As so manieth of them a local rank has failed, if it has.
    pub fn failure_of(&self, local_rank: u32) -> Option<u32> {
        let number = self.page(local_rank).identity.failed.load(Relaxed);
        (number != 0).then_some(number)
    }

    /// The local ranks that have failed, in that order. They are looked for once after each failure.
    pub fn failed(&self) -> Vec<u32> {
        self.failed_of(self.local_ranks(), |rank| self.failure_of(rank))
    }

    /// Those of so many ranks that have failed, in that order, each by its number; ask with the same ones always.
    fn failed_of(&self, ranks: u32, number_of: impl Fn(u32) -> Option<u32>) -> Vec<u32> {
        let count = self.failures() as usize;
        if count == 0 {
            return Vec::new();
        }
        let mut known = self.heard.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < count {
            let numbered = |rank| Some((number_of(rank)?, rank));
            let mut failed: Vec<_> = (0..ranks).filter_map(numbered).collect();
            failed.sort_unstable();
            *known = failed.into_iter().map(|(_, rank)| rank).collect();
        }
        known.clone()
    }

    /// Says that an agreement of ranks of several nodes was decided. Those who wait for it have to be rung afterwards.
    pub fn note_decision(&self) {
        self.header().decisions.fetch_add(1, SeqCst); // decisions: paired with `decisions`; before a ring
    }

    /// A number that changes when one was.
    #[inline]
    pub fn decisions(&self) -> u32 {
        self.header().decisions.load(Acquire) // decisions: paired with `note_decision`
    }

    /// The table by which a local rank agrees with others.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn agreements(&self, local_rank: u32) -> Result<&Agreements> {
        let place = self.part(local_rank) + AGREEMENTS_AT;
        self.segment.reserve(place, agreements::BYTES)?;
        // SAFETY: inside the mapping, by the layout of the segment, which lives as long as `self`; page aligned, and
        // every bit pattern is a valid table of atomics.
        Ok(unsafe { &*self.segment.base().add(place).cast::<Agreements>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_have_failed_are_listed_in_that_order() {
        let node = NodeSegment::create(5).unwrap();
        assert_eq!((node.failed(), node.failure_of(3)), (vec![], None));
        node.note_failure(3);
        assert_eq!(node.failed(), [3]);
        node.note_failure(4);
        node.note_failure(0);
        assert_eq!(node.failed(), [3, 4, 0]);
        assert_eq!((node.failure_of(0), node.failures()), (Some(3), 3));
    }
}
