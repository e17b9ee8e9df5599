//! Jobs that go on without the ranks that have failed (`--on-failure=continue`).
//!
//! A rank counts as failed when its process has ended between MPI_Init and MPI_Finalize. The others read that in the
//! node segment, where this is written, and are rung; what they do about it is theirs.

use super::options::OnFailure;
use super::rank::Life;
use super::supervisor::Supervisor;
use super::verdict::{Cause, Failure, Stage};
use serried_engine::job::NodeView;
use serried_engine::transport::node::{doorbell_in, note_failure_in};
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
        let node = &self.job.node;
        if let Ok(view) = NodeView::open(node.descriptor().as_fd(), true) {
            note_failure_in(&view, failure.rank);
        }
        node.note_failure(failure.rank);
        if (0..self.plan.size).all(|rank| node.failure_of(rank).is_some()) {
            return false;
        }
        let text = self.story(failure);
        self.tell(&text);
        self.ring_all();
        true
    }

    fn ring_all(&self) {
        let Ok(view) = NodeView::open(self.job.node.descriptor().as_fd(), true) else { return };
        let alive = (0..self.plan.size).filter(|&rank| self.ranks[rank as usize].life != Life::Ended);
        alive.filter_map(|rank| doorbell_in(&view, rank)).for_each(|doorbell| doorbell.ring());
    }
}
