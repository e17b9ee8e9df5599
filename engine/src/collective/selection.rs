//! Which algorithm for which size: a table for each operation.
//!
//! All ranks of a communicator must choose alike, so a choice depends only on
//! what all of them know: how many ranks, and how many bytes.

/// One line of a table: the algorithm for at least so many ranks and bytes.
pub(super) struct Rule<A> {
    ranks: u32,
    bytes: u64,
    algorithm: A,
}

const fn rule<A>(ranks: u32, bytes: u64, algorithm: A) -> Rule<A> {
    Rule { ranks, bytes, algorithm }
}

/// The first line that fits; the last line of a table fits everything.
pub(super) fn choose<A: Copy>(table: &[Rule<A>], ranks: u32, bytes: u64) -> A {
    let fits = |rule: &&Rule<A>| ranks >= rule.ranks && bytes >= rule.bytes;
    let rule = table.iter().find(fits).unwrap_or(&table[table.len() - 1]);
    rule.algorithm
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broadcast {
    /// Everything down a binomial tree.
    Binomial,
    /// A share to each rank, then an allgather of the shares.
    ScatterAllgather,
}

/// By the bytes of the whole message.
pub(super) static BROADCAST: [Rule<Broadcast>; 2] =
    [rule(4, 128 << 10, Broadcast::ScatterAllgather), rule(0, 0, Broadcast::Binomial)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Across {
    /// A message to each node.
    Tree,
    /// Packets to all nodes at once.
    Group,
}

/// For broadcasts across so many nodes where those have a group (`multicast`), by the bytes of the whole message. The
/// tree needs a message more for each doubling of the nodes; a group has to be acknowledged.
pub(super) static ACROSS: [Rule<Across>; 3] =
    [rule(0, (4 << 20) + 1, Across::Tree), rule(8, 8 << 10, Across::Group), rule(0, 0, Across::Tree)];

/// Both combine along the same tree, so results do not depend on the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// Everything along a tree (or by recursive doubling).
    Tree,
    /// Recursive halving, so that every rank reduces a share.
    Halving,
}

/// By the bytes of the whole vector.
pub(super) static REDUCTION: [Rule<Reduction>; 2] =
    [rule(3, 32 << 10, Reduction::Halving), rule(0, 0, Reduction::Tree)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rooted {
    /// The root speaks with each rank.
    Linear,
    /// Along a binomial tree; inner ranks pass blocks on.
    Binomial,
}

/// For gather and scatter, by the bytes of one block.
pub(super) static ROOTED: [Rule<Rooted>; 2] =
    [rule(0, 4 << 10, Rooted::Linear), rule(0, 0, Rooted::Binomial)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alltoall {
    /// Each pair of ranks exchanges its blocks.
    Pairwise,
    /// Logarithmically many exchanges of many blocks each.
    Bruck,
}

/// By the bytes of one block.
pub(super) static ALLTOALL: [Rule<Alltoall>; 3] =
    [rule(0, 512, Alltoall::Pairwise), rule(12, 0, Alltoall::Bruck), rule(0, 0, Alltoall::Pairwise)];

/// How an operation of ranks on several nodes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverNodes {
    /// As if there were no nodes: messages between all ranks.
    Directly,
    /// One rank of each node speaks for it.
    BySpeakers,
    /// All ranks of a node carry: a share of the data, or what some nodes exchange with theirs.
    ByAll,
}

/// One line of a table: how it goes over at least so many nodes, with so many ranks on the smallest
/// of them, and with so many bytes.
pub(super) struct NodeRule {
    nodes: usize,
    ranks: usize,
    bytes: u64,
    way: OverNodes,
}

const fn over(nodes: usize, ranks: usize, bytes: u64, way: OverNodes) -> NodeRule {
    NodeRule { nodes, ranks, bytes, way }
}

/// The first line that fits; the last line of a table fits everything.
pub(super) fn way_over_nodes(table: &[NodeRule], nodes: usize, ranks: usize, bytes: u64) -> OverNodes {
    let fits = |rule: &&NodeRule| nodes >= rule.nodes && ranks >= rule.ranks && bytes >= rule.bytes;
    table.iter().find(fits).unwrap_or(&table[table.len() - 1]).way
}

/// Operations that go over the nodes, with the bytes by which the way is chosen. The ways were compared by
/// `bench/over_nodes.py` on hosts that share two cores, busy ones: 2 x 2, 2 x 4, 2 x 8 and 4 x 2 ranks.
pub(super) mod over_nodes {
    use super::{over, NodeRule, OverNodes::*};

    /// Allreduce and reduce, by the bytes of the whole vector. By all, 2 x 2 and 2 x 4 ranks took 0.66 to 0.85 of the
    /// time at 64 KiB, and 0.65 to 0.99 from 1 MiB on; in between it was the same within what was measured.
    pub static REDUCTION: [NodeRule; 2] = [over(2, 2, 64 << 10, ByAll), over(0, 0, 0, BySpeakers)];

    /// By the bytes of the whole message. By all, 2 x 2 and 2 x 4 ranks took 0.6 to 0.9 of the time at 256 KiB and
    /// 1 MiB, and up to twice the time at 64 KiB; 4 x 2 ranks on two cores took longer at each size.
    pub static BROADCAST: [NodeRule; 4] = [
        over(3, 4, 256 << 10, ByAll),
        over(3, 0, 0, BySpeakers),
        over(2, 2, 256 << 10, ByAll),
        over(0, 0, 0, BySpeakers),
    ];

    /// Gather and scatter, by the bytes of one block: long ones go straight to their place. So 2 x 2 ranks took 0.02 to
    /// 0.43 of the time at 64 KiB, and 0.22 to 0.95 beyond.
    pub static ROOTED: [NodeRule; 2] = [over(0, 0, 64 << 10, Directly), over(0, 0, 0, BySpeakers)];

    /// Allgather and allgatherv, by the bytes of all blocks: 0.6 of the time at 256 KiB, else the same.
    pub static ALLGATHER: [NodeRule; 2] = [over(2, 2, 64 << 10, ByAll), over(0, 0, 0, BySpeakers)];

    /// By the bytes of one block. By pairs of nodes, 2 x 4 ranks took 0.56 of the time at 128 bytes, and 2 x 8 ranks 0.42
    /// at 512, but twice that of Bruck's way at 128.
    pub static ALLTOALL: [NodeRule; 3] =
        [over(0, 0, 1 << 10, Directly), over(2, 4, 256, ByAll), over(0, 0, 0, Directly)];

    /// Scan and exscan where totals of nodes may take the place of operands. 2 x 4 and 2 x 8 ranks took 0.4 to 0.6 of
    /// the time at 8 bytes to 8 KiB, and 0.3 to 0.4 beyond; 4 x 2 and 4 x 4 ranks on two cores 0.7 to 0.9 from 64 KiB on,
    /// and longer below, as allreduces do there.
    pub static TOTALS: [NodeRule; 1] = [over(0, 0, 0, BySpeakers)];

    /// Scan and exscan where they may not, by the bytes of all operands: short ones go to everybody. So 2 x 8 ranks took
    /// 0.76 of the time at 8 bytes and the same from 8 KiB an operand on.
    pub static OPERANDS: [NodeRule; 3] =
        [over(0, 0, 16 << 10, Directly), over(2, 4, 0, BySpeakers), over(0, 0, 0, Directly)];
}

/// A very long broadcast by all ranks goes in segments of so many bytes, or nearly twice that. Each one costs the waits of
/// a broadcast. Where hosts share two busy cores, wire and copies cannot overlap: there four segments of 1 MiB or of 4 MiB
/// took 1.3 to 1.75 of the time of one. Where each rank has a core, shorter ones should pay; nobody has measured that.
const SEGMENT: u64 = 16 << 20;

/// The segments of so many bytes: first, and how many.
pub(super) fn segments(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let number = (bytes / SEGMENT).max(1);
    let start = move |segment| (u128::from(bytes) * u128::from(segment) / u128::from(number)) as u64;
    (0..number).map(move |segment| (start(segment), start(segment + 1) - start(segment)))
}

/// How many messages with different peers are under way at once where one rank
/// speaks with each.
pub(super) const WINDOW: u32 = 16;

#[cfg(test)]
mod tests {
    use super::over_nodes::{ALLTOALL, REDUCTION};
    use super::{segments, way_over_nodes, OverNodes, SEGMENT};

    #[test]
    fn segments_are_all_of_it() {
        for bytes in [0, 1, SEGMENT - 1, SEGMENT, 2 * SEGMENT - 1, 2 * SEGMENT, 5 * SEGMENT + 77] {
            let mut end = 0;
            for (first, count) in segments(bytes) {
                assert!(first == end && count < 2 * SEGMENT && (count >= SEGMENT || bytes < SEGMENT));
                end += count;
            }
            assert_eq!(end, bytes);
        }
    }

    #[test]
    fn the_way_depends_on_nodes_ranks_and_bytes() {
        let of_sums = |nodes, ranks, bytes| way_over_nodes(&REDUCTION, nodes, ranks, bytes);
        assert_eq!(of_sums(2, 2, 8), OverNodes::BySpeakers);
        assert_eq!(of_sums(2, 2, 64 << 20), OverNodes::ByAll);
        assert_eq!(of_sums(2, 1, 64 << 20), OverNodes::BySpeakers);
        assert_eq!(way_over_nodes(&ALLTOALL, 2, 2, 512), OverNodes::Directly);
        assert_eq!(way_over_nodes(&ALLTOALL, 2, 4, 512), OverNodes::ByAll);
        assert_eq!(way_over_nodes(&ALLTOALL, 2, 2, 64 << 20), OverNodes::Directly);
    }
}
