//! Ranks that cannot go on: the graph of waits, with "all of" and "any of". Pure.
//!
//! A rank can go on if it computes, or if one of the ways on that one of its threads waits for is
//! open: if each need of that way can be met by some rank that can go on. The ranks that cannot, by
//! the smallest set for which that is true, are stuck: nobody outside of that set can help, and
//! inside everyone waits.
//!
//! A collective operation under way goes on by itself while its rank waits for
//! something else, so it is a node of its own.

use serried_engine::observe::description::{Description, Key, Need};
use std::collections::HashMap;

/// What is known of a rank.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It has not answered: it computes, sleeps or is stopped, and may do
    /// anything later.
    Free,
    /// It will never do anything for others again: it has finalized or ended. With what it has
    /// left behind.
    Finalized(Option<Box<Description>>),
    /// It waits, for this.
    Waiting(Box<Description>),
}

impl Standing {
    /// The description, if it waits.
    pub fn description(&self) -> Option<&Description> {
        match self {
            Standing::Waiting(description) => Some(description),
            _ => None,
        }
    }

    /// What it has told of itself.
    fn told(&self) -> Option<&Description> {
        match self {
            Standing::Waiting(description) | Standing::Finalized(Some(description)) => Some(description),
            _ => None,
        }
    }

    /// Whether it has finalized or ended.
    pub fn is_gone(&self) -> bool {
        matches!(self, Standing::Finalized(_))
    }
}

/// Who can go on, as far as is known yet.
struct Moving<'a> {
    ranks: &'a [Standing],
    waits: Vec<bool>,
    collectives: HashMap<(u32, Key), bool>,
}

impl Moving<'_> {
    /// Whether a peer can do what a rank needs, or has done it: perhaps it is on its way.
    fn can_meet(&self, peer: u32, (rank, need): (u32, &Need)) -> bool {
        let can = match self.ranks.get(peer as usize) {
            None | Some(Standing::Free) => true,
            Some(Standing::Finalized(_)) => false,
            Some(Standing::Waiting(_)) => {
                let by_itself = |key: Key| self.collectives.get(&(peer, key)).copied().unwrap_or(false);
                self.waits[peer as usize] || need.collective.is_some_and(by_itself)
            }
        };
        can || self.are_on_their_way(peer, rank)
    }

    /// Whether packets are on their way from one rank to another, over a network that may be slow or broken for a while.
    fn are_on_their_way(&self, from: u32, to: u32) -> bool {
        let told = |rank: u32| self.ranks.get(rank as usize).and_then(Standing::told);
        told(from)
            .zip(told(to))
            .is_some_and(|(one, other)| one.packets.are_on_their_way(from, (to, &other.packets)))
    }

    fn is_open(&self, rank: u32, way: &[Need]) -> bool {
        way.iter().all(|need| need.peers.iter().any(|&peer| self.can_meet(peer, (rank, need))))
    }

    fn can_go_on(&self, rank: u32, description: &Description) -> bool {
        description.unknown
            || !description.free.is_empty()
            || description.threads.iter().any(|thread| thread.ways.iter().any(|way| self.is_open(rank, way)))
    }
}

/// The ranks that cannot go on, in order.
pub fn stuck(ranks: &[Standing]) -> Vec<u32> {
    let mut moving = Moving { ranks, waits: vec![false; ranks.len()], collectives: HashMap::new() };
    loop {
        let mut changed = false;
        for (rank, description) in waiting(ranks) {
            for (key, needs) in &description.collectives {
                if !moving.collectives.contains_key(&(rank, *key)) && moving.is_open(rank, needs) {
                    moving.collectives.insert((rank, *key), true);
                    changed = true;
                }
            }
            if !moving.waits[rank as usize] && moving.can_go_on(rank, description) {
                moving.waits[rank as usize] = true;
                changed = true;
            }
        }
        if !changed {
            return waiting(ranks)
                .map(|(rank, _)| rank)
                .filter(|&rank| !moving.waits[rank as usize])
                .collect();
        }
    }
}

/// The ranks that wait.
pub fn waiting(ranks: &[Standing]) -> impl Iterator<Item = (u32, &Description)> {
    ranks.iter().enumerate().filter_map(|(rank, standing)| Some((rank as u32, standing.description()?)))
}

/// All needs of a rank.
pub fn needs_of(description: &Description) -> impl Iterator<Item = &Need> {
    description.threads.iter().flat_map(|thread| thread.ways.iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::observe::description::Thread;

    fn need(peers: &[u32]) -> Need {
        Need { peers: peers.to_vec(), ..Need::default() }
    }

    fn waits(ways: Vec<Vec<Need>>) -> Standing {
        let threads = vec![Thread { ways, ..Thread::default() }];
        Standing::Waiting(Box::new(Description { threads, ..Description::default() }))
    }

    fn on(peers: &[u32]) -> Standing {
        waits(vec![vec![need(peers)]])
    }

    #[test]
    fn a_circle_is_stuck_and_whoever_waits_for_it() {
        assert_eq!(stuck(&[on(&[1]), on(&[0]), on(&[0])]), [0, 1, 2]);
        assert_eq!(stuck(&[on(&[1]), on(&[0]), Standing::Free]), [0, 1]);
        assert_eq!(stuck(&[on(&[1]), on(&[2]), Standing::Free]), []);
        assert_eq!(stuck(&[on(&[0])]), [0]);
    }

    #[test]
    fn whoever_waits_for_any_is_free_while_one_can_come() {
        assert_eq!(stuck(&[on(&[1, 2]), on(&[0]), Standing::Free]), []);
        assert_eq!(stuck(&[on(&[1, 2]), on(&[0]), Standing::Finalized(None)]), [0, 1]);
        let any = waits(vec![vec![need(&[1])], vec![need(&[2])]]);
        let all = waits(vec![vec![need(&[1]), need(&[2])]]);
        assert_eq!(stuck(&[any, on(&[0]), Standing::Free]), []);
        assert_eq!(stuck(&[all, on(&[0]), Standing::Free]), [0, 1]);
    }

    #[test]
    fn a_rank_that_has_finalized_helps_nobody_and_an_empty_way_is_open() {
        assert_eq!(stuck(&[on(&[1]), Standing::Finalized(None)]), [0]);
        assert_eq!(stuck(&[waits(vec![vec![]])]), []);
        assert_eq!(stuck(&[waits(vec![])]), [0]);
        assert_eq!(stuck(&[on(&[])]), [0]);
    }

    #[test]
    fn packets_on_their_way_free_the_rank_that_waits_for_their_sender() {
        let with_packets = |mut standing: Standing, peer, counts| {
            if let Standing::Waiting(description) = &mut standing {
                description.packets.add(peer, counts);
            }
            standing
        };
        let pair = |gone| [with_packets(on(&[1]), 1, [gone, 4]), with_packets(on(&[0]), 0, [4, 7])];
        assert_eq!(stuck(&pair(8)), []);
        assert_eq!(stuck(&pair(7)), [0, 1]);
        let [one, other] = pair(8);
        assert_eq!(stuck(&[one, other, on(&[3]), on(&[2])]), [2, 3]);
        let mut last_words = Box::<Description>::default();
        last_words.packets.add(0, [1, 0]);
        assert_eq!(stuck(&[on(&[1]), Standing::Finalized(Some(last_words))]), []);
    }

    #[test]
    fn a_thread_that_may_act_frees_its_rank() {
        let Standing::Waiting(mut description) = on(&[1]) else { unreachable!() };
        description.free.push("thread 7 runs".into());
        assert_eq!(stuck(&[Standing::Waiting(description), on(&[0])]), []);
        let second = Thread { ways: vec![vec![need(&[2])]], ..Thread::default() };
        let threads = Description { threads: vec![Thread::default(), second], ..Description::default() };
        assert_eq!(stuck(&[Standing::Waiting(Box::new(threads)), on(&[0]), Standing::Free]), []);
    }

    #[test]
    fn a_collective_goes_on_while_its_rank_waits_for_something_else() {
        let part = |peer| Need { collective: Some((3, 9)), ..need(&[peer]) };
        // 0 waits for its part of 1, which waits for 0 with a receive, but whose
        // collective waits for 2, which computes.
        let first = waits(vec![vec![part(1)]]);
        let Standing::Waiting(mut second) = on(&[0]) else { unreachable!() };
        second.collectives.push(((3, 9), vec![part(2)]));
        let second = Standing::Waiting(second);
        assert_eq!(stuck(&[first.clone(), second.clone(), Standing::Free]), []);
        assert_eq!(stuck(&[first, second, on(&[0])]), [0, 1, 2]);
    }
}
