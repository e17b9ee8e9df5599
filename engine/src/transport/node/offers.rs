//! Offers between the ranks of a node, by the words of [`super::withdrawals`] in the areas of both.

use super::{area, NodeTransport};
use crate::progress::barrier;
use crate::transport::Offers;
use crate::{LocalRank, Result};
use std::time::{Duration, Instant};

/// So long a peer may stand still in the middle of taking what is to be withdrawn.
const TAKING: Duration = Duration::from_secs(1);

impl Offers for NodeTransport {
    #[inline]
    fn begin_taking(&mut self, LocalRank(peer): LocalRank, number: u32) -> bool {
        let (taking, withdrawn) = (&self.own.control().taking.0, &self.own.control().withdrawn.0);
        taking.begin(peer, number, self.registered);
        if withdrawn.any() && self.is_withdrawn(LocalRank(peer), number) {
            taking.end();
            return false;
        }
        true
    }

    #[inline]
    fn end_taking(&mut self) {
        self.own.control().taking.0.end();
    }

    fn is_withdrawn(&self, LocalRank(peer): LocalRank, number: u32) -> bool {
        self.area_of(peer).withdrawals().has(self.me, number)
    }

    fn any_withdrawn(&self) -> bool {
        self.own.control().withdrawn.0.any()
    }

    fn forget_withdrawn(&mut self, LocalRank(peer): LocalRank, number: u32) {
        if self.any_withdrawn() && self.is_withdrawn(LocalRank(peer), number) {
            self.own.control().withdrawn.0.forget();
        }
    }

    fn withdraw(&mut self, LocalRank(peer): LocalRank, number: u32) -> Result<bool> {
        let (node, me, first) = (self.node, self.me, area::offset(self.lane));
        let reserved = node.reserve_transport(me, first + area::withdrawals_offset(), area::LIST_BYTES);
        let area = self.peer(peer)?.area;
        if reserved.is_err() || !self.own.withdrawals().add(peer, number) {
            return Ok(false);
        }
        self.withdrawn += 1;
        area.control().withdrawn.0.add();
        let began = Instant::now();
        let mut is_settled = barrier::everywhere();
        while is_settled && area.control().taking.0.is(me, number) {
            std::thread::yield_now();
            is_settled = began.elapsed() < TAKING;
        }
        Ok(is_settled)
    }

    fn end_withdrawal(&mut self, LocalRank(peer): LocalRank, number: u32) -> bool {
        let was_listed = self.withdrawn != 0 && self.own.withdrawals().remove(peer, number);
        self.withdrawn -= u32::from(was_listed);
        was_listed
    }

    fn offer_again(&mut self, LocalRank(peer): LocalRank, number: u32) {
        if self.end_withdrawal(LocalRank(peer), number) {
            self.area_of(peer).control().withdrawn.0.forget();
        }
    }

    #[inline]
    fn awaits_word(&self, number: u32) -> bool {
        self.withdrawn != 0 && self.own.withdrawals().has_number(number)
    }

    fn show_waiting(&mut self, waiting: bool) {
        self.own.control().taking.0.show_waiting(waiting);
    }

    fn shows_waiting(&self, LocalRank(peer): LocalRank) -> bool {
        self.area_of(peer).control().taking.0.shows_waiting()
    }
}
