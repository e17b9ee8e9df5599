//! Paths between hosts that have broken, although both hosts answer the launcher: ranks say so. Pure: time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What is heard of a path is told so much later: the launcher may miss one of the hosts itself by then.
const LATER: Duration = Duration::from_secs(1);

/// Two nodes, the lower one first.
pub type Pair = (u32, u32);

/// What is to be said of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It has been broken for some seconds.
    Named(Pair),
    /// It is there again.
    Back(Pair),
    /// It has been broken for so long that nobody waits any more: one node is given up.
    GivenUp(Pair, u32),
}

/// The broken paths of a job.
#[derive(Debug)]
pub struct Paths {
    limit: Duration,
    broken: BTreeMap<Pair, Broken>,
    /// Nodes that the launcher does not hear.
    silent: BTreeSet<u32>,
}

#[derive(Debug)]
struct Broken {
    since: Instant,
    heard: Instant,
    /// Who has said so, and of whom.
    ranks: BTreeSet<(u32, u32)>,
    is_named: bool,
}

impl Paths {
    /// All are there; after `limit` a broken one is given up.
    pub fn new(limit: Duration) -> Paths {
        Paths { limit, broken: BTreeMap::new(), silent: BTreeSet::new() }
    }

    /// A rank has said that a peer has not answered for so long, or that it answers again; both with their nodes.
    pub fn hear(&mut self, rank: (u32, u32), peer: (u32, u32), silent: Duration, now: Instant) {
        let pair = (rank.1.min(peer.1), rank.1.max(peer.1));
        if silent.is_zero() {
            if let Some(broken) = self.broken.get_mut(&pair) {
                broken.ranks.remove(&(rank.0, peer.0));
            }
        } else if pair.0 != pair.1 {
            let since = now.checked_sub(silent).unwrap_or(now);
            let new = || Broken { since, heard: now, ranks: BTreeSet::new(), is_named: false };
            self.broken.entry(pair).or_insert_with(new).ranks.insert((rank.0, peer.0));
        }
    }

    /// The launcher does not hear a node, or hears it again.
    pub fn is_silent(&mut self, node: u32, is_silent: bool) {
        match is_silent {
            true => self.silent.insert(node),
            false => self.silent.remove(&node),
        };
    }

    /// Whether nothing is broken.
    pub fn are_whole(&self) -> bool {
        self.broken.is_empty()
    }

    /// Looks at the clock. Ranks that are no longer `inside` MPI miss nobody.
    pub fn look(&mut self, now: Instant, inside: impl Fn(u32) -> bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (&pair, broken) in &mut self.broken {
            broken.ranks.retain(|&(rank, peer)| inside(rank) && inside(peer));
            let is_heard = ![pair.0, pair.1].iter().any(|node| self.silent.contains(node));
            if broken.ranks.is_empty() {
                findings.extend(broken.is_named.then_some(Finding::Back(pair)));
            } else if is_heard && !broken.is_named && now >= broken.heard + LATER {
                broken.is_named = true;
                findings.push(Finding::Named(pair));
            }
        }
        self.broken.retain(|_, broken| !broken.ranks.is_empty());
        let is_over = |broken: &Broken| broken.is_named && now >= broken.since + self.limit;
        let over = self.broken.iter().find(|(_, broken)| is_over(broken)).map(|(&pair, _)| pair);
        if let Some(pair) = over {
            let node = self.worse_of(pair);
            self.broken.retain(|pair, _| pair.0 != node && pair.1 != node);
            findings.push(Finding::GivenUp(pair, node));
        }
        findings
    }

    /// Of two nodes the one that misses more others, or is missed by them; of two that are alike the latter one.
    fn worse_of(&self, (one, other): Pair) -> u32 {
        let misses = |node: u32| self.broken.keys().filter(|pair| pair.0 == node || pair.1 == node).count();
        if misses(one) > misses(other) {
            one
        } else {
            other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Duration = Duration::from_millis(500);
    const TOLD: Duration = Duration::from_millis(2500);

    /// What is found at which half second, where `hears` says what is heard then.
    fn found(
        half_seconds: u32,
        mut hears: impl FnMut(u32, Instant, &mut Paths),
        inside: impl Fn(u32, u32) -> bool,
    ) -> Vec<(u32, Finding)> {
        let began = Instant::now() + Duration::from_secs(60);
        let mut paths = Paths::new(Duration::from_secs(10));
        let mut all = Vec::new();
        for at in 0..half_seconds {
            let now = began + HALF * at;
            hears(at, now, &mut paths);
            all.extend(paths.look(now, |rank| inside(at, rank)).into_iter().map(|finding| (at, finding)));
        }
        all
    }

    #[test]
    fn a_broken_path_is_named_and_given_up_at_the_limit() {
        let both = |at, now, paths: &mut Paths| {
            if at == 0 {
                paths.hear((4, 2), (2, 1), TOLD, now);
                paths.hear((2, 1), (4, 2), TOLD, now);
            }
        };
        let findings = [(2, Finding::Named((1, 2))), (15, Finding::GivenUp((1, 2), 2))];
        assert_eq!(found(50, both, |_, _| true), findings);
    }

    #[test]
    fn a_path_is_back_when_nobody_misses_anybody() {
        let hears = |at, now, paths: &mut Paths| match at {
            0 => {
                paths.hear((0, 0), (1, 1), TOLD, now);
                paths.hear((1, 1), (0, 0), TOLD, now);
            }
            6 => paths.hear((0, 0), (1, 1), Duration::ZERO, now),
            8 => paths.hear((1, 1), (0, 0), Duration::ZERO, now),
            _ => {}
        };
        let named = (2, Finding::Named((0, 1)));
        assert_eq!(found(50, hears, |_, _| true), [named.clone(), (8, Finding::Back((0, 1)))]);
        assert_eq!(found(50, hears, |at, rank| at < 4 || rank == 0), [named, (4, Finding::Back((0, 1)))]);
    }

    #[test]
    fn a_host_that_the_launcher_misses_itself_is_named_once() {
        let hears = |at, now, paths: &mut Paths| match at {
            0 => paths.hear((0, 0), (1, 1), TOLD, now),
            1 => paths.is_silent(1, true),
            30 => paths.is_silent(1, false),
            _ => {}
        };
        assert_eq!(found(30, hears, |_, _| true), []);
        let named = [(30, Finding::Named((0, 1))), (30, Finding::GivenUp((0, 1), 1))];
        assert_eq!(found(32, hears, |_, _| true), named);
    }

    #[test]
    fn of_a_host_that_misses_several_others_these_are_kept() {
        let hears = |at, now, paths: &mut Paths| {
            if at == 0 {
                [0, 2, 3].into_iter().for_each(|node| paths.hear((1, 1), (node, node), TOLD, now));
            }
        };
        let given_up = |findings: Vec<(u32, Finding)>| findings.last().map(|(_, finding)| finding.clone());
        assert_eq!(given_up(found(50, hears, |_, _| true)), Some(Finding::GivenUp((0, 1), 1)));
    }
}
