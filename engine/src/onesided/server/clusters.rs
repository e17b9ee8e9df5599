//! The study that this project begins from: two levels, with credits of processes.
//!
//! Servers form clusters of `of`. A process sends all its requests for any member of a cluster to one and the same
//! member, which forwards those that are for others: the fair division is by the process's number. A process has
//! credits of its own at each server to which it sends, and its credit comes back with the answer. Servers of a
//! cluster have credits at each other. With `of == 1` every process has buffers at every server, as before the study.

use super::topology::{Hop, Topology, View};
use super::Header;

/// Clusters of servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clusters {
    /// How many nodes there are.
    pub nodes: u32,
    /// Servers in each cluster; the last may have fewer.
    pub of: u32,
}

impl Clusters {
    /// The member of the target's cluster to which a process sends.
    pub fn member(&self, process: u32, target: u32) -> u32 {
        let first = target - target % self.of;
        first + process % self.of.min(self.nodes - first)
    }
}

impl Topology for Clusters {
    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn next(&self, here: u32, request: &Header, gone: View<'_>) -> Option<Hop> {
        let member = self.member(request.origin_rank, request.target);
        let is_there = here == member || (here != request.origin && here != request.target);
        let hop =
            if is_there { Hop { node: request.target, class: 1 } } else { Hop { node: member, class: 0 } };
        (!gone.contains(hop.node)).then_some(hop)
    }

    fn has_one_way(&self) -> bool {
        false
    }

    fn is_by_process(&self, class: u8) -> bool {
        class == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::topology::Gone;
    use super::*;

    #[test]
    fn a_request_is_forwarded_once_at_most() {
        let clusters = Clusters { nodes: 11, of: 4 };
        for (origin, target, rank) in (0..11 * 11 * 6).map(|n| (n % 11, n / 11 % 11, n / 121)) {
            let request = Header { origin, target, origin_rank: 6 * origin + rank, ..Header::default() };
            let (mut here, mut hops) = (origin, Vec::new());
            while here != target {
                let hop = clusters.next(here, &request, Gone::default().all()).expect("nobody is gone");
                (here, hops) = (hop.node, [hops, vec![hop.class]].concat());
            }
            assert!(matches!(hops[..], [] | [0] | [1] | [0, 1]), "{origin} to {target}: {hops:?}");
        }
    }

    #[test]
    fn processes_are_dealt_to_the_members_fairly() {
        let clusters = Clusters { nodes: 100, of: 10 };
        let mut at = [0; 100];
        (0..1200).for_each(|process| at[clusters.member(process, 42) as usize] += 1);
        assert_eq!(at[40..50], [120; 10]);
        assert_eq!(at.iter().sum::<i32>(), 1200);
    }
}
