//! An ordered set of processes (MPI-5.0 §7.2.1, §7.3).
//!
//! A group never changes. Members are named by job rank. Groups whose members
//! lie at equal distances (the world, a cartesian row, any range) take a few
//! words; others take eight to sixteen bytes a member, so that `rank_of` costs
//! a handful of instructions for every group.

mod algebra;
mod storage;
#[cfg(test)]
mod tests;

use super::context;
use crate::job::ProcessName;
use crate::{Class, Error, JobRank, Result};
use storage::Members;

/// How two groups, or two communicators, compare (MPI-5.0 §7.3.1, §7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same members in the same order; for communicators, the same object.
    Identical,
    /// Communicators only: identical groups, different contexts.
    Congruent,
    /// The same members in another order.
    Similar,
    /// Anything else.
    Unequal,
}

/// An ordered set of processes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Group {
    members: Members,
}

impl Group {
    /// A group of these job ranks, in this order (no rank twice).
    pub fn new(members: Vec<impl Into<JobRank>>) -> Group {
        Group { members: Members::new(members.into_iter().map(|rank| rank.into().0).collect()) }
    }

    /// The job ranks `0..size` in their order.
    pub fn identity(size: u32) -> Group {
        Group { members: Members::Strided { first: 0, stride: 1, size } }
    }

    /// The group without members.
    pub fn empty() -> Group {
        Group::identity(0)
    }

    /// How many members.
    pub fn size(&self) -> u32 {
        self.members.size()
    }

    /// The job rank of a member.
    ///
    /// # Panics
    /// If `rank` is not below [`Group::size`].
    pub fn job_rank(&self, rank: u32) -> JobRank {
        JobRank(self.members.get(rank))
    }

    /// The job rank of a member; `None` for what is no rank of this group.
    #[inline(always)]
    pub fn find(&self, rank: i32) -> Option<JobRank> {
        self.members.find(rank as u32).map(JobRank)
    }

    /// The rank in this group of a job rank.
    pub fn rank_of(&self, job_rank: JobRank) -> Option<u32> {
        self.members.rank_of(job_rank.0)
    }

    /// The job ranks of the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = JobRank> + '_ {
        (0..self.size()).map(|rank| self.job_rank(rank))
    }

    /// A number that groups share which have the same members in the same order, and others do not
    /// but by a rare chance. Their names are those that all know.
    pub fn digest(&self, contexts: &context::Contexts) -> u64 {
        context::hash(self.names(contexts, self.has_strangers()).flat_map(|name| name.0.to_le_bytes()))
    }

    /// The names of the members, as those call them that were started apart, or only as those of this universe do.
    pub fn names<'a>(
        &'a self,
        contexts: &'a context::Contexts,
        is_full: bool,
    ) -> impl Iterator<Item = ProcessName> + 'a {
        self.iter().map(move |rank| contexts.named(rank, is_full))
    }

    /// Whether some of the members were started apart from this process: then all of them have strangers.
    pub fn has_strangers(&self) -> bool {
        self.iter().any(JobRank::is_stranger)
    }

    /// Checks a rank given by a program.
    ///
    /// # Errors
    /// `Rank` when it is not in `0..size`.
    pub fn check_rank(&self, rank: i32) -> Result<u32> {
        match u32::try_from(rank) {
            Ok(rank) if rank < self.size() => Ok(rank),
            _ => Err(Error::new(Class::Rank, self.no_such_rank(rank))),
        }
    }

    fn no_such_rank(&self, rank: i32) -> String {
        match self.size() {
            0 => format!("rank {rank} is not in the group, which is empty"),
            size => format!("rank {rank} is not in the group, whose ranks are 0 to {}", size - 1),
        }
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Group) -> bool {
        self.members.same(&other.members)
    }
}

impl Eq for Group {}
