//! Agreement of the members of a communicator, whichever of them fail meanwhile (ULFM). The method is that of
//! `job::agreements`; here are its members, and how they wake each other.

use super::Engine;
use crate::job::agreements::{look, Agreements, Ballot, Decision, Electorate, Voice};
use crate::message::failed;
use crate::world::{Communicator, Group};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The members of a group.
struct Members<'a> {
    engine: &'a Engine,
    ranks: Vec<JobRank>,
    tables: Vec<&'a Agreements>,
}

impl<'a> Members<'a> {
    fn of(engine: &'a Engine, group: &Group) -> Result<Members<'a>> {
        let table = |rank: JobRank| {
            let local = engine.job.local(rank).filter(|_| engine.is_near(rank));
            let apart = || Error::not_there_yet("agreement of processes on several nodes or in several jobs");
            engine.job.node.agreements(local.ok_or_else(apart)?.0)
        };
        let tables = group.iter().map(table).collect::<Result<_>>()?;
        Ok(Members { engine, ranks: group.iter().collect(), tables })
    }
}

impl Electorate for Members<'_> {
    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn table(&self, member: usize) -> &Agreements {
        self.tables[member]
    }

    fn failures(&self) -> u32 {
        self.engine.failures()
    }

    fn has_failed(&self, member: usize) -> bool {
        self.engine.failure_of(self.ranks[member]).is_some()
    }

    /// 0 when none is left.
    fn propose(&self) -> u64 {
        self.engine.contexts.propose().unwrap_or(0)
    }
}

impl Engine {
    /// What the members of a communicator agree on, and those that go on.
    fn agree_in(&self, communicator: &Communicator, flag: u32) -> Result<Decision> {
        if communicator.is_inter() {
            return Err(Error::not_there_yet("agreement over an intercommunicator"));
        }
        let members = Members::of(self, &communicator.group)?;
        let me = communicator.rank as usize;
        let number = communicator.agreements.fetch_add(1, Relaxed) + 1;
        let ballot = Ballot { context: communicator.context(), number };
        let voice = Voice { flag, acknowledged: communicator.acknowledged.load(Relaxed) };
        members.tables[me].speak(ballot, voice, &self.agreements);
        self.nudge(communicator.group.iter())?;
        let mut found = None;
        self.wait_despite_failures(&mut || {
            found = look(ballot, me, &members);
            Ok(found.is_some())
        })?;
        let (decision, is_mine) =
            found.ok_or_else(|| Error::new(Class::Intern, "an agreement has ended without a decision"))?;
        if is_mine {
            self.nudge(communicator.group.iter())?;
        }
        Ok(decision)
    }

    /// The bits that all members of a communicator have in `flag`, of those that have not failed; and whether all
    /// failures are acknowledged by all of them. All get the same, whoever fails meanwhile.
    ///
    /// # Errors
    /// `UnsupportedOperation` where members are on several nodes, and for an intercommunicator.
    pub fn agree_on(&self, communicator: &Communicator, flag: u32) -> Result<(u32, Result<()>)> {
        let decision = self.agree_in(communicator, flag)?;
        let all_known = match self.first_failed_after(&communicator.group, decision.acknowledged) {
            Some((number, rank)) if number <= decision.failures => Err(failed::failed(rank)),
            _ => Ok(()),
        };
        Ok((decision.flag, all_known.map_err(|error| error.in_context(communicator.context()))))
    }

    /// A communicator of the members that have not failed, in the same order. All of them get it.
    ///
    /// # Errors
    /// As [`Engine::agree_on`]; `Intern` when no context ids are left.
    pub fn shrink(&self, communicator: &Communicator) -> Result<Communicator> {
        let Decision { failures, context, .. } = self.agree_in(communicator, u32::MAX)?;
        let goes_on = |rank: &JobRank| self.failure_of(*rank).is_none_or(|number| number > failures);
        let group = Group::new(communicator.group.iter().filter(goes_on).collect::<Vec<_>>());
        let rank = group.rank_of(JobRank(self.job.rank)).filter(|_| context != 0);
        let rank = rank.ok_or_else(|| Error::new(Class::Intern, "no communicator ids are left"))?;
        let made = Communicator::new(context, Arc::new(group), rank);
        Ok(made.with_error_handler(communicator.error_handler()))
    }
}
