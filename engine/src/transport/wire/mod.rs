//! The wire: a transport over TCP between ranks of different nodes.
//!
//! Two ranks that talk have a [`Link`], and the link a connection, which is made when the first frame goes. Both
//! ends prove that they belong to the job before anything else is read ([`handshake`]). A link outlives its
//! connections: what a peer has not received goes again over the next one ([`unreceived`]), so that a network that
//! fails for a while loses nothing. On request all that goes over them is sealed ([`records`]).
//!
//! A rank that spins asks the connection that has brought something last; now and then, and before it sleeps, all
//! of them. What a lane knows of a silent peer is nothing.

mod connecting;
mod dialling;
mod fetching;
mod handing_over;
mod handshake;
mod intake;
mod link;
mod long_payloads;
mod moving;
mod multicasting;
mod nearby;
mod nearby_memory;
mod outlived;
mod pipe;
mod porter;
mod proofs;
mod reception;
mod records;
mod registered;
mod sealing;
mod sending;
mod silences;

#[cfg(test)]
mod cut_up_tests;
mod tcp;
#[cfg(test)]
pub mod tests;
mod udp;
mod unreceived;
mod why_lost;

pub use handshake::Identity;
pub use tcp::listen;

use self::fetching::Fetches;
use self::intake::{Intake, Place};
use self::link::{Link, State};
use self::long_payloads::Loaded;
use self::porter::Porter;
use self::registered::Registered;
use super::multicast::Multicast;
use super::network::framing::{Head, Sort};
use super::network::{kept_payload, Loads, Network, Patience, Questions, WaitSet, LEAVE};
use super::{
    Arrival, Arrivals, Letter, OfferedMemory, Offers, Packets, Reaches, Ready, SharedTasks, LONG_LETTER_BYTES,
};
use crate::progress::Doorbell;
use crate::{Class, Error, JobRank, Result};
use std::collections::{HashMap, VecDeque};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

/// The wire of a lane of a rank.
#[derive(Debug)]
pub struct Wire {
    porter: Arc<Porter>,
    lane: usize,
    ready: &'static Sockets,
    links: Vec<Link>,
    by_rank: HashMap<JobRank, u32>,
    intake: Intake,
    /// The link whose frames are in the intake.
    source: usize,
    /// The packet that was looked at last.
    current: Option<Came>,
    /// Packets to oneself.
    to_self: VecDeque<Came>,
    /// Links whose connections can be read.
    readable: VecDeque<usize>,
    /// The link that is asked first.
    hot: Option<usize>,
    patience: Patience,
    /// Links whose peers have to be told something.
    owing: Vec<usize>,
    /// Links without a connection that need one.
    unconnected: Vec<usize>,
    /// Links whose connections have opened records that were not read.
    opened: Vec<usize>,
    loads: Loads<Loaded>,
    fetches: Fetches,
    registered: Registered,
    takes_long: bool,
    loses_at_once: bool,
    /// What peers of this machine may map.
    own_node: Option<nearby::OwnNode>,
}

/// A packet that has come.
#[derive(Debug)]
struct Came {
    source: JobRank,
    head: Head,
    place: Place,
    /// Somebody else gives it back.
    is_retained: bool,
}

/// The descriptors of a lane, and what else there may be to read.
#[derive(Debug)]
struct Sockets {
    set: WaitSet,
    porter: Arc<Porter>,
    lane: usize,
    /// Packets that have been received and not looked at.
    packets: AtomicU64,
    /// Connections with something that was opened and not read.
    opened: AtomicU32,
    questions: Questions,
}

impl Ready for Sockets {
    fn is_ready(&self) -> bool {
        let asks_system = self.questions.ask();
        self.packets.load(Ordering::Acquire) != 0
            || self.opened.load(Ordering::Acquire) != 0
            || self.porter.has_for(self.lane)
            || asks_system && self.set.poll(false)
    }
}

impl Wire {
    /// The first lane of a rank that sleeps at `doorbell`.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(me: Identity, doorbell: &'static Doorbell) -> Result<Wire> {
        Wire::of_lane(Porter::begin(me, doorbell)?, 0)
    }

    fn of_lane(porter: Arc<Porter>, lane: usize) -> Result<Wire> {
        let set = WaitSet::new()?;
        let (packets, opened, questions) = (AtomicU64::new(0), AtomicU32::new(0), Questions::default());
        // What is asked without the lock lives as long as the process.
        let ready: &'static Sockets = Box::leak(Box::new(Sockets {
            set,
            porter: Arc::clone(&porter),
            lane,
            packets,
            opened,
            questions,
        }));
        Ok(Wire {
            porter,
            lane,
            ready,
            links: Vec::new(),
            by_rank: HashMap::new(),
            intake: Intake::default(),
            source: 0,
            current: None,
            to_self: VecDeque::new(),
            readable: VecDeque::new(),
            hot: None,
            patience: Patience::default(),
            owing: Vec::new(),
            unconnected: Vec::new(),
            opened: Vec::new(),
            loads: Loads::new(long_payloads::LOADED),
            fetches: Fetches::default(),
            registered: Registered::default(),
            takes_long: true,
            loses_at_once: false,
            own_node: None,
        })
    }

    /// A peer is lost as soon as its system says that nobody listens: no launcher has to say why.
    pub fn lose_at_once(&mut self) {
        self.loses_at_once = true;
    }

    fn lane(&self, lane: usize) -> Result<Wire> {
        Wire::of_lane(Arc::clone(&self.porter), lane)
    }

    fn me(&self) -> JobRank {
        self.porter.me().rank
    }

    /// Whether this rank is the lower one, by the names that both ends know.
    fn is_lower_than(&self, peer: JobRank) -> bool {
        let directory = self.porter.me().directory;
        directory.name_of(self.me()) < directory.name_of(peer)
    }

    /// The link to a peer, made if there is none.
    #[inline]
    fn link_to(&mut self, peer: JobRank) -> usize {
        match self.by_rank.get(&peer) {
            Some(&index) => index as usize,
            None => {
                self.links.push(Link::new(peer));
                self.by_rank.insert(peer, self.links.len() as u32 - 1);
                self.links.len() - 1
            }
        }
    }

    /// Whether a frame can be sent now: [`Wire::send`] may follow.
    fn may_send(&mut self, index: usize) -> Result<May> {
        if self.links[index].is_parted {
            // Who waits for that is told that the peer has failed.
            return Ok(May::Wait);
        }
        if !self.links[index].was_up {
            self.go_on(index);
            self.hear_of_connections();
        } else if !self.links[index].has_room() {
            self.take_in();
        }
        let link = &self.links[index];
        // To a peer that was never reached nothing is sent yet: its sender would think that it is on its way.
        match link.was_up && link.has_room() {
            _ if link.credits.leaves() && matches!(link.state, State::Idle) => Ok(May::Lose),
            true => Ok(May::Send),
            // Where the rank goes on without it, it is told so.
            false if link.is_lost() && !self.loses_at_once => {
                let peer = link.peer;
                Err(self.loss_of(peer))
            }
            false => Ok(May::Wait),
        }
    }

    /// Sends a frame.
    fn send(&mut self, index: usize, head: Head, payload: Payload<'_>) {
        let link = &mut self.links[index];
        let head = link.telling(head);
        match payload {
            Payload::Copied(payload) => link.outgoing.add(&head, payload),
            Payload::Owned(payload) => link.outgoing.add_long(&head, payload),
        }
        self.go_on(index);
    }
}

/// What may become of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum May {
    /// It goes.
    Send,
    /// There is no room for it.
    Wait,
    /// It is for a rank that has left: it is lost on the way.
    Lose,
}

/// A rank that has no wire any more does not listen either.
impl Drop for Wire {
    fn drop(&mut self) {
        if self.lane == 0 {
            self.porter.end();
        }
    }
}

/// What a frame brings.
enum Payload<'a> {
    /// It is copied.
    Copied(&'a [u8]),
    /// It is handed over.
    Owned(Box<[u8]>),
}

impl Reaches for Wire {
    type Peer = JobRank;
}

impl Packets for Wire {
    fn push(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        if letter.kind == long_payloads::LOADED {
            return self.push_loaded(peer, letter);
        }
        let bytes = letter.payload.len() as u32;
        let head = Head { bytes, ..Head::bare(Sort::Packet, letter.kind, letter.header) };
        if peer == self.me() {
            self.keep_own(head, kept_payload::copy(letter.payload));
            return Ok(true);
        }
        let index = self.link_to(peer);
        let may = self.may_send(index)?;
        if may == May::Send {
            self.send(index, head, Payload::Copied(letter.payload));
        }
        Ok(may != May::Wait)
    }

    fn takes_letter(&mut self, peer: JobRank, bytes: usize) -> Result<bool> {
        let index = self.by_rank.get(&peer);
        let takes_long = index.is_none_or(|&index| self.links[index as usize].credits.takes_long());
        Ok(bytes <= LONG_LETTER_BYTES && takes_long)
    }

    fn take_long_letters(&mut self, take: bool) {
        if self.takes_long != take {
            self.takes_long = take;
            (0..self.links.len()).for_each(|index| self.tell(index));
        }
    }

    fn peek(&mut self) -> Option<Arrival> {
        self.take_in();
        let Came { head, place, .. } = self.current.as_ref()?;
        let payload = match place {
            Place::At(place) => self.intake.at(*place),
            Place::Owned(payload) => payload.as_ptr(),
        };
        let Head { kind, bytes, header, sort, .. } = *head;
        Some(Arrival { kind, is_long: sort != Sort::Packet, bytes, header, payload })
    }

    fn advance(&mut self, _: &Arrival) {
        let Some(Came { source, head, is_retained, .. }) = self.current.take() else { return };
        self.ready.packets.store(self.to_self.len() as u64, Ordering::Release);
        if head.sort == Sort::Long && !is_retained {
            self.let_go(source, u64::from(head.bytes));
        }
    }

    fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.ask(self.ready);
        arrivals
    }

    /// Nothing to do: as long as something waits to be sent, the rank is woken when there is room for it.
    fn want_room(&mut self, _: JobRank) {}

    fn doorbell(&self) -> &Doorbell {
        self.porter.doorbell()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.ready.set.raw())
    }

    fn leave(&mut self) {
        self.take_leave();
    }

    fn lost(&mut self) -> Option<JobRank> {
        let lost = self.unconnected.iter().map(|&index| &self.links[index]).find(|link| link.is_lost());
        lost.map(|link| link.peer)
    }
}

impl Network for Wire {
    fn ready(&self) -> &'static dyn Ready {
        self.ready
    }

    fn beside(&self, lane: usize) -> Result<Box<dyn Network>> {
        Ok(Box::new(self.lane(lane)?))
    }

    fn means_to(&self, _: JobRank) -> String {
        let sealed = if self.porter.me().is_sealed { ", sealed" } else { "" };
        format!("TCP{sealed}")
    }

    fn sender(&self) -> Option<JobRank> {
        self.current.as_ref().map(|came| came.source)
    }

    fn count_packets(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) {
        self.links.iter().for_each(|link| show(link.peer, [link.outgoing.frames(), link.received]));
    }

    fn multicast(&self) -> Result<&dyn Multicast> {
        match self.porter.me().is_sealed {
            false => Ok(self),
            true => {
                Err(Error::new(Class::Other, "connections are sealed, and datagrams to a group would not be"))
            }
        }
    }

    fn why_lost(&self, peer: JobRank) -> Error {
        self.loss_of(peer)
    }

    fn ring_at(&mut self, doorbell: &'static Doorbell) {
        self.porter.ring_at(self.lane, doorbell);
    }

    fn want_again(&mut self, peer: JobRank) {
        if let Some(&index) = self.by_rank.get(&peer) {
            let link = &mut self.links[index as usize];
            if link.credits.leaves() && !link.was_up {
                *link = Link::new(peer);
            }
        }
    }

    fn forget(&mut self, peer: JobRank) {
        if let Some(&index) = self.by_rank.get(&peer) {
            let link = &mut self.links[index as usize];
            link.credits.tells(LEAVE);
            (link.state, link.aside) = (State::Idle, None);
            self.unconnected.retain(|&one| one != index as usize);
            self.note_opened(index as usize);
        }
    }

    fn outlive(&mut self, peer: JobRank) -> bool {
        let index = self.link_to(peer);
        self.has_heard_out(index)
    }

    fn knows_failed(&self, peer: JobRank) -> bool {
        self.is_known_to_have_failed(peer)
    }
}

impl OfferedMemory for Wire {}
impl Offers for Wire {}
impl SharedTasks for Wire {}
