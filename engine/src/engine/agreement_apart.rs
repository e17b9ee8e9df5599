//! Agreement of the members of a communicator that has processes of several jobs: by messages (`job::consensus`).

use super::conclusion::Conclusion;
use super::hearsay::{locked, propose, Letters, Roll, Shared};
use super::Engine;
use crate::job::consensus::{MemberSet, Outcome, Vote};
use crate::world::{BootstrapChannel, Communicator, Pending};
use crate::{JobRank, Result};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// One that is under way.
pub(super) struct AgreementApart {
    hearsay: Shared,
    communicator: Arc<Communicator>,
    roll: Roll,
    /// Which agreement of the communicator it is.
    number: u32,
    vote: Vote,
    /// Those that had failed when it was begun.
    failed: Vec<JobRank>,
    has_spoken: bool,
}

impl Engine {
    pub(super) fn agreement_apart(&self, communicator: &Arc<Communicator>, flag: u32) -> AgreementApart {
        let roll = Roll::of(communicator, &self.contexts);
        let last = communicator.acknowledged.load(Relaxed);
        let (mut acknowledged, failed) = (MemberSet::default(), self.failed());
        for (mark, process) in &failed {
            if let Some(member) = roll.ranks.iter().position(|rank| rank == process).filter(|_| *mark <= last)
            {
                acknowledged.insert(member);
            }
        }
        let vote = Vote { flag, side: roll.sides[roll.me], acknowledged };
        let failed = failed.into_iter().map(|(_, process)| process).collect();
        let number = communicator.agreements.fetch_add(1, Relaxed) + 1;
        let (hearsay, communicator) = (self.beyond.hearsay.clone(), communicator.clone());
        AgreementApart { hearsay, communicator, roll, number, vote, failed, has_spoken: false }
    }
}

impl AgreementApart {
    fn speak(&mut self, channel: &dyn BootstrapChannel) -> Letters {
        let (context, contexts) = (self.communicator.context(), channel.contexts());
        let mut hearsay = locked(&self.hearsay);
        let mut letters = hearsay.convene(context, &self.roll, contexts, &self.failed);
        letters.extend(
            hearsay.act(context, |consensus| consensus.speak(self.vote.clone(), || propose(contexts))),
        );
        letters
    }

    fn conclusion(&self, outcome: &Outcome) -> Conclusion {
        let ranks = &self.roll.ranks;
        let lost = outcome.failed.iter().map(|member| ranks[member]).collect();
        let unknown = outcome.failed.iter().find(|&member| !outcome.acknowledged.has(member));
        Conclusion {
            flags: outcome.flags,
            side: self.roll.sides[self.roll.me],
            contexts: outcome.contexts,
            lost,
            unknown: unknown.map(|member| ranks[member]),
        }
    }
}

impl Pending<Conclusion> for AgreementApart {
    fn poll(&mut self, channel: &dyn BootstrapChannel) -> Result<Option<Conclusion>> {
        if !self.has_spoken {
            if self.communicator.agreed.load(Relaxed) + 1 != self.number {
                return Ok(None);
            }
            let letters = self.speak(channel);
            self.has_spoken = true;
            channel.tell_others(letters)?;
        }
        channel.hear_others()?;
        let Some(outcome) = locked(&self.hearsay).outcome(self.communicator.context()) else {
            return Ok(None);
        };
        self.communicator.agreed.store(self.number, Relaxed);
        Ok(Some(self.conclusion(&outcome)))
    }
}
