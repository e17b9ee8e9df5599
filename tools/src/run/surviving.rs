//! Jobs that go on without the ranks that have failed (`--on-failure=continue`).
//!
//! A rank counts as failed when its process has ended between MPI_Init and MPI_Finalize, or when nothing is heard of its
//! host any more. The others read that in the node segment, where this is written, and are rung; what they do about it is
//! theirs. On other hosts the agents write it, all in the order in which it is said here.

use super::across::orders::{Order, ALL};
use super::agents::Agents;
use super::council::Verdict;
use super::options::OnFailure;
use super::rank::Life;
use super::supervisor::Supervisor;
use super::verdict::{Cause, Failure, Stage};
use serried_engine::job::voicing::Said;
use serried_engine::job::NodeView;
use serried_engine::transport::node::{doorbell_in, note_failure_in};
use std::collections::BTreeSet;
use std::os::fd::AsFd;

impl Supervisor {
    /// Whether the job goes on without a rank: if so, that has been told. The job ends as those end that are left.
    pub(super) fn goes_on_without(&mut self, failure: &Failure) -> bool {
        if self.plan.options.on_failure == OnFailure::Abort || self.ending.is_some() {
            return false;
        }
        let has_ended = matches!(failure.cause, Cause::Killed(_) | Cause::Exited(_) | Cause::NoFinalize);
        match self.stage(failure.rank) {
            Stage::Inside if has_ended => {}
            // Nobody waits for it any more. Its status is that of the job.
            Stage::Finalized if has_ended => {
                self.first_bad.get_or_insert(failure.status());
                return true;
            }
            _ => return false,
        }
        self.note_failure(failure.rank);
        if !self.is_anybody_left() {
            return false;
        }
        let text = self.story(failure);
        self.tell(&text);
        self.ring_all();
        true
    }

    /// Whether the job goes on without the ranks of a host that has gone: if so, they have failed, and that has been told,
    /// with these words before it.
    pub(super) fn goes_on_without_host(&mut self, ranks: &[u32], words: &str) -> bool {
        let lost = ranks.iter().copied().filter(|&rank| self.ranks[rank as usize].life != Life::Ended);
        let lost: Vec<(u32, Stage)> = lost.map(|rank| (rank, self.stage(rank))).collect();
        let has_begun = self.agents.as_ref().is_some_and(|agents| agents.has_begun);
        let is_wanted = self.plan.options.on_failure == OnFailure::Continue;
        if !is_wanted || self.ending.is_some() || !has_begun {
            return false;
        }
        // What is known here of ranks of other hosts is a moment old: one that seems to be outside may have called MPI_Init, and is
        // waited for in any case.
        let has_failed = |stage: Stage| stage.takes_part() || stage == Stage::Outside;
        for &(rank, _) in lost.iter().filter(|(_, stage)| has_failed(*stage)) {
            self.ranks[rank as usize].life = Life::Ended;
            self.note_failure(rank);
        }
        if !self.is_anybody_left() {
            return false;
        }
        self.ring_all();
        self.tell(&format!("{words}; the job goes on without them (--on-failure=continue)\n"));
        true
    }

    fn is_anybody_left(&self) -> bool {
        (0..self.plan.size).any(|rank| self.job.node.failure_of(rank).is_none())
    }

    /// Says that a rank has failed, to observers of the job and to the ranks.
    fn note_failure(&mut self, rank: u32) {
        if let Some(view) = self.view_of_ranks() {
            note_failure_in(&view, rank);
        }
        self.job.node.note_failure(rank);
        // Parties that have met read it where we have written it.
        if !self.agents.as_ref().is_some_and(Agents::shares) {
            self.order_all(&Order::Failed(rank));
        }
        self.council.lose(rank).into_iter().for_each(|verdict| self.decided(verdict));
    }

    /// A rank of several hosts agrees with others, revokes a communicator, or does not hear another one.
    pub(super) fn hear_said(&mut self, rank: u32, said: &Said) {
        match said {
            Said::Path { peer, silent } => self.hear_of_path(rank, *peer, *silent),
            Said::Contribution(said) => {
                let verdict = self.council.hear(rank, said);
                verdict.into_iter().for_each(|verdict| self.decided(verdict));
            }
            Said::Revocation(context) => {
                if self.revoked.insert(*context) {
                    self.order_all(&Order::Revoked(*context));
                }
            }
        }
    }

    /// Tells the nodes of those who have taken part.
    fn decided(&mut self, Verdict { ballot, decision, members }: Verdict) {
        let Some(agents) = &mut self.agents else { return };
        let order = Order::Decided(ballot, decision);
        let nodes: BTreeSet<u32> = members.into_iter().map(|rank| agents.node_of(rank)).collect();
        match nodes.len() as u32 == agents.nodes() {
            true => agents.crew.send(ALL, &order),
            false => nodes.into_iter().for_each(|node| agents.crew.send(node, &order)),
        }
    }

    /// The node segment, if the ranks are here, or in parties that have met.
    fn view_of_ranks(&self) -> Option<NodeView> {
        let segment = self.job.node.descriptor();
        let is_theirs = self.agents.as_ref().is_none_or(Agents::shares);
        is_theirs.then(|| NodeView::open(segment.as_fd(), true).ok()).flatten()
    }

    fn ring_all(&self) {
        let Some(view) = self.view_of_ranks() else { return };
        let alive = (0..self.plan.size).filter(|&rank| self.ranks[rank as usize].life != Life::Ended);
        alive.filter_map(|rank| doorbell_in(&view, rank)).for_each(|doorbell| doorbell.ring());
    }
}
