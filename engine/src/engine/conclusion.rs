//! What follows of an agreement of the members of a communicator, by whichever way they have agreed.

use crate::message::failed;
use crate::world::{context, Communicator, Group};
use crate::{Class, Error, JobRank, Result};
use std::sync::Arc;

/// What was agreed, as a member sees it.
pub(super) struct Conclusion {
    /// The bits that all of a side have.
    pub(super) flags: [u32; 2],
    /// That of this member.
    pub(super) side: usize,
    /// Contexts that nothing else has; 0: none was left.
    pub(super) contexts: [u64; 2],
    /// Members that had failed.
    pub(super) lost: Vec<JobRank>,
    /// One of these that some program does not know of.
    pub(super) unknown: Option<JobRank>,
}

impl Conclusion {
    /// The bits that all have; of an intercommunicator, those that all of the other group have.
    pub(super) fn flag(&self, communicator: &Communicator) -> u32 {
        self.flags[if communicator.is_inter() { 1 - self.side } else { self.side }]
    }

    /// Whether the programs of all know all failures of members.
    pub(super) fn all_known(&self, communicator: &Communicator) -> Result<()> {
        match self.unknown {
            Some(rank) => Err(failed::failed(rank).in_context(communicator.context())),
            None => Ok(()),
        }
    }

    /// A communicator of those that go on.
    pub(super) fn those_left(&self, communicator: &Communicator) -> Result<Communicator> {
        let goes_on = |rank: &JobRank| !self.lost.contains(rank);
        let left = |group: &Group| Arc::new(Group::new(group.iter().filter(goes_on).collect::<Vec<_>>()));
        let (shared, group) = (self.contexts[0], left(&communicator.group));
        let rank = group.rank_of(communicator.group.job_rank(communicator.rank));
        let rank = rank.filter(|_| self.contexts.iter().all(|&one| one != 0));
        let rank = rank.ok_or_else(|| Error::new(Class::Intern, "no communicator ids are left"))?;
        let mut made = Communicator::new(shared, group, rank);
        if let Some(remote) = &communicator.remote {
            made = made.with_remote(left(remote), context::beside(self.contexts[self.side] + 2, shared));
        }
        Ok(made.with_error_handler(communicator.error_handler()))
    }
}
