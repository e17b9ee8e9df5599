//! The state machine: what ranks of this node ask for, and what leaves it.

use super::acknowledgements::Acknowledgements;
use super::incoming::Incoming;
use super::lock_homes::LockHomes;
use super::lock_waiters::LockWaiters;
use super::outgoing::{Link, Outgoing, Waiting};
use super::parked::Parking;
use super::topology::Gone;
use super::under_way::{Ends, Request, UnderWay};
use super::ANSWER;
use super::{Asked, Body, End, Event, Fault, Header, Kind, Outside, Sender, Topology};
use std::collections::VecDeque;

/// What all servers of a job have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Buffers of a link, and so its credits.
    pub credits: u8,
    /// Requests of a node that are under way to another, at most.
    pub window: u16,
    /// Requests of a node that are done and of which it is not told, at most; not more than the window.
    pub untold: u16,
    /// Requests whose data are being fetched at once, at most.
    pub fetches: u16,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { credits: 2, window: 64, untold: 32, fetches: 16 }
    }
}

/// Requests in buffers that come before the news of a node that is gone.
pub(super) type Early = Vec<(Header, Box<[u8]>, Sender)>;

/// The server of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server<T> {
    pub(super) here: u32,
    pub(super) settings: Settings,
    pub(super) topology: T,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    pub(super) under_way: UnderWay,
    pub(super) acknowledgements: Acknowledgements,
    pub(super) parking: Parking,
    pub(super) homes: LockHomes,
    pub(super) waiters: LockWaiters,
    pub(super) gone: Gone,
    pub(super) early: Early,
    /// Messages to itself: only those about locks.
    to_self: VecDeque<(Header, Vec<u8>)>,
    /// The answer that is being made; empty between steps.
    pub(super) answer: Vec<u8>,
}

impl<T: Topology> Server<T> {
    /// The server of the node `here`. All servers of a job have equal settings and topology.
    pub fn new(here: u32, topology: T, settings: Settings) -> Server<T> {
        Server {
            here,
            settings,
            topology,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            under_way: UnderWay::default(),
            acknowledgements: Acknowledgements::default(),
            parking: Parking::default(),
            homes: LockHomes::default(),
            waiters: LockWaiters::default(),
            gone: Gone::default(),
            early: Early::new(),
            to_self: VecDeque::new(),
            answer: Vec::new(),
        }
    }

    /// Something has happened.
    ///
    /// # Errors
    /// When a message makes no sense.
    pub fn step(&mut self, event: Event<'_>, outside: &mut impl Outside) -> Result<(), Fault> {
        match event {
            Event::Asked(asked) => self.ask(asked, outside),
            Event::Arrived { from, message } => self.arrive(from, message, outside)?,
            Event::Fetched { origin, ticket, data: None } => self.fetch_by_message(origin, ticket, outside),
            Event::Fetched { origin, ticket, data } => self.fetched(origin, ticket, data, outside)?,
            Event::Polled => self.repay_all(outside),
            Event::Room => self.go_on_with_parked(outside),
            Event::RankGone(rank) => self.lose_rank(rank, outside),
            Event::NodeGone(node) => self.lose_node(node, outside),
        }
        while let Some((header, body)) = self.to_self.pop_front() {
            self.hear(self.here, header, &body, outside)?;
        }
        Ok(())
    }

    /// A rank of this node asks for something.
    fn ask(&mut self, asked: Asked, outside: &mut impl Outside) {
        if self.gone.contains(asked.target) {
            return outside.complete(asked.ticket, End::Gone, &[]);
        }
        match asked.kind {
            Kind::Lock => self.begin_to_wait(&asked),
            Kind::Unlock if !self.may_give_back(&asked) => {
                return outside.complete(asked.ticket, End::Refused(super::NOT_HELD), &[]);
            }
            Kind::Tell if self.under_way.is_idle(asked.target) => {
                return outside.complete(asked.ticket, End::Done, &[]);
            }
            _ => {}
        }
        self.submit(asked, outside);
    }

    /// Something is done here, or goes to where it shall be done.
    pub(super) fn submit(&mut self, asked: Asked, outside: &mut impl Outside) {
        if asked.target == self.here {
            self.ask_here(asked, outside);
        } else if self.under_way.admit(asked, self.settings.window) {
            self.launch(asked, outside);
        }
    }

    /// The window has room for a request: it goes, or waits for a credit.
    pub(super) fn launch(&mut self, asked: Asked, outside: &mut impl Outside) {
        let sequence = self.under_way.number();
        let mut header = Header {
            kind: asked.kind,
            flags: asked.flags,
            origin: self.here,
            target: asked.target,
            origin_rank: asked.rank,
            target_rank: asked.target_rank,
            sequence,
            ticket: asked.ticket,
            number: asked.number,
            known: self.gone.known(),
            ..Header::default()
        };
        let Some(hop) = self.topology.next(self.here, &header, self.gone.all()) else {
            self.end_lock_request(&asked);
            outside.complete(asked.ticket, End::Gone, &[]);
            return self.go_on_with_held(asked.target, outside);
        };
        header.class = hop.class;
        let link = self.link_of((hop.node, hop.class), asked.rank);
        header.flags |= if self.topology.has_one_way() { 0 } else { ANSWER };
        let ends = match asked.kind {
            Kind::Lock => Ends::Unseen,
            _ if header.has(ANSWER) => Ends::ByAnswer,
            _ => Ends::ByCount,
        };
        let credit = matches!(link.1, Sender::Process(_)).then_some(link);
        let request = Request { sequence, ticket: asked.ticket, rank: asked.rank, ends, credit };
        self.under_way.begin(asked.target, request);
        self.leave(link, header, outside);
    }

    /// A request of this node leaves, or waits for a credit.
    pub(super) fn leave(&mut self, link: Link, header: Header, outside: &mut impl Outside) {
        if self.outgoing.take(link, self.settings.credits) {
            self.send_own(link.0, header, outside);
        } else {
            self.outgoing.wait(link, Waiting::Own(header));
        }
    }

    /// What was held back goes, as far as the window has room.
    pub(super) fn go_on_with_held(&mut self, target: u32, outside: &mut impl Outside) {
        while let Some(asked) = self.under_way.next_held(target, self.settings.window) {
            self.launch(asked, outside);
        }
    }

    /// Credits of a link have come back: what waits for them goes.
    pub(super) fn credit(
        &mut self,
        link: Link,
        credits: u8,
        outside: &mut impl Outside,
    ) -> Result<(), Fault> {
        let was_due = self.outgoing.give_back(link, credits);
        while let Some(request) = self.outgoing.next(link, self.settings.credits) {
            match request {
                Waiting::Own(header) => self.send_own(link.0, header, outside),
                Waiting::Passing(header, body, sender) => {
                    self.incoming.free(sender, self.settings.credits);
                    self.send(link.0, header, Body::Bytes(&body), outside);
                }
            }
        }
        was_due.then_some(()).ok_or(Fault("a node gives back more credits than it got"))
    }

    /// The link of a hop, by whose credits a rank's request goes.
    pub(super) fn link_of(&self, (node, class): (u32, u8), rank: u32) -> Link {
        match self.topology.is_by_process(class) {
            true => (node, Sender::Process(rank)),
            false => (node, Sender::Node(self.here)),
        }
    }

    fn send_own(&mut self, to: u32, header: Header, outside: &mut impl Outside) {
        let body = match header.kind {
            Kind::Operation => Body::Own(header.ticket),
            _ => Body::Bytes(&[]),
        };
        self.send(to, header, body, outside);
    }

    /// Sends a message, with all that there is to tell that node.
    pub(super) fn send(&mut self, to: u32, header: Header, body: Body<'_>, outside: &mut impl Outside) {
        if self.gone.contains(to) {
            self.incoming.repay(to);
            return;
        }
        let bytes = match body {
            Body::Bytes(bytes) => bytes.len() as u32,
            _ => header.bytes,
        };
        if to == self.here {
            let Body::Bytes(body) = body else { return };
            return self.to_self.push_back((Header { bytes, ..header }, body.to_vec()));
        }
        let (credits, done) = (self.incoming.repay(to), self.acknowledgements.tell(to));
        outside.send(to, &Header { bytes, credits, done, ..header }, body);
    }

    /// Gives back the credits of those who are owed many, and to whom nothing else has gone.
    fn repay_all(&mut self, outside: &mut impl Outside) {
        while let Some(node) = self.incoming.urgent() {
            self.send(
                node,
                Header { kind: Kind::Acknowledge, ..Header::default() },
                Body::Bytes(&[]),
                outside,
            );
        }
    }

    /// Does what a rank asks of another one of this node, or of itself.
    fn ask_here(&mut self, asked: Asked, outside: &mut impl Outside) {
        let request = Header {
            kind: asked.kind,
            flags: asked.flags,
            origin: self.here,
            target: self.here,
            origin_rank: asked.rank,
            target_rank: asked.target_rank,
            ticket: asked.ticket,
            number: asked.number,
            ..Header::default()
        };
        match asked.kind {
            Kind::Lock => self.lock(&request, outside),
            Kind::Unlock => {
                let end = self.unlock(&request, outside).map_or_else(End::Refused, |()| End::Done);
                outside.complete(asked.ticket, end, &[]);
            }
            // Ranks of one node need no server for their memory.
            _ => outside.complete(asked.ticket, End::Done, &[]),
        }
    }
}

/// What can be seen from outside.
impl<T> Server<T> {
    /// Its node.
    pub fn here(&self) -> u32 {
        self.here
    }

    /// Buffers of a sender that are in use, and credits owed to it.
    pub fn buffers_of(&self, sender: Sender) -> (u8, u8) {
        self.incoming.of(sender)
    }

    /// Credits of a link of this node that are not here, and requests that wait for one.
    pub fn link(&self, link: Link) -> (u8, usize) {
        self.outgoing.of(link)
    }

    /// Links by which this node has sent.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.outgoing.links()
    }

    /// Requests that wait for a credit, with the link for which they do.
    pub fn waiting(&self) -> impl Iterator<Item = (Link, &Header)> + '_ {
        self.outgoing.waiting()
    }

    /// How many senders have buffers here.
    pub fn senders(&self) -> usize {
        self.incoming.senders()
    }

    /// Requests under way to a node, and held back.
    pub fn under_way(&self, target: u32) -> (usize, usize) {
        self.under_way.of(target)
    }

    /// The locks of this node's ranks.
    pub fn locks(&self) -> &LockHomes {
        &self.homes
    }

    /// Whether nothing is left to do: no request of this node or in its buffers, no lock that is held or waited for.
    pub fn is_idle(&self) -> bool {
        self.under_way.targets().is_empty() && self.is_idle_but_for_counts()
    }

    /// The same, but that it may not have been told yet that its last requests are done.
    pub fn is_idle_but_for_counts(&self) -> bool {
        self.outgoing.is_idle()
            && self.parking.count() == 0
            && self.early.is_empty()
            && self.homes.in_use() == 0
            && self.waiters.count() == 0
    }

    /// Origins that have not been told all that is done.
    pub fn untold(&self) -> usize {
        self.acknowledgements.untold()
    }
}
