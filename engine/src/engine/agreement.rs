//! Agreement of the members of a communicator, whichever of them fail meanwhile (ULFM). On one node the method is that of
//! `job::agreements`; here are its members, and how they wake each other. Members on several nodes say what they have to
//! say to the launcher, which decides, and find the decision in the same table (`job::voicing`).
//!
//! Members of several jobs agree by messages (`agreement_apart`).
//!
//! The agreements of a communicator follow each other: a member speaks for one when it has the decision of the one
//! before.

use super::agreement_apart::AgreementApart;
use super::conclusion::Conclusion;
use super::outside_failures::{failures_of, of_job};
use super::Engine;
use crate::job::agreements::{look, Agreements, Ballot, Decision, Electorate, Voice};
use crate::job::voicing::{Contribution, Said};
use crate::job::Job;
use crate::request::RequestId;
use crate::world::{BootstrapChannel, Communicator, Contexts, Pending};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The members of a communicator, of both groups if it has two, in the order of their job ranks.
struct Members {
    job: &'static Job,
    ranks: Vec<JobRank>,
    /// On which side each of them is.
    sides: Vec<usize>,
    /// The tables of all of them, where they are on one node; else none.
    tables: Vec<&'static Agreements>,
    /// That of this process.
    own: &'static Agreements,
}

impl Members {
    fn of(engine: &Engine, communicator: &Communicator) -> Result<Members> {
        let groups = communicator.groups().enumerate();
        let mut ranks: Vec<(JobRank, usize)> =
            groups.flat_map(|(side, group)| group.iter().map(move |rank| (rank, side))).collect();
        ranks.sort_unstable();
        let first = ranks[0].1;
        let (ranks, sides): (Vec<_>, Vec<_>) =
            ranks.into_iter().map(|(rank, side)| (rank, side ^ first)).unzip();
        let job = engine.job;
        let locals: Option<Vec<_>> = ranks.iter().map(|&rank| job.local(rank)).collect();
        let tables =
            locals.iter().flatten().map(|local| job.node.agreements(local.0)).collect::<Result<_>>()?;
        Ok(Members { job, ranks, sides, tables, own: job.node.agreements(job.local_rank)? })
    }

    /// Whether they are on several nodes.
    fn are_apart(&self) -> bool {
        self.tables.is_empty()
    }
}

/// The members, as one of them looks at them.
struct Seen<'a> {
    members: &'a Members,
    contexts: &'a Contexts,
}

impl Electorate for Seen<'_> {
    fn size(&self) -> usize {
        self.members.ranks.len()
    }

    fn table(&self, member: usize) -> &Agreements {
        self.members.tables[member]
    }

    fn side(&self, member: usize) -> usize {
        self.members.sides[member]
    }

    fn failures(&self) -> u32 {
        self.members.job.node.failures()
    }

    fn has_failed(&self, member: usize) -> bool {
        self.members.job.failure_of(self.members.ranks[member]).is_some()
    }

    /// 0 when none is left.
    fn propose(&self) -> [u64; 2] {
        [(); 2].map(|()| self.contexts.propose().unwrap_or(0))
    }
}

/// An agreement under way.
struct Agreement {
    members: Members,
    communicator: Arc<Communicator>,
    /// My place among the members.
    me: usize,
    ballot: Ballot,
    voice: Voice,
    has_spoken: bool,
}

impl Agreement {
    fn start(engine: &Engine, communicator: &Arc<Communicator>, flag: u32) -> Result<Agreement> {
        let members = Members::of(engine, communicator)?;
        let me = members.ranks.binary_search(&JobRank(engine.job.rank));
        let me =
            me.map_err(|_| Error::new(Class::Intern, "this process is no member of the communicator"))?;
        let number = communicator.agreements.fetch_add(1, Relaxed) + 1;
        let ballot = Ballot { context: communicator.context(), number };
        let voice = Voice { flag, acknowledged: of_job(communicator.acknowledged.load(Relaxed)) };
        let communicator = communicator.clone();
        Ok(Agreement { members, communicator, me, ballot, voice, has_spoken: false })
    }

    fn side(&self) -> usize {
        self.members.sides[self.me]
    }

    fn tell_launcher(&self, contexts: &Contexts) -> Result<()> {
        let ranks = self.members.ranks.iter().map(|rank| rank.0);
        self.members.job.say(&Said::Contribution(Contribution {
            ballot: self.ballot,
            voice: self.voice,
            side: self.side(),
            contexts: [(); 2].map(|()| contexts.propose().unwrap_or(0)),
            parts: Contribution::parts_of(ranks),
        }))
    }

    /// What follows of a decision.
    fn conclusion(&self, decision: Decision) -> Conclusion {
        let groups = self.communicator.groups();
        let failed = groups.flat_map(|group| failures_of(self.members.job, group));
        let mut failed: Vec<_> = failed.filter(|(number, _)| *number <= decision.failures).collect();
        failed.sort_unstable();
        let unknown =
            failed.iter().find(|(number, _)| *number > decision.acknowledged).map(|&(_, rank)| rank);
        let lost = failed.into_iter().map(|(_, rank)| rank).collect();
        Conclusion { flags: decision.flags, side: self.side(), contexts: decision.contexts, lost, unknown }
    }
}

impl Pending<Decision> for Agreement {
    fn poll(&mut self, channel: &dyn BootstrapChannel) -> Result<Option<Decision>> {
        let Agreement { members, communicator, ballot, .. } = self;
        if !self.has_spoken {
            if communicator.agreed.load(Relaxed) + 1 != ballot.number {
                return Ok(None);
            }
            members.own.speak(*ballot, self.voice);
            self.has_spoken = true;
            match members.are_apart() {
                true => self.tell_launcher(channel.contexts())?,
                false => channel.nudge(ballot.context, &members.ranks)?,
            }
        }
        let Agreement { members, communicator, me, ballot, .. } = self;
        if members.are_apart() {
            let decision = members.own.decision(*ballot);
            communicator.agreed.fetch_add(u32::from(decision.is_some()), Relaxed);
            return Ok(decision);
        }
        let seen = Seen { members, contexts: channel.contexts() };
        let Some((decision, is_mine)) = look(*ballot, *me, &seen) else { return Ok(None) };
        communicator.agreed.store(ballot.number, Relaxed);
        if is_mine {
            channel.nudge(ballot.context, &members.ranks)?;
        }
        Ok(Some(decision))
    }
}

/// By which way the members agree.
enum Way {
    /// All are of this job.
    InJob(Agreement),
    Apart(AgreementApart),
}

/// An agreement at whose end something is done.
struct Concluded<F> {
    way: Way,
    communicator: Arc<Communicator>,
    conclude: F,
}

impl<F: FnMut(&Communicator, &Conclusion) -> Result<()> + Send> Pending<()> for Concluded<F> {
    fn poll(&mut self, channel: &dyn BootstrapChannel) -> Result<Option<()>> {
        let conclusion = match &mut self.way {
            Way::InJob(agreement) => agreement.poll(channel)?.map(|decision| agreement.conclusion(decision)),
            Way::Apart(agreement) => agreement.poll(channel)?,
        };
        let Some(conclusion) = conclusion else { return Ok(None) };
        (self.conclude)(&self.communicator, &conclusion).map(Some)
    }
}

impl Engine {
    fn agreement_in<F: FnMut(&Communicator, &Conclusion) -> Result<()> + Send>(
        &self,
        communicator: &Arc<Communicator>,
        flag: u32,
        conclude: F,
    ) -> Result<Concluded<F>> {
        let way = match self.has_others(communicator) {
            true => Way::Apart(self.agreement_apart(communicator, flag)),
            false => Way::InJob(Agreement::start(self, communicator, flag)?),
        };
        Ok(Concluded { way, communicator: Arc::clone(communicator), conclude })
    }

    fn agree_in(
        &self,
        communicator: &Arc<Communicator>,
        flag: u32,
        conclude: impl FnMut(&Communicator, &Conclusion) -> Result<()> + Send,
    ) -> Result<()> {
        let mut agreement = self.agreement_in(communicator, flag, conclude)?;
        self.wait_despite_failures(&mut || Ok(agreement.poll(self)?.is_some()))
    }

    fn start_agreeing_in(
        &self,
        communicator: &Arc<Communicator>,
        flag: u32,
        conclude: impl FnMut(&Communicator, &Conclusion) -> Result<()> + Send + 'static,
    ) -> Result<RequestId> {
        let agreement = self.agreement_in(communicator, flag, conclude)?;
        self.start_pending(communicator.context(), agreement)
    }

    /// Takes the bits that all members of a communicator have in `flag`, of those that have not failed; of an
    /// intercommunicator, those that the other group has. All of a group get the same, whoever fails meanwhile.
    ///
    /// # Errors
    /// `ProcFailed`, at all of them, unless all failures are acknowledged by all of them; the flag is taken then too.
    /// `UnsupportedOperation` where members are on several nodes under another launcher than ours.
    pub fn agree_on(
        &self,
        communicator: &Arc<Communicator>,
        flag: u32,
        mut take: impl FnMut(u32) + Send,
    ) -> Result<()> {
        self.agree_in(communicator, flag, |communicator, conclusion| {
            take(conclusion.flag(communicator));
            conclusion.all_known(communicator)
        })
    }

    /// As [`Engine::agree_on`]; the flag is taken when the request is complete.
    ///
    /// # Errors
    /// As [`Engine::agree_on`].
    pub fn start_agreeing_on(
        &self,
        communicator: &Arc<Communicator>,
        flag: u32,
        mut take: impl FnMut(u32) + Send + 'static,
    ) -> Result<RequestId> {
        self.start_agreeing_in(communicator, flag, move |communicator, conclusion| {
            take(conclusion.flag(communicator));
            conclusion.all_known(communicator)
        })
    }

    /// Takes a communicator of the members that have not failed, in the same order. All of them get it.
    ///
    /// # Errors
    /// As [`Engine::agree_on`], but for `ProcFailed`; `Intern` when no context ids are left.
    pub fn shrink(
        &self,
        communicator: &Arc<Communicator>,
        mut take: impl FnMut(Communicator) -> Result<()> + Send,
    ) -> Result<()> {
        self.agree_in(communicator, u32::MAX, |communicator, conclusion| {
            take(conclusion.those_left(communicator)?)
        })
    }

    /// As [`Engine::shrink`]; the communicator is taken when the request is complete.
    ///
    /// # Errors
    /// As [`Engine::shrink`].
    pub fn start_shrinking(
        &self,
        communicator: &Arc<Communicator>,
        mut take: impl FnMut(Communicator) -> Result<()> + Send + 'static,
    ) -> Result<RequestId> {
        self.start_agreeing_in(communicator, u32::MAX, move |communicator, conclusion| {
            take(conclusion.those_left(communicator)?)
        })
    }
}
