//! The fabric: a transport over libfabric between ranks of different nodes.
//!
//! It rides beside the [wire](super::wire). Two ranks that talk for the first time do so over the wire, where both prove that
//! they belong to the job, and tell each other where they are on the fabric ([`fabric_card`]). Each changes over to the
//! fabric when it knows where the other is; from then on the wire only tells when one of them ends. Ranks that have no
//! fabric in common go on over the wire. So nobody has to know beforehand what other nodes have.
//!
//! libfabric is loaded when it is wanted, and its objects are called through their tables ([`tables`]).

mod cards_exchanged;
mod domain;
mod endpoint;
mod fabric_card;
mod fabric_partner;
mod fabric_port;
mod inbound;
mod landing;
#[cfg(test)]
mod layout_tests;
mod libfabric;
mod message_buffers;
#[cfg(test)]
mod mock_provider;
mod provider;
mod reading;
mod remote_reads;
mod routing;
mod structures;
mod tables;
#[cfg(test)]
mod tests;

pub use domain::Domain;
pub use libfabric::Libfabric;
pub use provider::{for_hardware, hardware, is_there_hardware, Offer, Wanted};

use self::endpoint::Queue;
use self::fabric_partner::Way;
use self::fabric_port::Port;
use self::inbound::{Came, Place};
use super::multicast::Multicast;
use super::network::framing::{Head, Sort};
use super::network::{Network, Patience, Questions, WaitSet};
use super::{
    Arrival, Arrivals, Letter, OfferedMemory, Offers, Packets, Reaches, Ready, SharedTasks, LONG_LETTER_BYTES,
};
use crate::progress::Doorbell;
use crate::{Class, Error, JobRank, Result};
use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Of so many looks one goes to the wire too, as long as it carries cards alone.
const WIRE_LOOKS: u32 = 32;
/// A rank that leaves waits for its partners as long as some of them answer within this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The fabric of a lane of a rank, and its wire.
#[derive(Debug)]
pub struct Fabric {
    me: JobRank,
    wire: Box<dyn Network>,
    /// Not there: the rank has no fabric.
    port: Option<Port>,
    ready: &'static News,
    in_hand: InHand,
    patience: Patience,
    /// Payloads that were loaded for the wire, and not sent, for partners that may change over to the fabric: by the numbers of
    /// their packets.
    early_loads: HashMap<u32, usize>,
    /// Peers that wait for the card of this rank.
    unanswered: Vec<JobRank>,
    /// The last payload for which there was no memory was for the fabric.
    is_fabric_full: bool,
}

/// Whence the packet came that was looked at last, and not advanced over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InHand {
    Nothing,
    Fabric,
    Wire,
}

/// What there may be to read.
#[derive(Debug)]
struct News {
    wire: &'static dyn Ready,
    /// Packets that have come over the fabric, and the queue where more are announced.
    fabric: Option<(&'static AtomicU64, &'static Queue)>,
    /// Both descriptors. That of the queue counts when more has come: some providers leave it readable for ever (`net` of libfabric
    /// 1.17).
    wait_set: Option<WaitSet>,
    questions: Questions,
}

impl Ready for News {
    fn is_ready(&self) -> bool {
        let asks_system = self.questions.ask();
        let has_come =
            |(packets, queue): (&AtomicU64, &Queue)| packets.load(Ordering::Acquire) != 0 || queue.is_ready();
        // What comes shows at the descriptor alone, where the provider goes on with its work only when its queue is read.
        let shows = |set: &WaitSet| asks_system && set.poll(false);
        self.wire.is_ready() || self.fabric.is_some_and(has_come) || self.wait_set.as_ref().is_some_and(shows)
    }
}

impl Fabric {
    /// The first lane of a rank that has a wire and, if there is a fabric, a domain of it.
    ///
    /// # Errors
    /// What the provider or the system says.
    pub fn new(me: JobRank, wire: Box<dyn Network>, domain: Option<&'static Domain>) -> Result<Fabric> {
        let port = domain.map(Port::open).transpose()?;
        let fabric = port.as_ref().map(|port| (port.inbound.count(), port.endpoint.queue()));
        let wait_set = match (fabric, wire.descriptor()) {
            (Some((_, queue)), Some(descriptor)) => {
                let set = WaitSet::new()?;
                let added = set.add(descriptor, 0).and_then(|()| set.add_edge(queue.descriptor(), 1));
                added.map_err(|error| super::network::refused("epoll_ctl", &error))?;
                Some(set)
            }
            _ => None,
        };
        let news = News { wire: wire.ready(), fabric, wait_set, questions: Questions::default() };
        // What is asked without the lock lives as long as the process.
        let ready: &'static News = Box::leak(Box::new(news));
        Ok(Fabric {
            me,
            wire,
            port,
            ready,
            in_hand: InHand::Nothing,
            patience: Patience::default(),
            early_loads: HashMap::new(),
            unanswered: Vec::new(),
            is_fabric_full: false,
        })
    }

    fn lane(&self, lane: usize) -> Result<Fabric> {
        let domain = self.port.as_ref().map(|port| port.endpoint.domain().beside());
        Fabric::new(self.me, self.wire.beside(lane)?, domain)
    }

    /// The port, and the number of a peer there, if packets go to it over the fabric. Where that is not known yet, the peer is
    /// asked.
    #[inline]
    fn fabric_to(&mut self, peer: JobRank) -> Result<Option<(&mut Port, usize)>> {
        let Some(port) = self.port.as_mut().filter(|_| peer != self.me) else { return Ok(None) };
        let index = port.partner(peer);
        if port.partners[index].way == Way::Early {
            self.meet(peer, index)?;
        }
        let port = self.port.as_mut().filter(|port| port.partners[index].way == Way::Fabric);
        Ok(port.map(|port| (port, index)))
    }

    /// Finds the next packet, and says where it is.
    fn look(&mut self) {
        let is_waiting = self.look_at_fabric();
        let uses_wire = self.port.as_ref().is_none_or(|port| port.on_wire > 0);
        if !self.fabric_has_some() && (is_waiting || uses_wire || self.patience.is_one_of(WIRE_LOOKS)) {
            self.look_at_wire();
        }
        // A partner may have changed over just now.
        if self.in_hand == InHand::Nothing && self.fabric_has_some() {
            self.in_hand = InHand::Fabric;
        }
    }

    /// Whether a packet has come over the fabric.
    fn fabric_has_some(&self) -> bool {
        self.port.as_ref().is_some_and(|port| !port.inbound.is_empty())
    }

    /// Asks the fabric for what has come, if nothing is here. Whether somebody is about to sleep.
    fn look_at_fabric(&mut self) -> bool {
        let Some(port) = self.port.as_mut().filter(|port| port.inbound.is_empty()) else { return false };
        let is_time = self.patience.is_time(self.ready.questions.asked());
        let is_waiting = self.patience.is_waiting();
        if is_time {
            // What has woken the rank does so once: it is looked for after that.
            let waits = self.ready.wait_set.as_ref().filter(|_| is_waiting);
            waits.into_iter().for_each(|set| set.ready().for_each(drop));
            port.is_refused = false;
            port.at_rest();
            if port.progress() {
                self.patience.found();
            }
            // What was asked of the queue since then does not count.
            if port.is_refused {
                port.must_not_sleep();
            }
        }
        is_waiting
    }

    /// The packet that was found.
    fn arrival(&mut self) -> Option<Arrival> {
        match (self.in_hand, &self.port) {
            (InHand::Wire, _) => self.wire.peek(),
            (InHand::Fabric, Some(port)) => {
                let Came { head, place, .. } = port.inbound.first()?;
                let payload = match place {
                    Place::Received(place, _) => *place,
                    Place::Owned(payload) => payload.as_ptr(),
                };
                let Head { kind, bytes, header, sort, .. } = *head;
                Some(Arrival { kind, is_long: sort != Sort::Packet, bytes, header, payload })
            }
            _ => None,
        }
    }

    /// Takes leave of all partners on the fabric, and waits until they have received what is for them.
    fn leave_fabric(&mut self) {
        let Some(port) = &mut self.port else { return };
        let failed = |rank: &JobRank| self.wire.knows_failed(*rank);
        let failed: Vec<JobRank> = port.partners.iter().map(|partner| partner.rank).filter(failed).collect();
        failed.into_iter().for_each(|rank| port.part_with(rank));
        let partners = port.reached();
        for &index in &partners {
            port.partners[index].credits.tell_first(super::network::LEAVE);
            port.tell(index);
        }
        let (mut before, mut since) = (usize::MAX, Instant::now());
        while since.elapsed() < PATIENCE {
            let Some(port) = &mut self.port else { return };
            port.progress();
            port.at_rest();
            let is_missing = |&&index: &&usize| {
                let partner = &port.partners[index];
                !partner.is_broken()
                    && (partner.is_sending() || !partner.has_heard && !partner.credits.leaves())
            };
            let missing = partners.iter().filter(is_missing).count();
            if missing == 0 {
                return;
            }
            if missing != before {
                (before, since) = (missing, Instant::now());
            }
            // One of them may be gone.
            self.look_at_wire();
            if self.wire.lost().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

impl Reaches for Fabric {
    type Peer = JobRank;
}

impl Packets for Fabric {
    fn push(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        if self.is_early(letter) {
            return self.push_early(peer, letter);
        }
        match self.fabric_to(peer)? {
            Some((port, index)) if letter.kind == fabric_port::LOADED => port.push_loaded(index, letter),
            Some((port, index)) => {
                let bytes = letter.payload.len() as u32;
                let head = Head { bytes, ..Head::bare(Sort::Packet, letter.kind, letter.header) };
                port.send(index, head, letter.payload)
            }
            None => self.wire.push(peer, letter),
        }
    }

    fn takes_letter(&mut self, peer: JobRank, bytes: usize) -> Result<bool> {
        match self.fabric_to(peer)? {
            Some((port, index)) => {
                Ok(bytes <= LONG_LETTER_BYTES && port.partners[index].credits.takes_long())
            }
            None => self.wire.takes_letter(peer, bytes),
        }
    }

    fn take_long_letters(&mut self, take: bool) {
        self.wire.take_long_letters(take);
        if let Some(port) = self.port.as_mut().filter(|port| port.takes_long != take) {
            port.takes_long = take;
            port.reached().into_iter().for_each(|index| port.tell(index));
        }
    }

    fn peek(&mut self) -> Option<Arrival> {
        if self.in_hand == InHand::Nothing {
            self.look();
        }
        self.arrival()
    }

    fn advance(&mut self, arrival: &Arrival) {
        match (std::mem::replace(&mut self.in_hand, InHand::Nothing), &mut self.port) {
            (InHand::Fabric, Some(port)) => port.advance(),
            (InHand::Wire, _) => self.wire.advance(arrival),
            _ => {}
        }
    }

    fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.ask(self.ready);
        arrivals
    }

    /// On the fabric there is nothing to do: the queue tells when something has gone.
    fn want_room(&mut self, peer: JobRank) {
        self.wire.want_room(peer);
    }

    fn doorbell(&self) -> &Doorbell {
        self.wire.doorbell()
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.ready.wait_set.as_ref().map(WaitSet::raw).or_else(|| self.wire.descriptor())
    }

    fn leave(&mut self) {
        self.leave_fabric();
        self.wire.leave();
    }

    fn lost(&mut self) -> Option<JobRank> {
        self.port.as_ref().and_then(Port::lost).or_else(|| self.wire.lost())
    }
}

impl Network for Fabric {
    fn ready(&self) -> &'static dyn Ready {
        self.ready
    }

    fn beside(&self, lane: usize) -> Result<Box<dyn Network>> {
        Ok(Box::new(self.lane(lane)?))
    }

    fn means_to(&self, peer: JobRank) -> String {
        match self.port.as_ref().filter(|port| port.way_to(peer) == Way::Fabric) {
            Some(port) => format!("libfabric's provider {}", port.endpoint.domain().provider),
            None => self.wire.means_to(peer),
        }
    }

    fn count_packets(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) {
        self.wire.count_packets(show);
        let partners = self.port.iter().flat_map(|port| &port.partners);
        partners.for_each(|partner| show(partner.rank, partner.counts));
    }

    fn why_lost(&self, peer: JobRank) -> Error {
        self.wire.why_lost(peer)
    }

    fn ring_at(&mut self, doorbell: &'static Doorbell) {
        self.wire.ring_at(doorbell);
    }

    /// Hardware of its own is quicker than many datagrams.
    fn multicast(&self) -> Result<&dyn Multicast> {
        match self.port {
            None => self.wire.multicast(),
            Some(_) => Err(Error::new(
                Class::Other,
                "the ranks are connected by hardware that has no multicast here",
            )),
        }
    }

    fn forget(&mut self, peer: JobRank) {
        self.wire.forget(peer);
    }

    fn outlive(&mut self, peer: JobRank) -> bool {
        let is_over = self.wire.outlive(peer);
        if let Some(port) = self.port.as_mut().filter(|_| is_over) {
            port.part_with(peer);
        }
        is_over
    }
}

impl OfferedMemory for Fabric {}
impl Offers for Fabric {}
impl SharedTasks for Fabric {}
