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

/// How many messages with different peers are under way at once where one rank
/// speaks with each.
pub(super) const WINDOW: u32 = 16;
