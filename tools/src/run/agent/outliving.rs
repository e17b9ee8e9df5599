//! What an agent does in a job that goes on without the ranks that have failed: it writes down what the launcher says, in
//! that order, and rings its ranks.

use super::super::rank::Life;
use super::here::Here;
use crate::system::signals;
use serried_engine::transport::node::{doorbell_in, note_failure_in};

impl Here {
    /// A rank has failed, here or on another node.
    pub fn outlive(&mut self, rank: u32) {
        // Without memory for that nobody here would know of it: the ranks end, and the launcher hears of them.
        if self.table.note_failure(rank, self.node.failures() + 1).is_err() {
            return self.targets().into_iter().for_each(|target| signals::send(target, libc::SIGKILL));
        }
        match self.local(rank) {
            Some(local) => {
                note_failure_in(&self.view, local as u32);
                self.node.note_failure(local as u32);
            }
            None => self.node.note_failure_elsewhere(),
        }
        self.ring_all();
    }

    fn ring_all(&self) {
        let alive = self.ranks.iter().enumerate().filter(|(_, rank)| rank.life != Life::Ended);
        let doorbells = alive.filter_map(|(local, _)| doorbell_in(&self.view, local as u32));
        doorbells.for_each(|doorbell| doorbell.ring());
    }
}
