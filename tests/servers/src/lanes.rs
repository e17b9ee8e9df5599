//! Messages between pairs of nodes, of which any may be the next to arrive.

use crate::random::Random;
use std::collections::{BTreeMap, VecDeque};

/// Messages of one node to another, and what they carry: requests by credits of nodes, and credits.
#[derive(Debug, Default)]
struct Lane {
    messages: VecDeque<(Vec<u8>, (u32, u32))>,
    carried: (u32, u32),
    place: usize,
}

/// All that have any.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: BTreeMap<(u32, u32), Lane>,
    pairs: Vec<(u32, u32)>,
    count: u64,
}

impl Lanes {
    /// One more message.
    pub fn add(&mut self, pair: (u32, u32), message: Vec<u8>, carried: (u32, u32)) {
        let pairs = &mut self.pairs;
        let lane = self.lanes.entry(pair).or_insert_with(|| {
            pairs.push(pair);
            Lane { place: pairs.len() - 1, ..Lane::default() }
        });
        lane.messages.push_back((message, carried));
        lane.carried = (lane.carried.0 + carried.0, lane.carried.1 + carried.1);
        self.count += 1;
    }

    /// The first message of a pair.
    pub fn take(&mut self, from: u32, to: u32) -> Vec<u8> {
        let lane = self.lanes.get_mut(&(from, to)).expect("there is one");
        let (message, carried) = lane.messages.pop_front().expect("it has messages");
        lane.carried = (lane.carried.0 - carried.0, lane.carried.1 - carried.1);
        self.count -= 1;
        if lane.messages.is_empty() {
            self.forget((from, to));
        }
        message
    }

    fn forget(&mut self, pair: (u32, u32)) {
        let Some(lane) = self.lanes.remove(&pair) else { return };
        self.pairs.swap_remove(lane.place);
        if let Some(moved) = self.pairs.get(lane.place) {
            self.lanes.get_mut(moved).expect("it is listed").place = lane.place;
        }
        self.count -= lane.messages.len() as u64;
    }

    /// A pair that has messages.
    pub fn by_chance(&self, random: &mut Random) -> Option<(u32, u32)> {
        let pairs = self.pairs.len() as u64;
        (pairs > 0).then(|| self.pairs[random.below(pairs) as usize])
    }

    /// Requests and credits on their way.
    pub fn carried(&self, from: u32, to: u32) -> (u32, u32) {
        self.lanes.get(&(from, to)).map_or((0, 0), |lane| lane.carried)
    }

    /// How many messages there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What goes to a node is lost; what it has sent may still arrive.
    pub fn lose(&mut self, to: u32) {
        let lost: Vec<(u32, u32)> = self.pairs.iter().copied().filter(|pair| pair.1 == to).collect();
        lost.into_iter().for_each(|pair| self.forget(pair));
    }
}
