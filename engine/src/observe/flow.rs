//! What has moved between a rank and each of its peers: the matrix of traffic.
//!
//! # Ownership
//! A rank has a row of its own, with an entry for each rank of the node. It alone
//! writes there, with relaxed stores; anyone reads. So what one rank has sent to
//! another stands in the sender's row, and what it has taken out of another's
//! memory stands in the taker's: an observer adds the two up.

use super::page::add;
use std::sync::atomic::AtomicU64;

/// Between its owner and one peer; each number only grows.
#[derive(Debug)]
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

/// The owner's side of its row: empty where there was no memory for it, and then
/// nothing is counted.
#[derive(Debug, Clone, Copy)]
pub struct Row(pub &'static [Flow]);

impl Row {
    /// A message goes to `peer`.
    #[inline]
    pub fn sent(self, peer: u32, bytes: u64) {
        if let Some(flow) = self.0.get(peer as usize) {
            add(&flow.messages, 1);
            add(&flow.bytes, bytes);
        }
    }

    /// Bytes were read from the memory of `peer` in a collective.
    #[inline]
    pub fn took(self, peer: u32, bytes: u64) {
        if let Some(flow) = self.0.get(peer as usize) {
            add(&flow.taken, bytes);
        }
    }

    /// Bytes were written into the memory of `peer` in a collective.
    #[inline]
    pub fn gave(self, peer: u32, bytes: u64) {
        if let Some(flow) = self.0.get(peer as usize) {
            add(&flow.given, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_row_counts_by_peer_and_an_empty_one_nothing() {
        let flow = || Flow {
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            given: AtomicU64::new(0),
        };
        let row = Row(Box::leak(Box::new([flow(), flow()])));
        row.sent(1, 8);
        row.sent(1, 4);
        row.took(0, 5);
        row.gave(1, 6);
        let read = |peer: usize| {
            let flow = &row.0[peer];
            [&flow.messages, &flow.bytes, &flow.taken, &flow.given].map(|counter| counter.load(Relaxed))
        };
        assert_eq!((read(0), read(1)), ([0, 0, 5, 0], [2, 12, 0, 6]));
        Row(&[]).sent(1, 8);
        assert_eq!([row_bytes(1), row_bytes(128), row_bytes(129)], [4096, 4096, 8192]);
    }
}
