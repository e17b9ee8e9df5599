//! Ranks that have failed, where the job goes on without them (`serried run --on-failure=continue`), and communicators
//! that were revoked.
//!
//! The launcher says in the node segment who has failed, and rings all ranks. A rank says there what it revokes, and
//! nudges the members. A rank looks there before it sleeps, when a call has found nothing, and when a collective begins:
//! so nothing is added to what goes well. All ranks see the same lists, which only grow; whoever is on that of failures
//! has no process any more. Processes of other jobs tell each other (`hearsay`).

use super::reason::Reason;
use super::Engine;
use crate::core::Core;
use crate::job::revocations::too_many;
use crate::job::voicing::Said;
use crate::message::failed::{self, Affected};
use crate::message::{wire, ANY_SOURCE};
use crate::transport::Packet;
use crate::world::{context, Communicator, Group, Line};
use crate::{Error, JobRank, Result};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

impl Engine {
    /// Refuses what needs a rank that has failed.
    ///
    /// # Errors
    /// `ProcFailed`.
    #[inline]
    pub(super) fn goes_on(&self, rank: JobRank) -> Result<()> {
        match self.news() != 0 && self.failure_of(rank).is_some() {
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
        match self.news() {
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
        match self.news() {
            0 => Ok(()),
            _ => match self.affected_one(communicator) {
                Some(affected) => Err(affected.error()),
                // As shrinking has left it.
                None if communicator.peers().size() == 0 => Err(failed::nobody(communicator.context())),
                None => Ok(()),
            },
        }
    }

    /// Looks whether ranks have failed, for what waits or has found nothing: ends what depends on them.
    ///
    /// # Errors
    /// `ProcFailed` or `ProcFailedPending` when `reason` is no request that ends, and cannot be met any more.
    #[inline]
    pub(super) fn look_for_failures(&self, reason: Reason) -> Result<()> {
        if self.job.node.decisions() != self.decisions.load(Relaxed) {
            self.look_for_decisions();
        }
        self.hear_others()?;
        match self.news() {
            0 => Ok(()),
            _ => self.end_what_failed(reason),
        }
    }

    /// Whether something has been said since [`Engine::look_for_failures`] has looked in a lane: whoever said it between
    /// the look and the beginning of a sleep has rung for nothing.
    pub(super) fn has_news_for(&self, core: &Core) -> bool {
        core.news != self.news() || self.job.node.decisions() != self.decisions.load(Relaxed)
    }

    /// Ranks of several nodes have agreed: whoever waits for that looks again.
    #[cold]
    fn look_for_decisions(&self) {
        self.decisions.store(self.job.node.decisions(), Relaxed);
        for lane in self.lanes.each() {
            let mut core = lane.lock();
            core.epoch += 1;
            self.rouse(&core);
        }
    }

    #[cold]
    fn end_what_failed(&self, reason: Reason) -> Result<()> {
        let all_is_heard = self.have_been_heard_out();
        self.is_hearing_out.store(!all_is_heard, Relaxed);
        let affected = if all_is_heard { self.affected() } else { Vec::new() };
        let is_patient = self.job.has_failed_lately();
        let has_lost_patience = self.is_patient.swap(is_patient, Relaxed) && !is_patient;
        let mut is_new = false;
        for lane in self.lanes.each() {
            let mut core = lane.lock();
            let before = core.epoch;
            // Whoever waits for something else than messages looks again.
            let news = self.news();
            let has_changed = std::mem::replace(&mut core.news, news) != news || has_lost_patience;
            core.epoch += u64::from(has_changed);
            is_new |= has_changed;
            // What comes behind what a failed rank has left unfinished can be read then.
            core.epoch += u64::from(core.transport.skip_unfinished());
            affected.iter().for_each(|one| core.end_what_waits_for(one));
            let has_gone = |peer: &JobRank| all_is_heard && self.failure_of(*peer).is_some();
            let gone: Vec<JobRank> = core.outbox.keys().copied().filter(has_gone).collect();
            gone.into_iter().for_each(|peer| core.unsend_all_to(peer));
            if core.epoch != before {
                self.rouse(&core);
            }
        }
        if is_new {
            self.ring_server();
        }
        self.can_be_met(reason, &affected)
    }

    /// The error of what cannot be done any more in a communicator that a process has failed of, or that was revoked.
    pub(super) fn failed_in(&self, context: u64) -> Option<Error> {
        let affected = if self.news() == 0 { Vec::new() } else { self.affected() };
        affected.iter().find(|one| one.context == context & !1).map(Affected::error)
    }

    /// Whether all is here that those of other nodes had sent that have failed. Who waits is woken when it comes.
    fn have_been_heard_out(&self) -> bool {
        let failed = self.failed().into_iter().map(|(_, rank)| rank);
        let far: Vec<_> = failed.filter(|&rank| !self.is_near(rank)).collect();
        let mut all = true;
        for lane in self.lanes.each().filter(|_| !far.is_empty()) {
            let mut core = lane.lock();
            far.iter().for_each(|&rank| all &= core.transport.outlive(rank));
        }
        all
    }

    /// The communicators that processes have failed of, or that were revoked.
    fn affected(&self) -> Vec<Affected> {
        let mut affected = Vec::new();
        let mut add = |communicator: &Arc<Communicator>| {
            let Some(one) = self.affected_one(communicator) else { return };
            if let Some(local) = communicator.local() {
                let failed = self.failed_among(&local.group);
                affected.push(Affected { context: local.context(), failed, ..one });
            }
            affected.push(one);
        };
        self.each_communicator(&mut add);
        affected
    }

    /// Shows all communicators that the program can name, and those that others hold.
    pub(super) fn each_communicator(&self, see: &mut dyn FnMut(&Arc<Communicator>)) {
        if let Some(directory) = self.directory.get() {
            directory(see);
        }
        let unnamed: Vec<_> = self.unnamed().iter().filter_map(Weak::upgrade).collect();
        unnamed.iter().for_each(see);
    }

    fn affected_one(&self, communicator: &Communicator) -> Option<Affected> {
        let context = communicator.context();
        if self.is_revoked(communicator) {
            return Some(Affected {
                context,
                known: context,
                failed: Vec::new(),
                first: None,
                unknown: None,
                lately: false,
            });
        }
        let groups = communicator.groups();
        let mut failed: Vec<_> = groups.flat_map(|group| self.failures_in(group)).collect();
        failed.sort_unstable();
        let (_, first) = *failed.first()?;
        let acknowledged = communicator.acknowledged.load(Relaxed);
        let unknown = failed.iter().find(|&&(mark, _)| mark > acknowledged);
        Some(Affected {
            context,
            known: context,
            failed: self.failed_among(communicator.peers()),
            first: Some(first),
            unknown: unknown.map(|&(_, rank)| rank),
            lately: self.job.has_failed_lately(),
        })
    }

    /// Those of a group that have failed: their ranks in it, and in the job.
    fn failed_among(&self, group: &Group) -> Vec<(i32, JobRank)> {
        let failed = self.failures_in(group).into_iter();
        failed.filter_map(|(_, member)| Some((group.rank_of(member)? as i32, member))).collect()
    }

    /// Thinks, when ranks fail, of a communicator that no program can name, as long as somebody has it.
    pub(super) fn keep_in_mind(&self, communicator: &Arc<Communicator>) {
        let mut unnamed = self.unnamed();
        unnamed.retain(|one| one.strong_count() > 0);
        unnamed.push(Arc::downgrade(communicator));
    }

    fn unnamed(&self) -> MutexGuard<'_, Vec<Weak<Communicator>>> {
        self.unnamed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a communicator was revoked. Whoever has been told so is told so by each call from then on.
    pub fn is_revoked(&self, communicator: &Communicator) -> bool {
        if !communicator.is_revoked() && self.job.node.is_revoked(communicator.context()) {
            communicator.revoke();
        }
        communicator.is_revoked()
    }

    /// Revokes a communicator: every call of every member that waits in it, or would, ends with `Revoked`.
    ///
    /// # Errors
    /// `NoMem` when too many were revoked; `UnsupportedOperation` where members are on several nodes under another launcher
    /// than ours.
    pub fn revoke(&self, communicator: &Communicator) -> Result<()> {
        if self.is_revoked(communicator) {
            return Ok(());
        }
        self.revoke_in_job(communicator)?;
        // Those of other jobs are told there.
        self.look_for_failures(Reason::Flush)
    }

    /// Tells the members of this job that a communicator is revoked.
    pub(super) fn revoke_in_job(&self, communicator: &Communicator) -> Result<()> {
        if self.job.node.has_no_room_for_revocations() {
            return Err(too_many());
        }
        let members = communicator.groups().flat_map(|group| group.iter());
        let mut members: Vec<_> = members.filter(|member| !member.is_foreign()).collect();
        // Others are told by their agents. The launcher is told first: whoever is killed in between has told all or nobody.
        if members.iter().any(|&member| self.job.local(member).is_none()) {
            self.job.say(&Said::Revocation(communicator.context()))?;
        }
        self.job.node.note_revocation(communicator.context())?;
        members.retain(|&member| self.job.local(member).is_some());
        self.nudge_those_left(communicator.context(), &members)
    }

    /// As [`crate::world::BootstrapChannel::nudge`], but for those that have failed.
    pub(super) fn nudge_those_left(&self, context: u64, ranks: &[JobRank]) -> Result<()> {
        let mut core = self.lane(context).lock();
        let mut others =
            ranks.iter().copied().filter(|rank| rank.0 != self.job.rank && self.failure_of(*rank).is_none());
        others.try_for_each(|rank| core.post(rank, &Packet::new(wire::NUDGE, [0; 2])).map(|_| ()))
    }

    /// Refuses to wait for what a rank says on the way to a communicator.
    ///
    /// # Errors
    /// `ProcFailed`; `Revoked` where the communicator was that it is made from.
    #[inline]
    pub(super) fn line_goes_on(&self, line: &Line, peer: u32) -> Result<()> {
        if self.news() == 0 {
            return Ok(());
        }
        let context = context::base(line.context);
        match self.job.node.is_revoked(context) {
            true => {
                // Each communicator that is looked at knows by itself from now on.
                self.affected();
                Err(failed::revoked(context))
            }
            // A rank of another node may have said it before it failed.
            false => match self.goes_on(line.peers.job_rank(peer)) {
                Err(_) if !self.have_been_heard_out() => Ok(()),
                outcome => outcome,
            },
        }
    }

    /// Whether what is waited for may come without those that have failed.
    fn can_be_met(&self, reason: Reason, affected: &[Affected]) -> Result<()> {
        let of = |context: u64| affected.iter().find(|one| one.context == context & !1);
        let open = |request: u32| {
            let core = self.lane_at(request).lock();
            core.pending_in(request, affected)
        };
        let error = match reason {
            Reason::Request(request) => open(request),
            Reason::Word(context, _) => of(context).map(Affected::error),
            Reason::Id(id) => {
                let request = self.lane_of(id).lock().requests.check(id)?;
                open(request)
            }
            Reason::Any(requests) | Reason::All(requests) => {
                requests.iter().find_map(|&request| open(request))
            }
            Reason::Probe(wanted) => of(wanted.context).and_then(|one| match wanted.source {
                _ if one.first.is_none() => Some(one.error()),
                ANY_SOURCE => one.pending(),
                source => one.failed.iter().any(|&(rank, _)| rank == source).then(|| one.error()),
            }),
            Reason::Block(member, until) => {
                let has_failed = |missing| self.job.node.failure_of(member.peer(missing).0).is_some();
                let lives =
                    |one: &&Affected| one.lately && !member.control_block().missing(until).any(has_failed);
                of(member.context).filter(|one| !lives(one)).map(Affected::error)
            }
            Reason::Lock(exposure, _) | Reason::Group(exposure, ..) => {
                self.affected_one(&exposure.communicator).as_ref().map(Affected::error)
            }
            Reason::Memory(_) => self.first_failed(),
            // It looks by itself.
            Reason::Farewell(_) => None,
            Reason::Server | Reason::BootstrapChannel | Reason::Flush | Reason::Settle(_) => None,
        };
        error.map_or(Ok(()), Err)
    }

    /// The error that names the rank that has failed first.
    pub(super) fn first_failed(&self) -> Option<Error> {
        self.failed().first().map(|&(_, first)| failed::failed(first))
    }
}
