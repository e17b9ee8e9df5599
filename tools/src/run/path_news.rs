//! What the launcher does when hosts do not hear each other any more, although it hears both.

use super::across::orders::Order;
use super::across::paths::{Finding, Pair};
use super::ending::Reason;
use super::supervisor::Supervisor;
use super::verdict::Stage;
use std::time::{Duration, Instant};

impl Supervisor {
    /// A rank has not heard a peer for so many milliseconds, or, with 0, hears it again.
    pub(super) fn hear_of_path(&mut self, rank: u32, peer: u32, silent: u32) {
        if peer < self.plan.size {
            let Some(agents) = &mut self.agents else { return };
            let of = |rank| (rank, agents.node_of(rank));
            let (rank, peer) = (of(rank), of(peer));
            agents.paths.hear(rank, peer, Duration::from_millis(silent.into()), Instant::now());
        }
    }

    /// Looks at the clock for paths that have broken.
    pub(super) fn tick_paths(&mut self, now: Instant) {
        if self.ending.is_some() || self.agents.as_ref().is_none_or(|agents| agents.paths.are_whole()) {
            return;
        }
        let inside: Vec<bool> = (0..self.plan.size).map(|rank| self.misses_others(rank)).collect();
        let Some(agents) = &mut self.agents else { return };
        let findings = agents.paths.look(now, |rank| inside[rank as usize]);
        findings.into_iter().for_each(|finding| self.tell_of_path(&finding));
    }

    fn misses_others(&self, rank: u32) -> bool {
        let is_inside = matches!(self.stage(rank), Stage::Starting | Stage::Inside);
        is_inside && self.job.node.failure_of(rank).is_none()
    }

    fn tell_of_path(&mut self, finding: &Finding) {
        let limit = self.plan.options.host_timeout;
        let pair = |&(one, other): &Pair| format!("{} and {}", self.host(one), self.host(other));
        match finding {
            Finding::Back(between) => self.say(&format!("serried: {} hear each other again\n", pair(between))),
            Finding::Named(between @ (one, other)) => self.say(&format!(
                "serried: {} have not heard each other for 3 s ({}; {}), though both answer here: the network between them is \
                 broken, or a firewall stands there; waiting up to {limit:?} (--host-timeout)\n",
                pair(between),
                self.ranks_in_words(*one..one + 1),
                self.ranks_in_words(*other..other + 1),
            )),
            Finding::GivenUp(between, node) => {
                let (node, ranks) = (*node, *node..node + 1);
                let words = format!(
                    "serried: {} have not heard each other for {limit:?}; {} is given up ({})",
                    pair(between),
                    self.host(node),
                    self.ranks_in_words(ranks.clone())
                );
                if self.goes_on_without_host(&self.ranks_of(ranks), &words) {
                    // The ranks there do not know that they have failed.
                    if let Some(agents) = &mut self.agents {
                        agents.crew.send(node, &Order::Sweep(libc::SIGKILL));
                    }
                    return;
                }
                self.tell_unless_ending(&format!("{words}; the job is ended\n"), Reason::HostLost);
                self.lost_nodes.push(node);
            }
        }
    }
}
