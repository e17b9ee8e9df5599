//! What an agent does in a job that goes on without the ranks that have failed: it writes down what the launcher says, in
//! that order, and rings its ranks.

use super::super::rank::Life;
use super::here::Here;
use crate::system::signals;
use serried_engine::job::agreements::{Ballot, Decision};
use serried_engine::transport::node::{doorbell_in, note_failure_in};

impl Here {
    /// A rank has failed, here or on another node.
    pub fn outlive(&mut self, rank: u32) {
        let noted = self.table.as_ref().map(|table| table.note_failure(rank, self.node.failures() + 1));
        if noted.is_some_and(|noted| noted.is_err()) {
            return self.give_up();
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

    /// A communicator is revoked; ranks of this node may know.
    pub fn revoke(&mut self, context: u64) {
        if !self.node.is_revoked(context) && self.node.note_revocation(context).is_err() {
            return self.give_up();
        }
        self.ring_all();
    }

    /// Ranks of several nodes have agreed: those of this one that have spoken are told.
    pub fn decide(&mut self, ballot: Ballot, decision: Decision) {
        for local in 0..self.node.local_ranks() {
            match self.node.agreements(local) {
                Ok(table) => drop(table.decide(ballot, decision)),
                Err(_) => return self.give_up(),
            }
        }
        self.node.note_decision();
        self.ring_all();
    }

    /// Without memory for what they have to know the ranks of this node would wait for ever: they end, and the launcher
    /// hears of it.
    fn give_up(&self) {
        self.targets().into_iter().for_each(|target| signals::send(target, libc::SIGKILL));
    }

    fn ring_all(&self) {
        let alive = self.ranks.iter().enumerate().filter(|(_, rank)| rank.life != Life::Ended);
        let doorbells = alive.filter_map(|(local, _)| doorbell_in(&self.view, local as u32));
        doorbells.for_each(|doorbell| doorbell.ring());
    }
}
