//! The tree along which every reduction combines.
//!
//! The first ranks are folded in pairs until a power of two is left; of those,
//! neighbours combine, then pairs of neighbours, and so on. The order of
//! operands is that of ranks, so operators need not commute; and the tree
//! depends on the number of ranks alone: not on the root, the length of the
//! vector, the algorithm, nor on what arrives first. So results do not either.

/// Ranks of a group folded to a power of two of seats. A seat is one rank, or
/// two neighbours: the host, and the guest for whom it works.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    seats: u32,
    pairs: u32,
    preferred: u32,
}

impl Folded {
    /// Folds `size` ranks. `preferred` hosts its seat; else the lower rank does.
    pub fn new(size: u32, preferred: u32) -> Folded {
        let seats = 1 << size.ilog2();
        Folded { seats, pairs: size - seats, preferred }
    }

    /// How many seats, a power of two.
    pub fn seats(&self) -> u32 {
        self.seats
    }

    /// How often the number of seats can be halved.
    pub fn levels(&self) -> u32 {
        self.seats.ilog2()
    }

    /// The seat of a rank, as host or guest.
    pub fn seat(&self, rank: u32) -> u32 {
        if rank < 2 * self.pairs {
            rank / 2
        } else {
            rank - self.pairs
        }
    }

    /// The ranks of a seat: the first, and how many.
    pub fn ranks(&self, seat: u32) -> (u32, u32) {
        if seat < self.pairs {
            (2 * seat, 2)
        } else {
            (seat + self.pairs, 1)
        }
    }

    /// The rank that works for a seat.
    pub fn host(&self, seat: u32) -> u32 {
        match self.ranks(seat) {
            (first, 2) if self.preferred == first + 1 => first + 1,
            (first, _) => first,
        }
    }

    /// The rank whose part the host of a seat takes over.
    pub fn guest(&self, seat: u32) -> Option<u32> {
        let (first, number) = self.ranks(seat);
        let both = 2 * u64::from(first) + 1;
        (number == 2).then(|| (both - u64::from(self.host(seat))) as u32)
    }
}

/// What a combination is made of.
pub(super) enum Parts<Node> {
    /// What one rank contributes.
    Rank(u32),
    /// Two combinations, the left one of lower ranks.
    Both(Node, Node),
}

/// An order in which operands are combined.
pub(super) trait Plan: Copy {
    /// A combination on the way.
    type Node: Copy;
    /// The last one.
    fn top(&self) -> Self::Node;
    /// What it is made of.
    fn parts(&self, node: Self::Node) -> Parts<Self::Node>;
}

/// A combination of seats, or one rank of a seat of two.
#[derive(Clone, Copy)]
pub(super) enum FoldedNode {
    Seats { first: u32, number: u32 },
    Rank(u32),
}

impl Plan for Folded {
    type Node = FoldedNode;

    #[inline]
    fn top(&self) -> FoldedNode {
        FoldedNode::Seats { first: 0, number: self.seats }
    }

    #[inline]
    fn parts(&self, node: FoldedNode) -> Parts<FoldedNode> {
        let seats = |first, number| FoldedNode::Seats { first, number };
        match node {
            FoldedNode::Rank(rank) => Parts::Rank(rank),
            FoldedNode::Seats { first, number: 1 } => match self.ranks(first) {
                (rank, 1) => Parts::Rank(rank),
                (rank, _) => Parts::Both(FoldedNode::Rank(rank), FoldedNode::Rank(rank + 1)),
            },
            FoldedNode::Seats { first, number } => {
                let half = number / 2;
                Parts::Both(seats(first, half), seats(first + half, half))
            }
        }
    }
}

/// The ranks 0 to some rank, in the order of `scan.rs`: at each level a value comes
/// to cover twice as many ranks.
#[derive(Clone, Copy)]
pub(super) struct Prefix(pub u32);

impl Plan for Prefix {
    /// The last rank, and how often it has been doubled.
    type Node = (u32, u32);

    fn top(&self) -> (u32, u32) {
        (self.0, u32::BITS - self.0.leading_zeros())
    }

    fn parts(&self, (rank, mut level): (u32, u32)) -> Parts<(u32, u32)> {
        while level > 0 {
            level -= 1;
            if let Some(lower) = rank.checked_sub(1 << level) {
                return Parts::Both((lower, level), (rank, level));
            }
        }
        Parts::Rank(rank)
    }
}

/// The lowest `levels` bits of `seat` in reverse: where the share of a seat
/// lies after recursive halving that begins with neighbours.
pub(super) fn reversed(seat: u32, levels: u32) -> u32 {
    if levels == 0 {
        return 0;
    }
    seat.reverse_bits() >> (u32::BITS - levels)
}
