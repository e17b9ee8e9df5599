//! How a group keeps its members.

use std::sync::Arc;

/// Below this many members a look-up walks the list.
const WALK: usize = 16;

/// Job ranks in their order.
#[derive(Clone, Debug)]
pub(super) enum Members {
    /// Rank `r` is job rank `first + r * stride`; `stride` is not 0.
    Strided { first: u32, stride: i64, size: u32 },
    /// Any order.
    Listed(Arc<List>),
}

/// Job ranks, and where each one stands.
#[derive(Debug)]
pub(super) struct List {
    ranks: Vec<u32>,
    /// Open addressing, a power of two of slots, at least half of them free:
    /// rank + 1, or 0 for a free slot. Empty for short lists.
    slots: Vec<u32>,
}

impl Members {
    pub(super) fn new(ranks: Vec<u32>) -> Members {
        let (first, second) = (ranks.first().copied(), ranks.get(1).copied());
        let stride = match (first, second) {
            (Some(first), Some(second)) => i64::from(second) - i64::from(first),
            _ => 1,
        };
        let even = ranks.windows(2).all(|pair| i64::from(pair[1]) - i64::from(pair[0]) == stride);
        if even && stride != 0 {
            return Members::Strided { first: first.unwrap_or(0), stride, size: ranks.len() as u32 };
        }
        let slots = if ranks.len() <= WALK { Vec::new() } else { index(&ranks) };
        Members::Listed(Arc::new(List { ranks, slots }))
    }

    pub(super) fn size(&self) -> u32 {
        match self {
            Members::Strided { size, .. } => *size,
            Members::Listed(list) => list.ranks.len() as u32,
        }
    }

    /// The job rank of a member, if there is such a member.
    #[inline(always)]
    pub(super) fn find(&self, rank: u32) -> Option<u32> {
        match self {
            Members::Strided { first, stride, size } => {
                (rank < *size).then(|| (i64::from(*first) + i64::from(rank) * stride) as u32)
            }
            Members::Listed(list) => list.ranks.get(rank as usize).copied(),
        }
    }

    pub(super) fn get(&self, rank: u32) -> u32 {
        self.find(rank).unwrap_or_else(|| panic!("rank {rank} of a group of {}", self.size()))
    }

    pub(super) fn rank_of(&self, job_rank: u32) -> Option<u32> {
        match self {
            Members::Strided { first, stride: 1, size } => {
                job_rank.checked_sub(*first).filter(|rank| rank < size)
            }
            Members::Strided { first, stride, size } => {
                let distance = i64::from(job_rank) - i64::from(*first);
                let rank = distance / stride;
                let inside = distance % stride == 0 && (0..i64::from(*size)).contains(&rank);
                inside.then_some(rank as u32)
            }
            Members::Listed(list) => list.rank_of(job_rank),
        }
    }

    pub(super) fn same(&self, other: &Members) -> bool {
        match (self, other) {
            (Members::Listed(mine), Members::Listed(theirs)) => {
                Arc::ptr_eq(mine, theirs) || mine.ranks == theirs.ranks
            }
            _ => {
                self.size() == other.size() && (0..self.size()).all(|rank| self.get(rank) == other.get(rank))
            }
        }
    }
}

impl List {
    fn rank_of(&self, job_rank: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return self.ranks.iter().position(|&member| member == job_rank).map(|rank| rank as u32);
        }
        let mut slot = home(job_rank, self.slots.len());
        while self.slots[slot] != 0 {
            let rank = self.slots[slot] - 1;
            if self.ranks[rank as usize] == job_rank {
                return Some(rank);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        None
    }
}

fn index(ranks: &[u32]) -> Vec<u32> {
    let mut slots = vec![0; (ranks.len() * 2).next_power_of_two()];
    for (rank, &job_rank) in ranks.iter().enumerate() {
        let mut slot = home(job_rank, slots.len());
        while slots[slot] != 0 {
            slot = (slot + 1) & (slots.len() - 1);
        }
        slots[slot] = rank as u32 + 1;
    }
    slots
}

/// Where the search for a job rank begins: multiplicative hashing, so that
/// regular ranks spread.
fn home(job_rank: u32, slots: usize) -> usize {
    (u64::from(job_rank).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (slots - 1)
}
