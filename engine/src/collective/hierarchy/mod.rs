//! Collectives of ranks on several nodes: within each node, then across, then within.
//!
//! A [`Hierarchy`] knows which ranks of a communicator share a node. It writes an
//! operation down as [`Phase`]s: operations of some of the ranks, of my node or of one
//! *speaker* for each node, to be done one after the other. A phase within a node is
//! done as on one node, over shared memory; one across nodes by messages. All of them
//! as messages together are one [`Schedule`], for the nonblocking forms. Long operations
//! go by all ranks of a node (`all_carry.rs`): `selection.rs` says from where on.
//!
//! Promise: the result is the same, to the bit, as without a hierarchy. So reductions
//! go over it only where it combines along the tree of `tree.rs`, or where grouping
//! does not matter. What only two ranks know the length of goes as if there were no nodes;
//! so does reduce_scatter, whose halving begins on the nodes and leaves each rank a share anyway.

mod all_carry;
mod joined;
mod node_pairs;
mod order;
mod plan;
mod scan_over_nodes;
mod ways;

use super::selection::OverNodes;
use super::{Members, Operation, Schedule};
use crate::Result;
pub use plan::{Phase, Work};

/// The ranks of a communicator by node.
#[derive(Debug)]
pub struct Hierarchy {
    rank: u32,
    size: u32,
    /// The ranks of each node, ascending; nodes by their lowest rank.
    nodes: Vec<Vec<u32>>,
    /// Which of them is mine.
    mine: usize,
    /// How many ranks the smallest node has: as many of each node may carry.
    carriers: usize,
    /// Combining within nodes and then across is the tree of all.
    keeps_tree: bool,
}

impl Hierarchy {
    /// Of the members of a communicator, given the node of each; `None` where all are
    /// on one, or each on its own.
    pub fn new(members: Members, node_of: impl Fn(u32) -> u32) -> Option<Hierarchy> {
        let mut nodes: Vec<(u32, Vec<u32>)> = Vec::new();
        for rank in 0..members.size {
            let node = node_of(rank);
            match nodes.iter_mut().find(|(number, _)| *number == node) {
                Some((_, ranks)) => ranks.push(rank),
                None => nodes.push((node, vec![rank])),
            }
        }
        let nodes: Vec<Vec<u32>> = nodes.into_iter().map(|(_, ranks)| ranks).collect();
        if members.remote.is_some() || nodes.len() == 1 || nodes.len() == members.size as usize {
            return None;
        }
        let mine = nodes.iter().position(|ranks| ranks.contains(&members.rank))?;
        let sizes: Vec<u32> = nodes.iter().map(|ranks| ranks.len() as u32).collect();
        let keeps_tree = nodes.iter().all(|ranks| follow(ranks)) && order::keeps_tree(&sizes);
        let carriers = nodes.iter().map(Vec::len).min()?;
        let (rank, size) = (members.rank, members.size);
        Some(Hierarchy { rank, size, nodes, mine, carriers, keeps_tree })
    }

    /// The ranks of my node.
    pub fn node(&self) -> &[u32] {
        &self.nodes[self.mine]
    }

    /// All nodes have as many ranks.
    fn is_even(&self) -> bool {
        self.nodes.iter().all(|ranks| ranks.len() == self.carriers)
    }

    /// The operation as messages, if it goes over the hierarchy.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn schedule(&self, operation: &Operation) -> Result<Option<Schedule>> {
        self.schedule_by(self.way(operation), operation)
    }

    /// The same in a way that it may go.
    pub(super) fn schedule_by(&self, way: OverNodes, operation: &Operation) -> Result<Option<Schedule>> {
        let Some(phases) = self.phases_by(way, operation)? else { return Ok(None) };
        let mut whole = Schedule::new();
        for phase in phases {
            whole.append(phase.schedule()?);
        }
        Ok(Some(whole))
    }
}

/// Whether some ranks, ascending, follow each other.
fn follow(ranks: &[u32]) -> bool {
    ranks[ranks.len() - 1] - ranks[0] == ranks.len() as u32 - 1
}
