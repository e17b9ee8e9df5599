//! What has moved between a rank and each of its peers: the matrix of traffic.
//!
//! # Ownership
//! A rank has a row of its own, with an entry for each rank of the node. It alone
//! writes there, with relaxed stores; anyone reads. So what one rank has sent to
//! another stands in the sender's row, and what it has taken out of another's
//! memory stands in the taker's: an observer adds the two up.

use super::count::{add, add_together, move_count};
use crate::JobRank;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Between its owner and one peer; each number only grows.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Flow {
    /// Messages that the owner has sent to the peer, also those of collectives.
    pub messages: AtomicU64,
    /// Their payload.
    pub bytes: AtomicU64,
    /// Bytes that the owner has read from the peer's memory in collectives.
    pub taken: AtomicU64,
    /// Bytes that the owner has written into the peer's memory in collectives.
    pub given: AtomicU64,
}

/// Bytes of a row, in whole pages.
pub const fn row_bytes(ranks: u32) -> usize {
    (ranks as usize * std::mem::size_of::<Flow>()).next_multiple_of(4096)
}

/// The owner's side of its row: empty where there was no memory for it; then all
/// is counted as one peer's, on the page.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    peers: &'static [Flow],
    rest: &'static Flow,
    /// The ranks of the node by their numbers in the job, ascending; empty where both numbers are the same.
    local_ranks: &'static [u32],
}

impl Row {
    /// The row `peers` of a rank; what has no place in it is counted in `rest`, and so is what goes to other nodes.
    pub fn new(peers: &'static [Flow], rest: &'static Flow, local_ranks: &'static [u32]) -> Row {
        let are_plain = local_ranks.iter().zip(0..).all(|(&rank, local)| rank == local);
        Row { peers, rest, local_ranks: if are_plain { &[] } else { local_ranks } }
    }

    /// A row of one's own memory, for as many peers: for what one lane sends.
    pub fn apart(self) -> Row {
        let flow = |_| Flow::default();
        let peers: &'static [Flow] = Box::leak((0..self.peers.len()).map(flow).collect());
        Row { peers, rest: Box::leak(Box::default()), local_ranks: self.local_ranks }
    }

    /// Moves what a lane has sent from its row to that of the rank.
    pub fn move_to(self, all: Row) {
        for (flow, sum) in self.peers.iter().zip(all.peers).chain([(self.rest, all.rest)]) {
            move_count(&flow.messages, &sum.messages);
            move_count(&flow.bytes, &sum.bytes);
        }
    }

    #[inline]
    fn of(self, peer: u32) -> &'static Flow {
        self.peers.get(peer as usize).unwrap_or(self.rest)
    }

    /// What the node calls a rank of the job; a number that nobody has, for one of another node.
    #[inline]
    fn local(self, peer: JobRank) -> u32 {
        match self.local_ranks.is_empty() {
            true => peer.0,
            false => self.local_ranks.binary_search(&peer.0).map_or(u32::MAX, |local| local as u32),
        }
    }

    /// A message goes to `peer`.
    #[inline]
    pub fn sent(self, peer: JobRank, bytes: u64) {
        let flow = self.of(self.local(peer));
        add(&flow.messages, 1);
        add(&flow.bytes, bytes);
    }

    /// Bytes were read from the memory of `peer` in a collective.
    #[inline]
    pub fn took(self, peer: u32, bytes: u64) {
        add_together(&self.of(peer).taken, bytes);
    }

    /// Bytes were written into the memory of `peer` in a collective.
    #[inline]
    pub fn gave(self, peer: u32, bytes: u64) {
        add_together(&self.of(peer).given, bytes);
    }
}

/// What a rank has sent to all of its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Messages, of any size.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
}

impl Sent {
    /// By the rank with this row, and what has no place in it.
    pub fn by(rest: &Flow, row: &[Flow]) -> Sent {
        row.iter().chain([rest]).fold(Sent::default(), |sum, flow| Sent {
            messages: sum.messages + flow.messages.load(Relaxed),
            bytes: sum.bytes + flow.bytes.load(Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    #[test]
    fn a_row_counts_by_peer_and_without_one_all_is_one_peers() {
        let node: &'static NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
        node.reserve_flows(0).unwrap();
        let (page, flows) = (node.page(0), node.flows(0));
        let row = Row::new(flows, &page.counters.unrowed, &[0, 1]);
        row.sent(JobRank(1), 8);
        row.sent(JobRank(1), 4);
        row.took(0, 5);
        row.gave(1, 6);
        let read = |peer: usize| {
            let flow = &flows[peer];
            [&flow.messages, &flow.bytes, &flow.taken, &flow.given].map(|counter| counter.load(Relaxed))
        };
        assert_eq!((read(0), read(1)), ([0, 0, 5, 0], [2, 12, 0, 6]));
        Row::new(&[], &page.counters.unrowed, &[]).sent(JobRank(1), 8);
        page.counters.bytes_not_inline.store(4, Relaxed);
        let sent = Sent { messages: 3, bytes: 20 };
        assert_eq!((Sent::by(&page.counters.unrowed, flows), sent.bytes_inline(page)), (sent, 16));
        assert_eq!((node.sent(0), node.sent(1)), (sent, Sent::default()));
        assert_eq!([row_bytes(1), row_bytes(128), row_bytes(129)], [4096, 4096, 8192]);
    }

    #[test]
    fn what_goes_to_another_node_is_not_taken_for_what_goes_to_a_rank_of_this_one() {
        let (flows, rest): (&'static [Flow], &'static Flow) =
            (Box::leak((0..2).map(|_| Flow::default()).collect()), Box::leak(Box::default()));
        let row = Row::new(flows, rest, &[1, 3]);
        [0, 1, 1, 2, 3].into_iter().for_each(|peer| row.sent(JobRank(peer), 8));
        let messages = [&flows[0], &flows[1], rest].map(|flow| flow.messages.load(Relaxed));
        assert_eq!(messages, [2, 1, 2]);
    }
}
