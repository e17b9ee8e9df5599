//! Which rank lives on which node, in a few words however many there are: blocks of nodes that have ranks one after
//! the other, dealt again from the first block until every rank has its node.
//!
//! `(vector,(first node,nodes,ranks on each),…)` is how Hydra, Intel's Hydra and Slurm write it
//! (`PMI_process_mapping`).

use crate::{Class, Error, Result};

/// Nodes that follow each other, and have the same number of ranks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first node.
    pub first: u32,
    /// How many nodes.
    pub nodes: u32,
    /// Ranks on each of them.
    pub ranks: u32,
}

/// The nodes of the ranks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMap {
    size: u32,
    nodes: u32,
    blocks: Box<[Block]>,
    /// Ranks after which the blocks begin again.
    turn: u64,
}

impl NodeMap {
    /// All ranks on one node.
    pub fn one(size: u32) -> NodeMap {
        NodeMap::new(&[Block { first: 0, nodes: 1, ranks: size.max(1) }], size).expect("one node has ranks")
    }

    /// The map of these blocks for a job of `size` ranks; `None` if they have no rank, or leave out a node.
    pub fn new(blocks: &[Block], size: u32) -> Option<NodeMap> {
        let blocks: Box<[Block]> =
            blocks.iter().copied().filter(|block| block.nodes > 0 && block.ranks > 0).collect();
        let turn = blocks.iter().map(|block| u64::from(block.nodes) * u64::from(block.ranks)).sum();
        let nodes = count_nodes(&blocks, size)?;
        (turn > 0).then_some(NodeMap { size, nodes, blocks, turn })
    }

    /// The map of a list that has the node of each rank.
    pub fn of_list(nodes: &[u32]) -> Option<NodeMap> {
        let mut blocks: Vec<Block> = Vec::new();
        for run in nodes.chunk_by(|one, other| one == other) {
            let (node, ranks) = (run[0], run.len() as u32);
            match blocks.last_mut() {
                Some(last) if last.ranks == ranks && last.first + last.nodes == node => last.nodes += 1,
                _ => blocks.push(Block { first: node, nodes: 1, ranks }),
            }
        }
        let repeats = |&length: &usize| {
            let whole = NodeMap::new(&blocks[..length], nodes.len() as u32);
            whole
                .is_some_and(|map| (0..map.size).zip(nodes).all(|(rank, &node)| map.place_of(rank).0 == node))
        };
        let length = (1..blocks.len().min(LONGEST_TURN)).find(repeats).unwrap_or(blocks.len());
        NodeMap::new(&blocks[..length], nodes.len() as u32)
    }

    /// Reads the words of a launcher. A map without blocks (Hydra writes `(vector,0)` for one rank) puts all on node 0.
    ///
    /// # Errors
    /// `Other` when it is not of this form.
    pub fn parse(text: &str, size: u32) -> Result<NodeMap> {
        let malformed =
            || Error::new(Class::Other, format!("the launcher's PMI_process_mapping makes no sense: {text}"));
        let inner = text.trim().strip_prefix("(vector,").and_then(|rest| rest.strip_suffix(')'));
        let parts = inner.ok_or_else(malformed)?.split(['(', ')']).map(|part| part.trim_matches(','));
        let mut blocks = Vec::new();
        for part in parts.filter(|part| part.contains(',')) {
            let numbers: Option<Vec<u32>> =
                part.split(',').map(|number| number.trim().parse().ok()).collect();
            match numbers.as_deref() {
                Some(&[first, nodes, ranks]) => blocks.push(Block { first, nodes, ranks }),
                _ => return Err(malformed()),
            }
        }
        match blocks.is_empty() {
            true => Ok(NodeMap::one(size)),
            false => NodeMap::new(&blocks, size).ok_or_else(malformed),
        }
    }

    /// In the words of launchers.
    pub fn to_text(&self) -> String {
        let block = |block: &Block| format!(",({},{},{})", block.first, block.nodes, block.ranks);
        format!("(vector{})", self.blocks.iter().map(block).collect::<String>())
    }

    /// Ranks of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Nodes that have a rank.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The node of a rank, and its number among the ranks of that node.
    ///
    /// # Panics
    /// If the rank is not below [`NodeMap::size`].
    pub fn place_of(&self, rank: u32) -> (u32, u32) {
        assert!(rank < self.size, "rank {rank} of {}", self.size);
        let (turn, mut left) = (u64::from(rank) / self.turn, u64::from(rank) % self.turn);
        for (index, block) in self.blocks.iter().enumerate() {
            let here = u64::from(block.nodes) * u64::from(block.ranks);
            if left < here {
                let node = block.first + (left / u64::from(block.ranks)) as u32;
                let before =
                    turn * self.in_blocks(node, &self.blocks) + self.in_blocks(node, &self.blocks[..index]);
                return (node, (before + left % u64::from(block.ranks)) as u32);
            }
            left -= here;
        }
        unreachable!("the blocks have as many ranks as a turn")
    }

    /// The first rank of a node.
    pub fn first_of(&self, node: u32) -> u32 {
        let mut begin = 0;
        for block in &self.blocks {
            if (block.first..block.first.saturating_add(block.nodes)).contains(&node) {
                return begin + (node - block.first) * block.ranks;
            }
            begin += block.nodes * block.ranks;
        }
        panic!("node {node} of {}", self.nodes)
    }

    /// The ranks of a node, in ascending order.
    pub fn ranks_of(&self, node: u32) -> Vec<u32> {
        let mut ranks = Vec::new();
        let mut begin = 0u64;
        while begin < u64::from(self.size) {
            for block in &self.blocks {
                if (block.first..block.first.saturating_add(block.nodes)).contains(&node) {
                    let first = begin + u64::from(node - block.first) * u64::from(block.ranks);
                    let end = (first + u64::from(block.ranks)).min(u64::from(self.size));
                    ranks.extend((first..end).map(|rank| rank as u32));
                }
                begin += u64::from(block.nodes) * u64::from(block.ranks);
            }
        }
        ranks
    }

    /// How many ranks a node has.
    pub fn ranks_on(&self, node: u32) -> u32 {
        let turns = u64::from(self.size) / self.turn;
        let mut left = u64::from(self.size) % self.turn;
        let mut ranks = turns * self.in_blocks(node, &self.blocks);
        for block in &self.blocks {
            let here = u64::from(block.nodes) * u64::from(block.ranks);
            if (block.first..block.first.saturating_add(block.nodes)).contains(&node) {
                let before = u64::from(node - block.first) * u64::from(block.ranks);
                ranks += left.saturating_sub(before).min(u64::from(block.ranks));
            }
            left = left.saturating_sub(here);
        }
        ranks as u32
    }

    /// Ranks of a node in one turn of some blocks.
    fn in_blocks(&self, node: u32, blocks: &[Block]) -> u64 {
        let has = |block: &&Block| (block.first..block.first.saturating_add(block.nodes)).contains(&node);
        blocks.iter().filter(has).map(|block| u64::from(block.ranks)).sum()
    }
}

/// A turn of more blocks is not looked for in a list.
const LONGEST_TURN: usize = 64;

/// How many nodes these blocks have, if they are numbered without a gap, as far as there are ranks for them.
fn count_nodes(blocks: &[Block], size: u32) -> Option<u32> {
    let mut left = size;
    let mut found: Vec<(u32, u32)> = Vec::new();
    for block in blocks {
        let used = block.nodes.min(left.div_ceil(block.ranks));
        left -= left.min(used.saturating_mul(block.ranks));
        if used > 0 {
            found.push((block.first, block.first.checked_add(used)?));
        }
    }
    found.sort_unstable();
    found.into_iter().try_fold(0, |end, (first, next)| (first <= end).then_some(end.max(next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, size: u32) -> Vec<u32> {
        let map = NodeMap::parse(text, size).unwrap();
        (0..size).map(|rank| map.place_of(rank).0).collect()
    }

    #[test]
    fn one_node_has_all_ranks() {
        assert_eq!(parse("(vector,(0,1,4))", 4), [0, 0, 0, 0]);
    }

    #[test]
    fn hydra_writes_no_block_for_one_rank() {
        assert_eq!(parse("(vector,0)", 1), [0]);
    }

    #[test]
    fn blocks_repeat_until_every_rank_has_a_node() {
        assert_eq!(parse("(vector,(0,2,2))", 6), [0, 0, 1, 1, 0, 0]);
        assert_eq!(parse("(vector,(0,1,2),(1,2,1))", 4), [0, 0, 1, 2]);
    }

    #[test]
    fn nonsense_is_an_error_that_shows_it() {
        for nonsense in
            ["", "vector", "(vector,(0,1))", "(vector,(0,0,4))", "(vector,(0,x,1))", "(vector,(1,1,1))"]
        {
            let refused = NodeMap::parse(nonsense, 2).unwrap_err();
            assert!(refused.message().contains("PMI_process_mapping"), "{nonsense}");
        }
    }

    /// What a map says, against the list that it stands for.
    fn check(map: &NodeMap, list: &[u32]) {
        assert_eq!(map.nodes(), list.iter().max().unwrap() + 1, "{map:?}");
        for (rank, &node) in list.iter().enumerate() {
            let before = list[..rank].iter().filter(|&&other| other == node).count() as u32;
            assert_eq!(map.place_of(rank as u32), (node, before), "rank {rank}, {map:?}");
        }
        for node in 0..map.nodes() {
            let ranks: Vec<u32> =
                (0..list.len() as u32).filter(|&rank| list[rank as usize] == node).collect();
            assert_eq!(map.first_of(node), ranks[0], "{map:?}");
            assert_eq!((map.ranks_on(node), map.ranks_of(node)), (ranks.len() as u32, ranks), "{map:?}");
        }
        assert_eq!(&NodeMap::parse(&map.to_text(), map.size()).unwrap(), map);
    }

    #[test]
    fn a_list_becomes_few_blocks_and_says_the_same() {
        let cyclic: Vec<u32> = (0..1000).map(|rank| rank % 7).collect();
        let block: Vec<u32> = (0..1000).map(|rank| rank / 8).collect();
        for (list, blocks) in [
            (&cyclic[..], 1),
            (&block[..], 1),
            (&[0, 0, 1, 1, 2][..], 2),
            (&[0, 1, 0, 1, 0][..], 1),
            (&[0, 0, 1, 0, 0, 1][..], 2),
            (&[0, 1, 1, 0, 2, 2, 2][..], 4),
            (&[1, 0][..], 2),
            (&[0][..], 1),
        ] {
            let map = NodeMap::of_list(list).unwrap();
            assert_eq!(map.blocks().len(), blocks, "{list:?}");
            check(&map, list);
        }
        assert_eq!(NodeMap::of_list(&[0, 2]), None);
    }
}
