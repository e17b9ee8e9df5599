//! What a lane knows of a peer that it may reach over a fabric.

use super::structures::PeerAddress;
use crate::transport::network::{random_bytes, Credits, LAUNCHERS_TURN};
use crate::JobRank;
use std::time::Instant;

/// Bits of a seal that say which partner it is.
const INDEX_BITS: u32 = 24;
/// Messages, and bytes, that are with the provider for one partner, at most.
const MESSAGES: usize = 64;
const BYTES: usize = 512 << 10;
/// Of so many short messages in a row one is complete in the queue, so that a rank which waits for room is woken.
const COMPLETIONS: u32 = 8;

/// How packets go to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over the wire as long as it is not known where the peer is on the fabric, and as long as packets wait there.
    Early,
    /// Over the wire: the peer has no fabric, or another one.
    Wire,
    /// Over the fabric.
    Fabric,
}

/// A peer.
#[derive(Debug)]
pub struct Partner {
    /// Who it is.
    pub rank: JobRank,
    /// How packets go to it.
    pub way: Way,
    /// What the provider calls it, once that is known.
    pub address: Option<PeerAddress>,
    /// Its packets come over the fabric: all that it has sent over the wire is here.
    pub has_changed_over: bool,
    /// Payloads that were loaded for the wire and have not been sent.
    pub wire_loads: u32,
    /// It has this rank's card.
    pub has_card: bool,
    /// Its messages begin with it.
    pub seal: u64,
    /// Messages to it begin with it.
    pub others_seal: u64,
    /// Long payloads on their way.
    pub credits: Credits,
    /// It waits in the list of those that have to be told something.
    pub is_owing: bool,
    /// It has received all that was sent to it.
    pub has_heard: bool,
    /// Messages that the provider has got for it, and those that have come from it.
    pub counts: [u64; 2],
    /// Messages and bytes that are with the provider.
    under_way: (usize, usize),
    /// Short messages in a row.
    injected: u32,
    /// Since when the provider does not reach it.
    broken: Option<Instant>,
}

impl Partner {
    /// The one of this number, of whom nothing has been heard.
    pub fn new(rank: JobRank, index: usize) -> Partner {
        let random = u64::from_le_bytes(random_bytes());
        Partner {
            rank,
            way: Way::Early,
            address: None,
            has_changed_over: false,
            wire_loads: 0,
            has_card: false,
            seal: random << INDEX_BITS | index as u64,
            others_seal: 0,
            credits: Credits::default(),
            is_owing: false,
            has_heard: false,
            counts: [0; 2],
            under_way: (0, 0),
            injected: 0,
            broken: None,
        }
    }

    /// The number of the partner whose seal it may be.
    pub fn index_of(seal: u64) -> usize {
        (seal & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// Whether one more message may go to the provider.
    pub fn has_room(&self) -> bool {
        self.under_way.0 < MESSAGES && self.under_way.1 < BYTES
    }

    /// Whether the next short message shall be complete in the queue.
    pub fn wants_completion(&self) -> bool {
        self.injected + 1 >= COMPLETIONS
    }

    /// A message was copied by the provider at once.
    pub fn was_injected(&mut self) {
        self.injected += 1;
        self.counts[0] += 1;
    }

    /// A message is with the provider.
    pub fn was_sent(&mut self, bytes: usize) {
        self.injected = 0;
        self.counts[0] += 1;
        self.under_way = (self.under_way.0 + 1, self.under_way.1 + bytes);
    }

    /// The provider is done with a message.
    pub fn is_sent(&mut self, bytes: usize) {
        self.under_way = (self.under_way.0 - 1, self.under_way.1 - bytes);
    }

    /// Whether the provider has messages for it.
    pub fn is_sending(&self) -> bool {
        self.under_way.0 > 0
    }

    /// The provider does not reach it.
    pub fn is_out_of_reach(&mut self) {
        self.broken.get_or_insert_with(Instant::now);
    }

    /// Whether the provider does not reach it.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Whether it is gone without having taken leave, once a launcher has had time to end the job.
    pub fn is_lost(&self) -> bool {
        let is_over = |since: Instant| since.elapsed() >= LAUNCHERS_TURN;
        self.broken.is_some_and(is_over) && !self.credits.leaves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_says_which_partner_it_is_and_cannot_be_guessed() {
        let seals = [5, 5, 70_000].map(|index| Partner::new(JobRank(9), index).seal);
        assert_eq!(seals.map(Partner::index_of), [5, 5, 70_000]);
        assert_ne!(seals[0], seals[1]);
    }

    #[test]
    fn messages_with_the_provider_are_bounded_and_some_are_complete_in_the_queue() {
        let mut partner = Partner::new(JobRank(1), 0);
        let mut sent = 0;
        while partner.has_room() {
            partner.was_sent(100);
            sent += 1;
        }
        assert_eq!(sent, MESSAGES);
        (0..sent).for_each(|_| partner.is_sent(100));
        assert!(partner.has_room() && !partner.is_sending());
        (1..COMPLETIONS).for_each(|_| partner.was_injected());
        assert!(partner.wants_completion());
        partner.was_sent(100);
        assert!(!partner.wants_completion());
    }
}
