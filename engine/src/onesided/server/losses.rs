//! Ranks and nodes that are gone.
//!
//! A rank of this node that is gone asks for nothing more. What it has asked for and what has left the node is done all
//! the same; its credits are the node's, so they come back as always. Locks that it holds go on to the next, with a
//! mark. Locks that it owns are lost: all who ask for them are refused.
//!
//! Where a node is gone, what was under way to it or through it has ended, and nobody knows whether it was done: it may
//! still be done later. Later requests take a way around it.

use super::outgoing::Waiting;
use super::{Asked, End, Gone, Header, Kind, Outside, Sender, Server, Topology};
use super::{BROKEN, SHARED};
use std::collections::BTreeSet;

impl<T: Topology> Server<T> {
    pub(super) fn lose_rank(&mut self, rank: u32, outside: &mut impl Outside) {
        let is_about_a_lock = |kind| matches!(kind, Kind::Lock | Kind::Unlock);
        let unsent =
            self.outgoing.withdraw(|header| header.origin_rank == rank && !is_about_a_lock(header.kind));
        self.under_way.withdraw(rank, &unsent, |asked| is_about_a_lock(asked.kind));
        self.go_on_with_all_held(outside);
        for (id, at) in self.waiters.lose_rank(rank) {
            let flags = BROKEN | if at.is_shared { SHARED } else { 0 };
            let (target, target_rank, number) = (at.home, id.owner, id.number);
            let unlock =
                Asked { kind: Kind::Unlock, flags, rank, target, target_rank, number, ..Asked::default() };
            self.submit(unlock, outside);
        }
        let words = self.homes.lose(|id| id.owner == rank);
        self.say(words, outside);
    }

    pub(super) fn lose_node(&mut self, node: u32, outside: &mut impl Outside) {
        let before = self.gone.clone();
        if node == self.here || !self.gone.insert(node) {
            return;
        }
        self.incoming.lose(node);
        self.acknowledgements.tell(node);
        while let Some(parked) = self.parking.leave(node) {
            self.incoming.free(parked.sender, self.settings.credits);
        }
        self.end_all_to(node, outside);
        let stranded = self.outgoing.lose(|link| link.0 == node);
        self.end_what_has_gone_through(node, &before, &stranded, outside);
        self.turn_to_other_ways(stranded, outside);
        self.homes.lose_node(node);
        self.waiters.lose_home(node);
        for ticket in self.waiters.give_up() {
            outside.complete(ticket, End::Gone, &[]);
        }
        self.go_on_with_parked(outside);
        self.go_on_with_all_held(outside);
    }

    /// What was asked of a node that is gone has ended.
    fn end_all_to(&mut self, node: u32, outside: &mut impl Outside) {
        let (requests, held) = self.under_way.lose(node);
        for request in requests {
            self.end(&request, End::Gone, &[], outside);
        }
        for asked in held.into_iter().filter(|asked| asked.kind != Kind::Lock) {
            outside.complete(asked.ticket, End::Gone, &[]);
        }
    }

    /// Requests that have left, and whose way led through a node that is gone, have ended.
    fn end_what_has_gone_through(
        &mut self,
        node: u32,
        before: &Gone,
        stranded: &[Waiting],
        outside: &mut impl Outside,
    ) {
        let own = stranded.iter().filter_map(|waiting| match waiting {
            Waiting::Own(header) => Some(header.sequence),
            Waiting::Passing(..) => None,
        });
        let unsent: BTreeSet<u64> = self.outgoing.unsent().chain(own).collect();
        for target in self.under_way.targets() {
            for request in self.under_way.sent(target, &unsent) {
                let header =
                    Header { origin: self.here, target, origin_rank: request.rank, ..Header::default() };
                if self.is_on_way(node, &header, before) {
                    self.under_way.answered(target, request.ticket);
                    self.end(&request, End::Gone, &[], outside);
                }
            }
        }
    }

    /// Whether a request of this node goes through a node.
    fn is_on_way(&self, node: u32, request: &Header, gone: &Gone) -> bool {
        let mut here = self.here;
        while let Some(hop) = self.topology.next(here, request, gone).filter(|_| here != request.target) {
            if hop.node == node {
                return true;
            }
            here = hop.node;
        }
        false
    }

    /// What has waited for a link to a node that is gone goes another way, if there is one.
    fn turn_to_other_ways(&mut self, stranded: Vec<Waiting>, outside: &mut impl Outside) {
        for request in stranded {
            match request {
                Waiting::Passing(header, body, sender) => self.pass(header, &body, sender, outside),
                Waiting::Own(header) if self.gone.contains(&header.target) => {}
                Waiting::Own(header) => {
                    let request = self.under_way.answered(header.target, header.ticket);
                    let is_by_process = request.is_some_and(|request| request.credit.is_some());
                    match self.topology.next(self.here, &header, &self.gone) {
                        Some(hop) if !is_by_process => {
                            let header = Header { class: hop.class, ..header };
                            request.into_iter().for_each(|it| self.under_way.begin(header.target, it));
                            self.leave((hop.node, Sender::Node(self.here)), header, outside);
                        }
                        _ => request.iter().for_each(|request| self.end(request, End::Gone, &[], outside)),
                    }
                }
            }
        }
    }

    fn go_on_with_all_held(&mut self, outside: &mut impl Outside) {
        for target in self.under_way.targets() {
            self.go_on_with_held(target, outside);
        }
    }
}
