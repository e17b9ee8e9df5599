//! Ranks that have failed, where the job goes on without them (`serried run --on-failure=continue`).
//!
//! The launcher says who has failed, in the node segment, and rings all ranks. A rank looks there before it sleeps,
//! when a call has found nothing, and when a collective begins: so nothing is added to what goes well. All ranks see
//! the same list, and it only grows; whoever is on it has no process any more.

use super::reason::Reason;
use super::Engine;
use crate::message::failed::{self, Affected};
use crate::message::ANY_SOURCE;
use crate::world::{Communicator, Group};
use crate::{JobRank, Result};
use std::sync::atomic::Ordering::Relaxed;

impl Engine {
    /// The members of a group that are among the first so many that have failed, in the order in which they have.
    pub fn failed_of(&self, group: &Group, first: u32) -> Group {
        let failed = self.failures_of(group).into_iter().filter(|&(number, _)| number <= first);
        Group::new(failed.map(|(_, rank)| rank).collect::<Vec<_>>())
    }

    /// As so manieth of all ranks the last of the first `count` members of a group has failed, if any has.
    pub fn number_of_failed(&self, group: &Group, count: usize) -> Option<u32> {
        self.failures_of(group).into_iter().take(count).next_back().map(|(number, _)| number)
    }

    /// The members of a group that have failed, each with its number, in the order in which they have.
    fn failures_of(&self, group: &Group) -> Vec<(u32, JobRank)> {
        let mut failed: Vec<_> = match self.failures() {
            0 => Vec::new(),
            _ => group.iter().filter_map(|rank| Some((self.failure_of(rank)?, rank))).collect(),
        };
        failed.sort_unstable();
        failed
    }

    /// How many ranks have failed so far.
    #[inline]
    pub fn failures(&self) -> u32 {
        self.job.node.failures()
    }

    /// As so manieth of all a rank has failed.
    fn failure_of(&self, rank: JobRank) -> Option<u32> {
        let local = self.job.local_ranks.binary_search(&rank.0).ok()?;
        self.job.node.failure_of(local as u32)
    }

    /// Refuses what needs a rank that has failed.
    ///
    /// # Errors
    /// `ProcFailed`.
    #[inline]
    pub(super) fn goes_on(&self, rank: JobRank) -> Result<()> {
        match self.failures() != 0 && self.failure_of(rank).is_some() {
            true => Err(failed::failed(rank)),
            false => Ok(()),
        }
    }

    /// The same for all members of a group.
    ///
    /// # Errors
    /// `ProcFailed`.
    #[inline]
    pub(super) fn all_go_on(&self, group: &Group) -> Result<()> {
        match self.failures() {
            0 => Ok(()),
            _ => group.iter().try_for_each(|rank| self.goes_on(rank)),
        }
    }

    /// The same for a collective of a communicator.
    ///
    /// # Errors
    /// `ProcFailed`.
    #[inline]
    pub(super) fn all_members_go_on(&self, communicator: &Communicator) -> Result<()> {
        match self.failures() {
            0 => Ok(()),
            _ => self.affected_one(communicator).map_or(Ok(()), |affected| Err(affected.error())),
        }
    }

    /// Looks whether ranks have failed, for what waits or has found nothing: ends what depends on them.
    ///
    /// # Errors
    /// `ProcFailed` or `ProcFailedPending` when `reason` is no request that ends, and cannot be met any more.
    #[inline]
    pub(super) fn look_for_failures(&self, reason: Reason) -> Result<()> {
        match self.failures() {
            0 => Ok(()),
            _ => self.end_what_failed(reason),
        }
    }

    #[cold]
    fn end_what_failed(&self, reason: Reason) -> Result<()> {
        let affected = self.affected();
        for lane in self.lanes.each() {
            let mut core = lane.lock();
            let before = core.epoch;
            affected.iter().for_each(|one| core.end_what_waits_for(one));
            let gone: Vec<JobRank> =
                core.outbox.keys().copied().filter(|&peer| self.failure_of(peer).is_some()).collect();
            gone.into_iter().for_each(|peer| core.throw_away_for(peer));
            if core.epoch != before {
                self.rouse(&core);
            }
        }
        self.can_be_met(reason, &affected)
    }

    /// The communicators of the program that processes have failed of.
    fn affected(&self) -> Vec<Affected> {
        let mut affected = Vec::new();
        if let Some(directory) = self.directory.get() {
            directory(&mut |communicator| affected.extend(self.affected_one(communicator)));
        }
        affected
    }

    fn affected_one(&self, communicator: &Communicator) -> Option<Affected> {
        let groups = [Some(&communicator.group), communicator.remote.as_ref()];
        let failed: Vec<_> = groups.into_iter().flatten().flat_map(|group| self.failures_of(group)).collect();
        let (last, _) = *failed.iter().max()?;
        let (_, first) = *failed.iter().min()?;
        let peers = communicator.peers();
        let ranks = peers.iter().enumerate().filter(|&(_, peer)| self.failure_of(peer).is_some());
        Some(Affected {
            context: communicator.context(),
            failed: ranks.map(|(rank, peer)| (rank as i32, peer)).collect(),
            first,
            is_news: last > communicator.acknowledged.load(Relaxed),
        })
    }

    /// Whether what is waited for may come without those that have failed.
    fn can_be_met(&self, reason: Reason, affected: &[Affected]) -> Result<()> {
        let of = |context: u64| affected.iter().find(|one| one.context == context & !1);
        let open = |request: u32| {
            let core = self.lane_at(request).lock();
            core.may_wait_for(request, affected).map(failed::pending)
        };
        let error = match reason {
            Reason::Request(request) => open(request),
            Reason::Id(id) => {
                let request = self.lane_of(id).lock().requests.check(id)?;
                open(request)
            }
            Reason::Any(requests) | Reason::All(requests) => {
                requests.iter().find_map(|&request| open(request))
            }
            Reason::Probe(wanted) => of(wanted.context).and_then(|one| match wanted.source {
                ANY_SOURCE => one.is_news.then(|| failed::pending(one)),
                source => one.failed.iter().any(|&(rank, _)| rank == source).then(|| one.error()),
            }),
            Reason::Block(member, _) => of(member.context).map(Affected::error),
            Reason::Lock(..) | Reason::Memory(_) => self.first_failed(),
            Reason::BootstrapChannel | Reason::Flush | Reason::Settle(_) => None,
        };
        error.map_or(Ok(()), Err)
    }

    /// The error that names the rank that has failed first.
    fn first_failed(&self) -> Option<crate::Error> {
        let failed =
            self.job.local_ranks.iter().filter_map(|&rank| Some((self.failure_of(JobRank(rank))?, rank)));
        failed.min().map(|(_, rank)| failed::failed(JobRank(rank)))
    }
}
