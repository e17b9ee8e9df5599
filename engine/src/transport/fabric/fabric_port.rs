//! The port of a lane: its endpoint, and the messages that go and come there.
//!
//! A message is the receiver's seal, a head as the wire has it, and a payload. The provider carries the messages of a sender to
//! a receiver in order, and loses none.

use super::domain::Domain;
use super::endpoint::{Completion, Endpoint, Handed};
use super::fabric_partner::{Partner, Way};
use super::inbound::{Came, Inbound, Place};
use super::landing::Landing;
use super::message_buffers::{About, Buffers, Context, BEFORE_PAYLOAD, SEAL_BYTES};
use super::remote_reads::Reads;
use super::structures::{PeerAddress, MANY_MESSAGES};
use crate::transport::network::framing::{Head, Sort, LONGEST};
use crate::transport::network::{gone, Loads, Word, LEAVE};
use crate::transport::{Told, LONG_LETTER_BYTES, OWN_KINDS};
use crate::{JobRank, Result};
use std::collections::HashMap;

/// Kind of a packet that stands for a payload.
pub const LOADED: u8 = OWN_KINDS + 2;
/// Kind of the word that says that all has been received that its receiver has sent before it said that it leaves.
const HEARD: u8 = 128;

/// Short messages that are copied here before the provider gets them.
const SHORT: usize = 256;
/// Buffers in which messages are received, and their length. One has room for the longest message at least twice.
const RECEIVING: usize = 3;
const RECEIVING_BYTES: usize = 160 << 10;

/// A payload that has been loaded and not sent.
#[derive(Debug)]
pub struct Loaded {
    /// Of which partner.
    pub partner: usize,
    /// Its head.
    pub head: Head,
    /// Where it is, behind room for what stands before it.
    pub buffer: usize,
}

/// The port of a lane.
#[derive(Debug)]
pub struct Port {
    /// Dropped before the memory that the provider uses.
    pub reads: Reads,
    pub endpoint: Endpoint,
    pub buffers: Buffers,
    receiving: HashMap<usize, Landing>,
    /// Why a message could not be received.
    failure: Option<isize>,
    pub partners: Vec<Partner>,
    by_rank: HashMap<JobRank, u32>,
    /// Packets that have come.
    pub inbound: Inbound,
    /// Partners that have not changed over to the fabric.
    pub on_wire: usize,
    pub loads: Loads<Loaded>,
    /// Partners that have to be told something.
    owing: Vec<usize>,
    pub takes_long: bool,
    /// The provider has refused something since the last look, and nothing is under way whose end would wake this rank.
    pub is_refused: bool,
}

impl Port {
    /// Opens one.
    ///
    /// # Errors
    /// What the provider says.
    pub fn open(domain: &'static Domain) -> Result<Port> {
        let endpoint = Endpoint::open(domain, BEFORE_PAYLOAD + LONGEST)?;
        let lengths = [BEFORE_PAYLOAD + LONG_LETTER_BYTES, BEFORE_PAYLOAD + LONGEST];
        let mut port = Port {
            reads: Reads::default(),
            endpoint,
            buffers: Buffers::new(lengths),
            receiving: HashMap::new(),
            failure: None,
            partners: Vec::new(),
            by_rank: HashMap::new(),
            inbound: Inbound::default(),
            on_wire: 0,
            loads: Loads::new(LOADED),
            owing: Vec::new(),
            takes_long: true,
            is_refused: false,
        };
        for _ in 0..RECEIVING {
            let buffer = port.buffers.for_receiving(&port.endpoint, RECEIVING_BYTES)?;
            port.receiving.insert(buffer, Landing::default());
            if let Handed::Refused(code) = port.buffers.receive(&port.endpoint, buffer) {
                return Err(domain.refused("fi_recvmsg", code));
            }
        }
        Ok(port)
    }

    /// What is known of a peer, made if there is nothing.
    #[inline]
    pub fn partner(&mut self, peer: JobRank) -> usize {
        match self.by_rank.get(&peer) {
            Some(&index) => index as usize,
            None => {
                let index = self.partners.len();
                self.partners.push(Partner::new(peer, index));
                self.by_rank.insert(peer, index as u32);
                self.on_wire += 1;
                index
            }
        }
    }

    /// How packets go to a peer.
    pub fn way_to(&self, peer: JobRank) -> Way {
        self.by_rank.get(&peer).map_or(Way::Early, |&index| self.partners[index as usize].way)
    }

    /// Sends a frame whose payload is copied; `false` if there is no room for it. What is for a rank that has left is lost on
    /// the way.
    ///
    /// # Errors
    /// When the peer is gone.
    pub fn send(&mut self, index: usize, head: Head, payload: &[u8]) -> Result<bool> {
        let Some(address) = self.may_send(index)? else { return Ok(self.loses(index)) };
        let partner = &mut self.partners[index];
        let bytes = BEFORE_PAYLOAD + payload.len();
        if bytes <= self.endpoint.inject_bytes.min(SHORT) && !partner.wants_completion() {
            let mut message = [0; SHORT];
            fill(&mut message, partner.others_seal, &head);
            message[BEFORE_PAYLOAD..bytes].copy_from_slice(payload);
            let handed = self.endpoint.inject(address, &message[..bytes]);
            if handed == Handed::Over {
                partner.was_injected();
            }
            return Ok(self.went(index, handed));
        }
        let Ok(buffer) = self.buffers.take(&self.endpoint, bytes) else { return Ok(false) };
        self.buffers.bytes(buffer)[BEFORE_PAYLOAD..bytes].copy_from_slice(payload);
        let went = self.send_buffer(index, head, buffer)?;
        if !went {
            self.buffers.give(buffer);
        }
        Ok(went)
    }

    /// Sends a frame whose payload lies in a buffer, which is given back when it has gone; `false` if there is no room.
    ///
    /// # Errors
    /// When the peer is gone.
    pub fn send_buffer(&mut self, index: usize, head: Head, buffer: usize) -> Result<bool> {
        let Some(address) = self.may_send(index)? else { return Ok(self.loses(index)) };
        fill(self.buffers.bytes(buffer), self.partners[index].others_seal, &head);
        let bytes = BEFORE_PAYLOAD + head.bytes as usize;
        let handed = self.buffers.send(&self.endpoint, buffer, bytes, (index, address));
        if handed == Handed::Over {
            self.partners[index].was_sent(bytes);
        }
        Ok(self.went(index, handed))
    }

    /// Where a partner is, if there is room for one more message.
    fn may_send(&mut self, index: usize) -> Result<Option<PeerAddress>> {
        if !self.partners[index].has_room() {
            self.progress();
        }
        let partner = &self.partners[index];
        if let Some(code) = self.failure {
            return Err(self.endpoint.domain().refused("a receive", code));
        }
        if partner.is_lost() {
            return Err(gone(partner.rank));
        }
        Ok(partner.address.filter(|_| partner.has_room() && !partner.is_broken()))
    }

    /// Whether what is for a partner is lost, because it has left.
    fn loses(&self, index: usize) -> bool {
        self.partners[index].is_broken() && self.partners[index].credits.leaves()
    }

    fn went(&mut self, index: usize, handed: Handed) -> bool {
        match handed {
            Handed::Over => true,
            // It may make room, or go on with a connection.
            Handed::NoRoom => {
                self.progress();
                if !self.partners.iter().any(Partner::is_sending) {
                    self.must_not_sleep();
                }
                false
            }
            Handed::Refused(_) => {
                self.partners[index].is_out_of_reach();
                self.loses(index)
            }
        }
    }

    /// Nothing would wake this rank: it has to look again before it sleeps.
    pub fn must_not_sleep(&mut self) {
        self.is_refused = true;
        self.endpoint.queue().look_again();
    }

    /// Hears of all that is complete.
    pub fn progress(&mut self) -> bool {
        let queue = self.endpoint.queue();
        let mut has_come = false;
        for completion in queue.completions() {
            has_come = true;
            // SAFETY: every operation was given a context of ours, which stays until it is complete.
            match unsafe { (*completion.context.cast::<Context>()).about } {
                About::Sending(buffer) => self.is_sent(buffer, completion.error),
                About::Receiving(buffer) => self.has_received(buffer, &completion),
                About::Reading(number) => self.has_read(number, completion.error),
            }
        }
        if self.reads.are_waiting() {
            self.read_on();
        }
        has_come
    }

    fn is_sent(&mut self, buffer: usize, error: Option<isize>) {
        let (index, bytes) = self.buffers.sent(buffer);
        let partner = &mut self.partners[index];
        partner.is_sent(bytes);
        if error.is_some() {
            partner.is_out_of_reach();
        }
        self.buffers.give(buffer);
    }

    fn has_received(&mut self, buffer: usize, completion: &Completion) {
        let (place, bytes) = completion.place;
        let came = match completion.error {
            None => self.read(buffer, completion.place),
            Some(code) => {
                // A message may be lost, and nobody knows whose.
                self.failure = Some(code);
                None
            }
        };
        let start = self.buffers.memory(buffer).0;
        let landing = self.receiving.get_mut(&buffer).expect("a buffer to receive in");
        if bytes > 0 {
            landing.landed(place as usize - start as usize, bytes);
        }
        if completion.flags & MANY_MESSAGES != 0 {
            landing.ends();
        }
        if let Some(came) = came {
            landing.waits();
            let is_early = came.partner.is_some_and(|index| !self.partners[index].has_changed_over);
            self.inbound.add(came, is_early);
        }
        self.receive_again(buffer);
    }

    /// A partner has changed over to the fabric: what it has sent there comes next.
    pub fn has_changed_over(&mut self, index: usize) {
        if !std::mem::replace(&mut self.partners[index].has_changed_over, true) {
            self.on_wire -= 1;
            self.inbound.changes_over(index);
        }
    }

    /// Reads a message: a packet for the rank, if that is what it is. One that no partner can have sent counts for nothing.
    fn read(&mut self, buffer: usize, (place, bytes): (*const u8, usize)) -> Option<Came> {
        if bytes < BEFORE_PAYLOAD {
            return None;
        }
        // SAFETY: the provider has received so many bytes there.
        let before = unsafe { place.cast::<[u8; BEFORE_PAYLOAD]>().read_unaligned() };
        let (seal, head) = before.split_first_chunk().expect("a seal");
        let seal = u64::from_le_bytes(*seal);
        let index = Partner::index_of(seal);
        let partner = self.partners.get_mut(index).filter(|partner| partner.seal == seal)?;
        let head = Head::read(head.first_chunk().expect("a head"))?;
        if head.bytes as usize != bytes - BEFORE_PAYLOAD {
            return None;
        }
        partner.counts[1] += 1;
        match head.sort {
            Sort::Packet | Sort::Long | Sort::Awaited => Some(Came {
                partner: Some(index),
                head,
                place: Place::Received(place.wrapping_add(BEFORE_PAYLOAD), buffer),
                is_retained: false,
            }),
            Sort::Own if head.kind == HEARD => {
                partner.has_heard = true;
                None
            }
            Sort::Own => {
                let left = partner.credits.leaves();
                partner.credits.tells(head.word());
                if !left && partner.credits.leaves() {
                    partner.credits.tell_first(Word { kind: HEARD, header: [0; 2] });
                    self.owes(index);
                }
                None
            }
            Sort::Ack | Sort::Resume | Sort::Ask | Sort::Data => None,
        }
    }

    /// A buffer is received into again once the provider and all readers are done with it. If there is no room for that, it
    /// is tried at the next look.
    fn receive_again(&mut self, buffer: usize) {
        let landing = self.receiving.get_mut(&buffer).expect("a buffer to receive in");
        if !landing.is_free() {
            return;
        }
        match self.buffers.receive(&self.endpoint, buffer) {
            Handed::Over => *landing = Landing::default(),
            Handed::NoRoom => self.must_not_sleep(),
            Handed::Refused(_) => {}
        }
    }

    /// What came first has been read.
    pub fn advance(&mut self) {
        let Some(Came { partner, head, place, is_retained }) = self.inbound.take() else { return };
        if let Place::Received(_, buffer) = place {
            self.receiving.get_mut(&buffer).expect("a buffer to receive in").is_read();
            self.receive_again(buffer);
        }
        if let Some(index) = partner.filter(|_| head.sort == Sort::Long && !is_retained) {
            self.let_go(index, u64::from(head.bytes));
        }
    }

    /// A payload of a partner is not needed any more.
    pub fn let_go(&mut self, index: usize, bytes: u64) {
        match self.partners[index].credits.release(bytes) {
            true => self.tell(index),
            false => self.owes(index),
        }
    }

    /// The rank is told that what it has begun is complete.
    pub fn told(&mut self, Told { kind, header }: Told, why: &str) {
        let head = Head { bytes: why.len() as u32, ..Head::bare(Sort::Packet, kind, header) };
        let place = Place::Owned(crate::transport::network::kept_payload::copy(why.as_bytes()));
        self.inbound.add(Came { partner: None, head, place, is_retained: false }, false);
    }

    /// A partner has to be told something when there is time.
    fn owes(&mut self, index: usize) {
        if !std::mem::replace(&mut self.partners[index].is_owing, true) {
            self.owing.push(index);
        }
    }

    /// There is nothing to read now: time to tell partners what they should know, and to receive where that was refused.
    pub fn at_rest(&mut self) {
        for index in std::mem::take(&mut self.owing) {
            self.partners[index].is_owing = false;
            self.tell(index);
        }
        let idle: Vec<usize> = match self.receiving.values().any(Landing::is_free) {
            true => self.receiving.keys().copied().collect(),
            false => return,
        };
        idle.into_iter().for_each(|buffer| self.receive_again(buffer));
    }

    /// Tells a partner what it should know of this rank.
    pub fn tell(&mut self, index: usize) {
        loop {
            let Some(word) = self.partners[index].credits.next_to_tell(self.takes_long) else { return };
            // To one that is gone nothing has to be said.
            if let Ok(false) = self.send(index, Head::own(word), &[]) {
                self.partners[index].credits.tell_first(word);
                return self.owes(index);
            }
        }
    }

    /// A partner has failed: it counts as one that has left, and nothing is waited for of it.
    pub fn part_with(&mut self, peer: JobRank) {
        if let Some(&index) = self.by_rank.get(&peer) {
            let partner = &mut self.partners[index as usize];
            partner.is_out_of_reach();
            partner.credits.tells(LEAVE);
        }
    }

    /// All partners that are reached over the fabric.
    pub fn reached(&self) -> Vec<usize> {
        (0..self.partners.len()).filter(|&index| self.partners[index].address.is_some()).collect()
    }

    /// A partner that is gone without having taken leave, or of whom something may be lost.
    pub fn lost(&self) -> Option<JobRank> {
        let is_lost = |partner: &&Partner| partner.is_lost() || self.failure.is_some();
        self.partners.iter().find(is_lost).map(|partner| partner.rank)
    }
}

/// Writes what stands before a payload.
fn fill(message: &mut [u8], seal: u64, head: &Head) {
    message[..SEAL_BYTES].copy_from_slice(&seal.to_le_bytes());
    message[SEAL_BYTES..BEFORE_PAYLOAD].copy_from_slice(&head.write());
}
