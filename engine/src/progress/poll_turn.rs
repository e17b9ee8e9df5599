//! When a rank that only tests offers its core to others, where ranks share cores.
//!
//! Such a rank waits as much as one in a wait, but it comes back to the program after each look. So its looks are counted
//! from the last message that has come. The first of them find nothing because an answer takes its time; only after that
//! is the core worth more to others.

use super::partner::{Partner, Place};
use crate::observe::page::Counters;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Looks in vain until the core is offered to others: about a microsecond.
const POLLS: u64 = 16;
/// The same while the rank that is waited for is at work on another core: some microseconds, longer than its answer takes.
const POLLS_FOR_A_PARTNER: u64 = 64;

/// The looks in vain of a rank since a message has come.
#[derive(Debug, Default)]
pub struct PollTurn {
    polls: AtomicU64,
    /// Messages received by then.
    received: AtomicU64,
}

impl PollTurn {
    /// One more look was in vain, of the rank with these counters. Whether its core is to be offered to others now. Now and then
    /// `set_partner` is asked to say whom the rank waits for.
    #[inline]
    pub fn is_over(&self, partner: &Partner, counters: &Counters, set_partner: impl FnOnce()) -> bool {
        let received = counters.messages_received.load(Relaxed);
        let polls = if self.received.load(Relaxed) == received { self.polls.load(Relaxed) + 1 } else { 1 };
        self.received.store(received, Relaxed);
        self.polls.store(polls, Relaxed);
        if partner.place() == Some(Place::Here) {
            // It needs this core to bring anything.
            return true;
        }
        if !polls.is_multiple_of(POLLS) {
            return false;
        }
        set_partner();
        polls.is_multiple_of(POLLS_FOR_A_PARTNER) || partner.place() != Some(Place::AtWork)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;
    use crate::observe::Page;
    use crate::progress::whereabouts::Whereabouts;

    /// How many looks in vain it takes until a turn is over, after a message has come.
    fn length(turn: &PollTurn, partner: &Partner, page: &Page) -> u64 {
        page.counters.messages_received.fetch_add(1, Relaxed);
        (1..).find(|_| turn.is_over(partner, &page.counters, || {})).unwrap_or(0)
    }

    #[test]
    fn a_turn_is_longest_while_the_partner_is_on_another_core_and_begins_with_each_message() {
        let node: &'static NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
        let (own, peer) = (node.page(0), node.page(1));
        let (turn, partner) = (PollTurn::default(), Partner::new(Whereabouts::new(node, 0)));
        assert_eq!(length(&turn, &partner, own), POLLS);
        partner.set(Some(peer));
        for _ in 0..3 {
            peer.identity.core.store(u32::MAX, Relaxed);
            assert_eq!(length(&turn, &partner, own), POLLS_FOR_A_PARTNER);
            (0..5).for_each(|_| assert!(!turn.is_over(&partner, &own.counters, || {})));
        }
    }
}
