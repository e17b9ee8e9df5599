//! Ranks and nodes that are gone.
//!
//! A rank of this node that is gone asks for nothing more. What it has asked for and what has left the node is done all
//! the same; its credits are the node's, so they come back as always. Locks that it holds go on to the next, with a
//! mark. Locks that it owns are lost: all who ask for them are refused.
//!
//! The news that nodes are gone comes to all servers in one order, sooner or later. A request says how much of it was
//! known when it was sent, and goes the way that was meant then, or not at all. So of the requests of one node to
//! another that were sent before some news, and whose way led through that node, the first ones are done and all others
//! are not; and those that are sent after it take a way around. The origin ends all of the former as gone, because it
//! cannot know which is which: they may still be done later.

use super::outgoing::Waiting;
use super::{Asked, End, Header, Kind, Outside, Server, Topology};
use super::{BROKEN, SHARED};

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
        let before = self.gone.known();
        if node == self.here || !self.gone.add(node) {
            return;
        }
        self.incoming.lose(node);
        self.acknowledgements.tell(node);
        while let Some(parked) = self.parking.leave(node) {
            self.incoming.free(parked.sender, self.settings.credits);
        }
        self.lose_locks(node, outside);
        self.end_all_to(node, outside);
        let meant = self.outgoing.own().filter(|header| self.goes_through(node, header, before));
        let stranded: Vec<Header> = meant.copied().collect();
        let numbers =
            self.outgoing.withdraw(|header| stranded.iter().any(|it| it.sequence == header.sequence));
        for target in self.under_way.targets() {
            for request in self.under_way.sent(target, &numbers) {
                let header =
                    Header { origin: self.here, target, origin_rank: request.rank, ..Header::default() };
                if self.goes_through(node, &header, before) {
                    self.under_way.answered(target, request.ticket);
                    self.end(&request, End::Gone, &[], outside);
                }
            }
        }
        self.drop_passing(node, outside);
        stranded.into_iter().for_each(|header| self.turn_to_another_way(header, outside));
        self.go_on_with_early(outside);
        self.go_on_with_parked(outside);
        self.go_on_with_all_held(outside);
    }

    /// Locks in use when a node goes are lost: nobody can tell any more who holds them and who waits.
    fn lose_locks(&mut self, node: u32, outside: &mut impl Outside) {
        self.homes.lose_all();
        self.under_way.drop_held(Kind::Lock);
        for ticket in self.waiters.give_up(node) {
            outside.complete(ticket, End::Gone, &[]);
        }
    }

    /// What was asked of a node that is gone has ended.
    fn end_all_to(&mut self, node: u32, outside: &mut impl Outside) {
        let (requests, held) = self.under_way.lose(node);
        self.outgoing.withdraw(|header| header.target == node);
        for request in requests {
            self.end(&request, End::Gone, &[], outside);
        }
        for asked in held {
            outside.complete(asked.ticket, End::Gone, &[]);
        }
    }

    /// Whether the way of a request of this node led through a node when so many were known to be gone.
    fn goes_through(&self, node: u32, request: &Header, known: u32) -> bool {
        let mut here = self.here;
        while here != request.target {
            let Some(hop) = self.topology.next(here, request, self.gone.view(known)) else { return false };
            if hop.node == node {
                return true;
            }
            here = hop.node;
        }
        false
    }

    /// Requests of others that wait for a link to a node that is gone have ended.
    fn drop_passing(&mut self, node: u32, outside: &mut impl Outside) {
        for waiting in self.outgoing.lose(|link| link.0 == node) {
            if let Waiting::Passing(header, _, sender) = waiting {
                self.incoming.free(sender, self.settings.credits);
                self.answer_gone(&header, outside);
            }
        }
    }

    /// A request of this node that has not left takes another way, if there is one. Of those for locks, nobody waits.
    fn turn_to_another_way(&mut self, header: Header, outside: &mut impl Outside) {
        match self.topology.next(self.here, &header, self.gone.all()) {
            Some(hop) if header.kind != Kind::Lock => {
                let known = self.gone.known();
                let link = self.link_of((hop.node, hop.class), header.origin_rank);
                self.leave(link, Header { class: hop.class, known, ..header }, outside);
            }
            _ => {
                if let Some(request) = self.under_way.answered(header.target, header.ticket) {
                    self.end(&request, End::Gone, &[], outside);
                }
            }
        }
    }

    /// Requests that came before the news go on.
    fn go_on_with_early(&mut self, outside: &mut impl Outside) {
        for (header, body, sender) in std::mem::take(&mut self.early) {
            if header.known > self.gone.known() {
                self.early.push((header, body, sender));
            } else if header.target == self.here {
                self.take_here(header, &body, sender, outside);
            } else {
                self.pass(header, &body, sender, outside);
            }
        }
    }

    fn go_on_with_all_held(&mut self, outside: &mut impl Outside) {
        for target in self.under_way.targets() {
            self.go_on_with_held(target, outside);
        }
    }
}
