//! Agreement over several hosts, driven by seeds: ranks speak and fail, agents pass on what they have heard, or are lost
//! with all that they have not.

use super::council::{Council, Verdict};
use serried_engine::job::agreements::{Ballot, Voice};
use serried_engine::job::voicing::Contribution;
use std::collections::{HashMap, VecDeque};

const ROUNDS: u32 = 4;
/// The communicators: which ranks are members.
const COMMUNICATORS: [fn(u32) -> bool; 3] = [|_| true, |rank| rank.is_multiple_of(2), |rank| rank < 3];

/// What an agent has to pass on to the launcher.
enum Up {
    Said(u32, Contribution),
    Ended(u32),
}

/// What the launcher has told an agent.
#[derive(Clone)]
enum Down {
    Failed(u32),
    Decided(Verdict),
}

#[derive(Default)]
struct Node {
    ranks: Vec<u32>,
    up: VecDeque<Up>,
    down: VecDeque<Down>,
    failures: Vec<u32>,
    is_lost: bool,
}

/// How many agreements of a communicator a rank has begun and ended.
#[derive(Clone, Copy, Default)]
struct Member {
    spoken: u32,
    ended: u32,
}

struct World {
    random: u64,
    size: u32,
    council: Council,
    nodes: Vec<Node>,
    alive: Vec<bool>,
    members: Vec<[Member; 3]>,
    failed: Vec<u32>,
    verdicts: HashMap<Ballot, Verdict>,
}

fn flag(rank: u32, number: u32) -> u32 {
    !(1 << ((rank + number) % 32))
}

impl World {
    fn new(seed: u64, nodes: u32, on_each: u32) -> World {
        let node =
            |node: u32| Node { ranks: (node * on_each..(node + 1) * on_each).collect(), ..Node::default() };
        let size = nodes * on_each;
        World {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            size,
            council: Council::default(),
            nodes: (0..nodes).map(node).collect(),
            alive: vec![true; size as usize],
            members: vec![[Member::default(); 3]; size as usize],
            failed: Vec::new(),
            verdicts: HashMap::new(),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 20) as usize % limit
    }

    fn tell_all(&mut self, what: &Down) {
        self.nodes.iter_mut().filter(|node| !node.is_lost).for_each(|node| node.down.push_back(what.clone()));
    }

    fn decided(&mut self, verdicts: impl IntoIterator<Item = Verdict>) {
        for verdict in verdicts {
            assert!(self.verdicts.insert(verdict.ballot, verdict.clone()).is_none(), "decided twice");
            self.tell_all(&Down::Decided(verdict));
        }
    }

    fn launcher_loses(&mut self, rank: u32) {
        if !self.failed.contains(&rank) {
            self.failed.push(rank);
            self.tell_all(&Down::Failed(rank));
            let verdicts = self.council.lose(rank);
            self.decided(verdicts);
        }
    }

    fn speak(&mut self, rank: u32, which: usize) {
        let node = self.nodes.iter_mut().find(|node| node.ranks.contains(&rank)).unwrap();
        let Member { spoken, ended } = &mut self.members[rank as usize][which];
        if *spoken == *ended && *ended < ROUNDS && COMMUNICATORS[which](rank) {
            *spoken += 1;
            let said = Contribution {
                ballot: Ballot { context: 2 + 2 * which as u64, number: *spoken },
                voice: Voice { flag: flag(rank, *spoken), acknowledged: *spoken },
                side: rank as usize % 2,
                contexts: [u64::from(rank) + 1, 100 + u64::from(rank)],
                parts: Contribution::parts_of((0..self.size).filter(|&one| COMMUNICATORS[which](one))),
            };
            node.up.push_back(Up::Said(rank, said));
        }
    }

    /// An agent passes on one thing.
    fn pass_up(&mut self, node: usize) {
        match self.nodes[node].up.pop_front() {
            Some(Up::Said(rank, said)) => {
                let verdict = self.council.hear(rank, &said);
                self.decided(verdict);
            }
            Some(Up::Ended(rank)) => self.launcher_loses(rank),
            None => {}
        }
    }

    /// An agent hears one thing, and its ranks take it.
    fn pass_down(&mut self, node: usize) {
        match self.nodes[node].down.pop_front() {
            Some(Down::Failed(rank)) => self.nodes[node].failures.push(rank),
            Some(Down::Decided(verdict)) => {
                let known = self.nodes[node].failures.len() as u32;
                assert!(verdict.decision.failures <= known, "of failures nothing is known here");
                for rank in self.nodes[node].ranks.clone() {
                    self.take(rank, &verdict);
                }
            }
            None => {}
        }
    }

    fn take(&mut self, rank: u32, verdict: &Verdict) {
        let Verdict { ballot: Ballot { context, number }, decision, members } = verdict;
        let which = (context / 2 - 1) as usize;
        let member = &mut self.members[rank as usize][which];
        if !self.alive[rank as usize] || !COMMUNICATORS[which](rank) {
            return;
        }
        assert_eq!((member.spoken, member.ended + 1), (*number, *number), "rank {rank} is not that far");
        member.ended += 1;
        assert!(
            members.contains(&rank)
                && decision.contexts == [u64::from(members[0]) + 1, 100 + u64::from(members[0])]
        );
        // Who goes on by this decision has spoken, and everybody has the same.
        let gone = &self.failed[..decision.failures as usize];
        for other in (0..self.size).filter(|&other| COMMUNICATORS[which](other) && !gone.contains(&other)) {
            assert!(
                members.contains(&other) && decision.flags[other as usize % 2] & !flag(other, *number) == 0
            );
        }
        assert_eq!(decision.acknowledged, *number);
    }

    fn kill(&mut self, rank: u32) {
        if std::mem::replace(&mut self.alive[rank as usize], false) {
            let node = self.nodes.iter_mut().find(|node| node.ranks.contains(&rank)).unwrap();
            node.up.push_back(Up::Ended(rank));
        }
    }

    fn lose_node(&mut self, node: usize) {
        let lost = &mut self.nodes[node];
        (lost.is_lost, lost.up, lost.down) = (true, VecDeque::new(), VecDeque::new());
        for rank in lost.ranks.clone() {
            self.alive[rank as usize] = false;
            self.launcher_loses(rank);
        }
    }

    fn is_over(&self) -> bool {
        let is_done = |rank: u32| {
            let ended = |which: usize| self.members[rank as usize][which].ended == ROUNDS;
            (0..COMMUNICATORS.len()).all(|which| !COMMUNICATORS[which](rank) || ended(which))
        };
        (0..self.size).all(|rank| !self.alive[rank as usize] || is_done(rank))
    }

    fn step(&mut self, kills: bool) {
        let node = self.below(self.nodes.len());
        let rank = self.below(self.size as usize) as u32;
        match self.below(if kills { 60 } else { 57 }) {
            0..20 if self.alive[rank as usize] => {
                let which = self.below(COMMUNICATORS.len());
                self.speak(rank, which);
            }
            20..40 if !self.nodes[node].is_lost => self.pass_up(node),
            40..57 if !self.nodes[node].is_lost => self.pass_down(node),
            57..59 if rank > 0 => self.kill(rank),
            59 if node > 0 && self.below(4) == 0 && !self.nodes[node].is_lost => self.lose_node(node),
            _ => {}
        }
    }
}

#[test]
fn whoever_fails_whenever_those_that_go_on_agree() {
    for seed in 0..4_000 {
        let mut world = World::new(seed, 1 + (seed % 4) as u32, 1 + (seed / 4 % 4) as u32);
        let mut steps = 0;
        while !world.is_over() {
            steps += 1;
            assert!(steps < 200_000, "seed {seed}: some rank waits for ever");
            world.step(steps % 3 == 0);
        }
    }
}

#[test]
fn an_agreement_ends_when_the_last_has_spoken_or_failed() {
    let mut council = Council::default();
    let said = |rank: u32| Contribution {
        ballot: Ballot { context: 2, number: 1 },
        voice: Voice { flag: 6 + rank, acknowledged: rank },
        side: 0,
        contexts: [10 + u64::from(rank), 0],
        parts: Contribution::parts_of(0..3),
    };
    assert_eq!(council.hear(2, &said(2)), None);
    assert_eq!(council.lose(0), []);
    let verdict = council.hear(1, &said(1)).unwrap();
    assert_eq!((verdict.members, verdict.decision.flags), (vec![1, 2], [7 & 8, u32::MAX]));
    assert_eq!((verdict.decision.failures, verdict.decision.contexts), (1, [11, 0]));
    assert_eq!(council.hear(0, &said(0)), None, "it was said to have failed");
}
