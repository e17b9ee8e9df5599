//! Agreement of ranks of several hosts, as the launcher decides it: it outlives them. Pure: what is heard goes in, what
//! has to be told comes out.
//!
//! A member says once what it has to say, and with whom it agrees. When each of the members has spoken or failed, the
//! decision is made, once, and told to all nodes of members behind all failures that were told before. So all that
//! go on get the same one, whoever fails when: what the launcher has not heard by then was never said.

use serried_engine::job::agreements::{Ballot, Decision, Voice};
use serried_engine::job::voicing::Contribution;
use std::collections::{BTreeSet, HashMap};

/// A decision, and who has taken part.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What was agreed on.
    pub ballot: Ballot,
    /// What was agreed.
    pub decision: Decision,
    /// Members that had spoken, whether they have failed since or not.
    pub members: Vec<u32>,
}

/// All that ranks of a job are agreeing on.
#[derive(Debug, Default)]
pub struct Council {
    open: HashMap<Ballot, Question>,
    failed: BTreeSet<u32>,
}

/// An agreement under way.
#[derive(Debug)]
struct Question {
    /// Of whom nothing was heard.
    awaited: BTreeSet<u32>,
    members: Vec<u32>,
    flags: [u32; 2],
    acknowledged: u32,
    /// What the lowest of those has proposed that have spoken.
    proposal: (u32, [u64; 2]),
}

impl Council {
    /// A rank says something; what is decided by that.
    pub fn hear(&mut self, rank: u32, said: &Contribution) -> Option<Verdict> {
        if self.failed.contains(&rank) {
            return None;
        }
        let Contribution { ballot, voice: Voice { flag, acknowledged }, side, contexts, .. } = *said;
        let failed = &self.failed;
        let question = self.open.entry(ballot).or_insert_with(|| Question {
            awaited: said.members().filter(|member| !failed.contains(member)).collect(),
            members: Vec::new(),
            flags: [u32::MAX; 2],
            acknowledged: u32::MAX,
            proposal: (u32::MAX, [0; 2]),
        });
        if question.awaited.remove(&rank) {
            question.members.push(rank);
            question.flags[side] &= flag;
            question.acknowledged = question.acknowledged.min(acknowledged);
            if rank < question.proposal.0 {
                question.proposal = (rank, contexts);
            }
        }
        self.decide(ballot)
    }

    /// A rank has failed; what is decided by that. All nodes are told of the failure before.
    pub fn lose(&mut self, rank: u32) -> Vec<Verdict> {
        self.failed.insert(rank);
        let awaited =
            self.open.iter_mut().filter_map(|(ballot, one)| one.awaited.remove(&rank).then_some(*ballot));
        let mut awaited: Vec<Ballot> = awaited.collect();
        awaited.sort_unstable();
        awaited.into_iter().filter_map(|ballot| self.decide(ballot)).collect()
    }

    fn decide(&mut self, ballot: Ballot) -> Option<Verdict> {
        if !self.open.get(&ballot)?.awaited.is_empty() {
            return None;
        }
        let Question { mut members, flags, acknowledged, proposal: (_, contexts), .. } =
            self.open.remove(&ballot)?;
        members.sort_unstable();
        let failures = self.failed.len() as u32;
        Some(Verdict { ballot, decision: Decision { flags, acknowledged, failures, contexts }, members })
    }
}
