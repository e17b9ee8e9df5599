//! The loopback: a transport that behaves as one over a network does, on one machine. Ranks share no
//! memory over it; all that they say goes over a wire, which is queues within a process (for tests) or
//! sockets between processes.
//!
//! What comes over the wire may be held back for a while and handed over in another order
//! ([`sequence::Delays`]), as a network may do; frames are numbered, so that packets have their order again.
//! Payloads count against a number that the receiver gives back. It reaches into no memory.

mod arrived;
mod carrier;
mod frame;
mod payloads;
#[cfg(test)]
mod queues;
mod remembered;
mod sequence;
mod socket;
mod sockets;
#[cfg(test)]
mod tests;

pub use sockets::{Name, Sockets};

use self::arrived::Inbox;
use self::carrier::{Came, Sent, Wire};
use self::frame::{Frame, Head, Sort};
use self::remembered::Peer;
use self::sequence::Delays;
use super::network::{gone, Loads, Network, LAUNCHERS_TURN, LEAVE};
use super::{
    Arrival, Arrivals, Letter, OfferedMemory, Offers, Packets, Reaches, Ready, RemoteMemory, SharedTasks,
    LONG_LETTER_BYTES,
};
use crate::progress::Doorbell;
use crate::{JobRank, Result};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

/// So often a rank that leaves tries to say so to a peer that has no room.
const PATIENCE: u32 = 1000;

/// The loopback of a rank, or of one of its lanes.
#[derive(Debug)]
pub struct Loopback {
    wire: Box<dyn Wire>,
    seed: Option<u64>,
    inbox: Inbox,
    ready: &'static Waits,
    /// By job rank.
    peers: Vec<Peer>,
    loads: Loads<(JobRank, Frame)>,
    /// Peers have to be told of what has been let go of, and there was no room.
    are_told_late: bool,
    /// Packets with long payloads are taken.
    takes_long: bool,
    /// A rank that is gone, perhaps without having said so, and has not been told of; and since when.
    lost: Option<(JobRank, Instant)>,
}

/// Whether there is something to read: here, or on the wire.
#[derive(Debug)]
struct Waits {
    frames: AtomicU64,
    wire: &'static dyn Ready,
}

impl Ready for Waits {
    fn is_ready(&self) -> bool {
        self.frames.load(SeqCst) != 0 || self.wire.is_ready()
    }
}

impl Loopback {
    /// Over a wire, for a job of so many ranks. With a seed, what comes is held back and mixed by it. Its
    /// words live as long as the process.
    fn over(wire: Box<dyn Wire>, ranks: u32, seed: Option<u64>) -> Loopback {
        let waits: &'static Waits =
            Box::leak(Box::new(Waits { frames: AtomicU64::new(0), wire: wire.ready() }));
        let inbox = Inbox::new(ranks, seed.map(Delays::new), &waits.frames);
        let peers = (0..ranks).map(|_| Peer::default()).collect();
        Loopback {
            wire,
            seed,
            inbox,
            ready: waits,
            peers,
            loads: Loads::new(payloads::LOADED),
            are_told_late: false,
            takes_long: true,
            lost: None,
        }
    }

    /// Over sockets between processes, for a job of so many ranks; as [`Loopback::over`].
    pub fn over_sockets(sockets: Sockets, ranks: u32, seed: Option<u64>) -> Loopback {
        Loopback::over(Box::new(sockets), ranks, seed)
    }

    /// Another lane of the same rank.
    fn lane(&self, lane: usize) -> Result<Loopback> {
        Ok(Loopback::over(self.wire.beside(lane)?, self.peers.len() as u32, self.seed))
    }

    /// Takes what has come off the wire, as far as there is room for it.
    fn take_in(&mut self) {
        while self.inbox.has_room() {
            match self.wire.receive() {
                Some(Came::Frame(source, frame)) => {
                    let peer = &mut self.peers[source.index()];
                    self.are_told_late |= !peer.is_known && !peer.credits.knows(self.takes_long);
                    peer.is_known = true;
                    self.inbox.arrived(source, frame);
                }
                Some(Came::End(peer)) => self.is_gone(peer),
                None => break,
            }
        }
        self.inbox.look();
    }

    fn is_gone(&mut self, peer: JobRank) {
        self.peers[peer.index()].is_gone = true;
        // Whether it has said that it leaves may still be on its way here.
        self.lost.get_or_insert((peer, Instant::now()));
    }

    /// Whether the launcher has had time to end a job that has lost a rank. It knows better why.
    fn is_lost_for_long(&self) -> bool {
        self.lost.is_some_and(|(_, since)| since.elapsed() >= LAUNCHERS_TURN)
    }

    /// The next packet that is for the rank; what is the transport's own is done on the way.
    fn next(&mut self) -> Option<&Frame> {
        while self.inbox.peek()?.1.head.sort == Sort::Own {
            if let Some((source, frame)) = self.inbox.advance() {
                self.peers[source.index()].credits.tells(frame.head.word());
            }
        }
        self.inbox.peek().map(|(_, frame)| frame)
    }

    /// Tells the peers what they have to know of this rank, as far as there is room.
    fn tell(&mut self) {
        for index in 0..self.peers.len() {
            self.tell_one(JobRank(index as u32));
        }
    }

    fn tell_one(&mut self, to: JobRank) {
        let peer = &mut self.peers[to.index()];
        if !peer.is_known || peer.is_gone {
            return;
        }
        while let Some(word) = peer.credits.next_to_tell(self.takes_long) {
            let sent = self.wire.send(to, &Head { number: peer.sent, ..Head::own(word) }, &[]);
            if let Ok(Sent::Away) = sent {
                peer.sent = peer.sent.wrapping_add(1);
                continue;
            }
            peer.credits.tell_first(word);
            if let Ok(Sent::NoRoom) = sent {
                self.are_told_late = true;
                self.wire.want_room(to);
            }
            return;
        }
    }

    /// Sends one frame; what is for a rank that has left is lost on the way.
    fn send(&mut self, to: JobRank, head: Head, payload: &[u8]) -> Result<bool> {
        let peer = &mut self.peers[to.index()];
        let sent = match peer.is_gone {
            true => Sent::Gone,
            false => self.wire.send(to, &Head { number: peer.sent, ..head }, payload)?,
        };
        match sent {
            Sent::Away => peer.sent = peer.sent.wrapping_add(1),
            Sent::NoRoom => return Ok(false),
            Sent::Gone if peer.credits.leaves() => {}
            Sent::Gone => {
                // Whether it has left in order may lie among what has come.
                self.take_in();
                self.next();
                if !self.peers[to.index()].credits.leaves() {
                    self.is_gone(to);
                    return if self.is_lost_for_long() { Err(gone(to)) } else { Ok(false) };
                }
            }
        }
        Ok(true)
    }
}

impl Reaches for Loopback {
    type Peer = JobRank;
}

impl Packets for Loopback {
    fn push(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        if letter.kind == payloads::LOADED {
            return self.push_loaded(peer, letter);
        }
        let head = Head { kind: letter.kind, sort: Sort::Packet, number: 0, header: letter.header };
        self.send(peer, head, letter.payload)
    }

    fn takes_letter(&mut self, peer: JobRank, bytes: usize) -> Result<bool> {
        Ok(bytes <= LONG_LETTER_BYTES && self.peers[peer.index()].credits.takes_long())
    }

    fn take_long_letters(&mut self, take: bool) {
        if self.takes_long != take {
            self.takes_long = take;
            self.tell();
        }
    }

    fn peek(&mut self) -> Option<Arrival> {
        if self.inbox.current().is_none() {
            self.take_in();
            if self.are_told_late {
                self.are_told_late = false;
                self.tell();
            }
        }
        let Frame { head, bytes, payload } = self.next()?;
        Some(Arrival {
            kind: head.kind,
            is_long: head.sort != Sort::Packet,
            bytes: *bytes,
            header: head.header,
            payload: payload.as_ptr(),
        })
    }

    fn advance(&mut self, _: &Arrival) {
        let Some((source, frame)) = self.inbox.advance() else { return };
        let is_retained = frame.payload.is_empty();
        if frame.head.sort == Sort::Long && !is_retained {
            self.let_go(source, u64::from(frame.bytes));
        }
    }

    fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.ask(self.ready);
        arrivals
    }

    fn want_room(&mut self, peer: JobRank) {
        self.wire.want_room(peer);
    }

    fn doorbell(&self) -> &Doorbell {
        self.wire.doorbell()
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.wire.descriptor()
    }

    fn leave(&mut self) {
        for index in 0..self.peers.len() {
            let peer = JobRank(index as u32);
            let is_spoken_to = self.peers[index].is_known || self.peers[index].sent != 0;
            if is_spoken_to && !self.peers[index].is_gone {
                let head = Head::own(LEAVE);
                // To one that is gone meanwhile, or stands still for long, nothing has to be said.
                let tries = (0..PATIENCE).map(|_| self.send(peer, head, &[]));
                let _ = tries.inspect(|_| std::thread::yield_now()).find(|sent| !matches!(sent, Ok(false)));
            }
        }
    }

    fn lost(&mut self) -> Option<JobRank> {
        let (lost, _) = self.lost?;
        self.take_in();
        self.next();
        if self.peers[lost.index()].credits.leaves() {
            self.lost = None;
            return None;
        }
        self.is_lost_for_long().then_some(lost)
    }
}

impl Network for Loopback {
    fn ready(&self) -> &'static dyn Ready {
        self.ready
    }

    fn beside(&self, lane: usize) -> Result<Box<dyn Network>> {
        Ok(Box::new(self.lane(lane)?))
    }

    fn means_to(&self, _: JobRank) -> String {
        "local sockets".to_owned()
    }
}

impl OfferedMemory for Loopback {}
impl Offers for Loopback {}
impl SharedTasks for Loopback {}
impl RemoteMemory for Loopback {}
