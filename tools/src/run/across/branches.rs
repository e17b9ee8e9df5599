//! The tree of agents: who starts whom.
//!
//! The launcher is the root and has no ranks. Each agent is of one node, and is responsible for the nodes behind it,
//! whose numbers follow its own.

use std::ops::Range;

/// How many agents one process starts, if nothing else is said.
pub const FANOUT: u32 = 32;

/// The parts into which these nodes are divided, each for the agent of its first node.
pub fn divide(nodes: Range<u32>, fanout: u32) -> Vec<Range<u32>> {
    let (count, fanout) = (nodes.end.saturating_sub(nodes.start), fanout.max(1));
    let parts = count.min(fanout);
    let begin = |part: u32| nodes.start + (u64::from(count) * u64::from(part) / u64::from(parts)) as u32;
    (0..parts).map(|part| begin(part)..begin(part + 1)).collect()
}

/// The parts of those for which the agent of the first of these nodes starts others.
pub fn below(nodes: &Range<u32>, fanout: u32) -> Vec<Range<u32>> {
    divide(nodes.start + 1..nodes.end, fanout)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many agents are above each node.
    fn depths(nodes: Range<u32>, fanout: u32, depth: u32, depths: &mut Vec<u32>) {
        depths[nodes.start as usize] += depth;
        below(&nodes, fanout).into_iter().for_each(|part| self::depths(part, fanout, depth + 1, depths));
    }

    #[test]
    fn every_node_has_one_agent_and_few_above_it() {
        for (count, fanout, deepest) in
            [(1, 32, 1), (32, 32, 1), (33, 32, 2), (1000, 32, 2), (10_000, 32, 3), (7, 1, 7)]
        {
            let mut found = vec![0; count];
            divide(0..count as u32, fanout).into_iter().for_each(|part| depths(part, fanout, 1, &mut found));
            assert!(found.iter().all(|&depth| (1..=deepest).contains(&depth)), "{count} {fanout}: {found:?}");
            assert_eq!(found.iter().max(), Some(&deepest), "{count} {fanout}");
        }
        assert!(divide(5..5, 32).is_empty() && below(&(5..6), 32).is_empty());
    }
}
