//! Short blocks from every rank to every rank: one message between two nodes, not one between each
//! two of their ranks.
//!
//! For every other node there is a rank of mine that carries what goes there and what comes from
//! there. First the ranks of a node give their blocks to those that carry them, then these exchange
//! all blocks of two nodes, and then they hand out what has come.

use super::joined::joined;
use super::plan::Writing;
use crate::collective::{Blocks, Data, Neighbourhood, Operation, Sent};
use crate::Result;

/// What one rank of mine carries.
struct Load {
    /// The other ends, as places among the nodes.
    nodes: Vec<usize>,
    /// How many blocks each rank of my node sends to them.
    blocks: u64,
}

impl Writing<'_> {
    /// Which rank of a node, as a place there, carries what it exchanges with another one.
    fn carrier(&self, node: usize, other: usize) -> usize {
        (node + other) % self.of.nodes[node].len()
    }

    /// What the rank at a place of my node carries.
    fn load(&self, place: usize) -> Load {
        let carries = |other: &usize| self.carrier(self.of.mine, *other) == place;
        let nodes: Vec<usize> = (0..self.of.nodes.len()).filter(carries).collect();
        let blocks = nodes.iter().map(|&node| self.of.nodes[node].len() as u64).sum();
        Load { nodes, blocks }
    }

    /// The blocks of a buffer that a rank of mine carries, in the order of nodes and ranks.
    fn carried(&self, load: &Load, first: &Data) -> Result<Data> {
        let ranks = load.nodes.iter().flat_map(|&node| &self.of.nodes[node]);
        joined(ranks.map(|&rank| first.blocks(rank, 1)))
    }

    pub(super) fn alltoall_by_pairs(mut self, send: Option<&Data>, receive: &Data) -> Result<Self> {
        let here = self.of.node().len();
        let me = self.of.node().iter().position(|&rank| rank == self.of.rank).unwrap_or(0);
        let loads: Vec<Load> = (0..here).map(|place| self.load(place)).collect();
        let (mine, block) = (&loads[me], receive.bytes());
        // What comes of each rank of my node for others, and what comes of others for each of mine.
        let out = self.room(receive, here * mine.blocks as usize)?;
        let come = self.room(receive, here * mine.blocks as usize)?;
        let from_here = |place: usize, first: u64, number: u64| {
            out.items((place as u64 * mine.blocks + first) * block, number * block)
        };
        let collected = (0..here).map(|place| from_here(place, 0, mine.blocks)).collect();
        let source = send.unwrap_or(receive);
        let given: Result<Blocks> = loads.iter().map(|load| self.carried(load, source)).collect();
        self.within(Operation::Alltoallw { send: Some(given?), receive: collected });

        let (mut peers, mut sent, mut received) = (Vec::new(), Blocks::new(), Blocks::new());
        // For each rank of mine, what it gets of the nodes that I carry for.
        let mut for_mine: Vec<Vec<Data>> = vec![Vec::new(); here];
        let mut first = 0;
        for &node in &mine.nodes {
            let number = self.of.nodes[node].len() as u64;
            let arrived = come.items(first * here as u64 * block, number * here as u64 * block);
            for index in 0..number {
                for (place, blocks) in for_mine.iter_mut().enumerate() {
                    blocks.push(match node == self.of.mine {
                        true => from_here(index as usize, first + place as u64, 1),
                        false => arrived.items((index * here as u64 + place as u64) * block, block),
                    });
                }
            }
            if node != self.of.mine {
                peers.push(Some(self.of.nodes[node][self.carrier(node, self.of.mine)]));
                sent.push(joined((0..here).map(|place| from_here(place, first, number)))?);
                received.push(arrived);
            }
            first += number;
        }
        self.exchange(peers, sent, received);
        let handed: Result<Blocks> = for_mine.into_iter().map(joined).collect();
        let targets: Result<Blocks> = loads.iter().map(|load| self.carried(load, receive)).collect();
        self.within(Operation::Alltoallw { send: Some(handed?), receive: targets? });
        Ok(self)
    }

    /// Messages with ranks of other nodes.
    fn exchange(&mut self, peers: Vec<Option<u32>>, send: Blocks, receive: Blocks) {
        if peers.is_empty() {
            return;
        }
        let hood = Neighbourhood { sources: peers.clone(), destinations: peers, cartesian: false };
        let operation = Operation::Neighbours { hood, send: Sent::Each(send), receive };
        let all = (0..self.of.size).collect();
        self.phase(all, false, operation);
    }
}
