//! The transport between ranks of one node: mailboxes and cells in the node
//! segment, and the memory of the peers where the system lets us reach it.
//!
//! A rank sends to itself the same way, so there is no second protocol for it.

pub mod area;
mod borrowed_cells;
pub mod cells;
mod direct;
mod exposed_in_windows;
pub mod express;
mod forks;
mod gone;
mod inbox;
mod long_block;
pub mod mailbox;
mod offered_memory;
mod offers;
pub mod overtake_word;
mod overtaking;
pub mod packet;
mod passing;
mod payloads;
mod peer;
mod reach;
mod returned;
mod shared_tasks;
pub mod sizes;
pub mod withdrawals;

use self::area::{Area, FIRST_BYTES};
use self::inbox::Inbox;
use self::passing::Passer;
use self::peer::{first_contact, Peer};

use crate::job::node_segment::SERVER_LANE;
use crate::job::{NodeSegment, NodeView};
use crate::progress::{barrier, changes, Doorbell};
use crate::transport::{Arrival, Arrivals, Letter, Means, Packets, Reaches, LETTER_BYTES, OWN_KINDS, PLACES};
use crate::tuning::crossovers::WHOLE_CELL;
use crate::{LocalRank, Result};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// The transport of one rank, or of one of its lanes.
#[derive(Debug)]
pub struct NodeTransport {
    node: &'static NodeSegment,
    /// My local rank.
    me: u32,
    lane: usize,
    own: Area,
    inbox: Inbox,
    pool: cells::Pool,
    peers: Vec<Option<Box<Peer>>>,
    tasks: shared_tasks::Tasks,
    /// The cell of the packet that was looked at last, if it has to be given back.
    in_hand: Option<long_block::InHand>,
    /// How it is read.
    overtaking: overtaking::Overtaking,
    /// Payloads in pieces that are retained.
    kept: Vec<Option<long_block::InHand>>,
    /// The packet that was looked at last, if its payload is long.
    long: Option<Arrival>,
    /// It has read a packet since it sent the last one: it answers, and somebody waits for that.
    answers: bool,
    means_allowed: Means,
    direct: Option<Arc<direct::Direct>>,
    /// Peers that pretend to be on another node; empty where nobody does.
    apart: Vec<bool>,
    /// Ranks that have the server of their node.
    servers: Vec<u32>,
    passer: Passer,
    /// Peers' barriers reach this process.
    registered: bool,
    /// What all ranks have for changing each other's memory, once it is asked for.
    changers: OnceLock<&'static [&'static changes::Words]>,
    /// How much of mine is withdrawn, and its peers have not answered.
    withdrawn: u32,
}

impl NodeTransport {
    /// Attaches local rank `me` of `node`, once per rank: its first lane.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn attach(node: &'static NodeSegment, me: u32) -> Result<NodeTransport> {
        NodeTransport::attach_lane(node, me, 0)
    }

    /// Another lane of the same rank: it talks with the same lane of the others, and shares
    /// with the first one nothing but the doorbell and the windows.
    ///
    /// # Errors
    /// As [`NodeTransport::attach`].
    pub fn beside(&self, lane: usize) -> Result<NodeTransport> {
        let other = NodeTransport::attach_lane(self.node, self.me, lane)?;
        let (means_allowed, direct) = (self.means_allowed, self.direct.clone());
        let (apart, servers) = (self.apart.clone(), self.servers.clone());
        Ok(NodeTransport { means_allowed, direct, apart, servers, ..other })
    }

    fn attach_lane(node: &'static NodeSegment, me: u32, lane: usize) -> Result<NodeTransport> {
        node.reserve_transport(me, area::offset(lane), FIRST_BYTES)?;
        let own = Area::of(node, me, lane);
        forks::watch(node, me);
        reach::publish_proof(&own);
        Ok(NodeTransport {
            me,
            lane,
            own,
            inbox: Inbox::new(own),
            pool: cells::Pool::new(own),
            peers: (0..node.local_ranks()).map(|_| None).collect(),
            tasks: shared_tasks::Tasks::default(),
            in_hand: None,
            overtaking: overtaking::Overtaking::No,
            kept: Vec::new(),
            long: None,
            answers: false,
            means_allowed: Means::CrossMemory,
            direct: None,
            apart: Vec::new(),
            servers: Vec::new(),
            passer: Passer::default(),
            registered: barrier::register(),
            changers: OnceLock::new(),
            withdrawn: 0,
            node,
        })
    }

    /// Allows means up to `best`: tests use it to try each rung.
    pub fn limit_means(&mut self, best: Means) {
        self.means_allowed = best;
        self.direct = None;
        // The ranks of a test are one process, which is no rank of a job and so has no window.
        if best == Means::Direct && !cfg!(test) {
            self.direct = direct::Direct::open(self.node, self.me).map(Arc::new);
        }
    }

    /// Reaches into no memory of these peers (`true`), as if they were on another node:
    /// what they send comes in packets and cells only.
    pub fn keep_apart(&mut self, far: Vec<bool>) {
        self.apart = if far.contains(&true) { far } else { Vec::new() };
    }

    /// These ranks have the server of their node, which changes memory of its ranks as they do.
    pub fn know_servers(&mut self, servers: Vec<u32>) {
        self.servers = servers;
    }

    #[inline]
    fn is_apart(&self, peer: u32) -> bool {
        !self.apart.is_empty() && self.apart[peer as usize]
    }

    #[inline(always)]
    fn peer(&mut self, peer: u32) -> Result<&mut Peer> {
        let slot = &mut self.peers[peer as usize];
        if slot.is_none() {
            *slot = Some(first_contact(self.node, peer, lane_at_peers(self.lane))?);
        }
        Ok(slot.as_mut().expect("just filled"))
    }

    fn area_of(&self, peer: u32) -> Area {
        Area::of(self.node, peer, lane_at_peers(self.lane))
    }

    #[inline]
    fn between(&self, peer: u32) -> forks::Between {
        forks::Between { own: self.own, peer: self.area_of(peer), number: peer }
    }

    /// Does what a packet of the transport's own says; `true`: it has brought `self.long`.
    #[inline(never)]
    fn take_own(&mut self, arrival: &Arrival) -> bool {
        if arrival.kind == long_block::LONG {
            if self.long.is_none() {
                self.arrived_long(arrival);
            }
            return true;
        }
        self.advance(arrival);
        if arrival.kind == express::OPEN {
            self.inbox.open(arrival.header[0] as usize);
        }
        false
    }

    /// Peers have failed: goes past what they have not finished in this mailbox, if it is next. Whether there was
    /// something.
    #[cold]
    pub fn skip_unfinished(&mut self) -> bool {
        let (node, lane, mine) = (self.node, self.lane, 1 + self.me);
        let may_be_filled = || {
            let mut all = areas(node, lane).filter(|&(peer, _)| node.failure_of(peer).is_none());
            // filling: paired with `push`
            all.any(|(_, area)| area.control().filling.0.load(Ordering::Acquire) == mine)
        };
        let skipped = self.inbox.skip_unfinished(may_be_filled);
        if skipped == Some(true) {
            self.wake_all();
        }
        skipped.is_some()
    }

    /// Wakes every rank of the node that sleeps: somebody waits for room here.
    #[cold]
    fn wake_all(&self) {
        for peer in 0..self.node.local_ranks() {
            self.area_of(peer).doorbell().ring();
        }
    }
}

/// A rank looks at its mailbox and its express boxes.
const _: () = assert!(sizes::BOXES < PLACES);

/// Where a local rank of `node` sleeps.
pub fn doorbell_of(node: &'static NodeSegment, local_rank: LocalRank) -> &'static Doorbell {
    let doorbell: *const Doorbell = Area::of(node, local_rank.0, 0).doorbell();
    // SAFETY: the node segment lives for ever; the doorbell is made of atomics.
    unsafe { &*doorbell }
}

/// The lane of a peer's area that a lane of this rank talks with. Servers talk with nobody on the node: of its ranks
/// they reach the memory, and what that needs is in the first lane.
fn lane_at_peers(lane: usize) -> usize {
    if lane == SERVER_LANE {
        0
    } else {
        lane
    }
}

/// As [`doorbell_of`], for an observer; `None` if the view is not writable.
pub fn doorbell_in(view: &NodeView, local_rank: u32) -> Option<&Doorbell> {
    // SAFETY: the area lies in the view, and only what lives as long is handed out.
    let area = unsafe { Area::new(view.transport_area(local_rank)) };
    let doorbell: *const Doorbell = area.doorbell();
    // SAFETY: as above; the doorbell is made of atomics.
    view.is_writable().then(|| unsafe { &*doorbell })
}

/// Says, for an observer that may write, where others change memory that a local rank has failed.
pub fn note_failure_in(view: &NodeView, local_rank: u32) {
    if view.is_writable() {
        // SAFETY: as above; the words are atomics.
        unsafe { Area::new(view.transport_area(local_rank)) }.changes().note_failure();
    }
}

/// The areas of a lane of all local ranks.
fn areas(node: &'static NodeSegment, lane: usize) -> impl Iterator<Item = (u32, Area)> {
    (0..node.local_ranks()).map(move |peer| (peer, Area::of(node, peer, lane)))
}

impl Reaches for NodeTransport {
    type Peer = LocalRank;
}

impl Packets for NodeTransport {
    #[inline(always)]
    fn push(&mut self, LocalRank(peer): LocalRank, letter: &Letter<'_>) -> Result<bool> {
        let (node, route, registered) = (self.node, (self.me, peer, self.lane), self.registered);
        let (own, to) = (self.own, peer);
        let filling = &own.control().filling.0;
        let answers = std::mem::take(&mut self.answers);
        let peer = self.peer(peer)?;
        let by_mailbox = peer.express.is_none();
        if by_mailbox {
            filling.store(1 + to, Ordering::Relaxed);
        }
        let Some((line, word)) = peer.fill(node, route, letter) else {
            filling.store(0, Ordering::Relaxed);
            return Ok(false);
        };
        // SAFETY: a word of the peer's rings, which live for ever.
        let (line, doorbell) = (unsafe { &*line }, peer.area.doorbell());
        if registered && doorbell.has_promised() {
            line.store(word, Ordering::Release); // line: paired with `arrived`
            barrier::counterpart();
        } else {
            // line: the same; and a barrier before the owner's sleep is asked for
            line.swap(word, Ordering::SeqCst);
        }
        if let Some(express) = peer.express.as_ref().filter(|_| answers) {
            express.hand_over(letter.payload.len());
        }
        if by_mailbox {
            filling.store(0, Ordering::Release); // filling: paired with `skip_unfinished`
        }
        doorbell.ring();
        Ok(true)
    }

    #[inline]
    fn takes_letter(&mut self, LocalRank(to): LocalRank, bytes: usize) -> Result<bool> {
        let peer = self.peer(to)?;
        let short = peer.express.is_none() || peer.area.control().short_only.0.load(Ordering::Relaxed) != 0;
        Ok(!short
            && (bytes <= LETTER_BYTES || !WHOLE_CELL.is_passed_by(bytes as u64) && peer.copies.spares(bytes)))
    }

    fn take_long_letters(&mut self, take: bool) {
        self.own.control().short_only.0.store(u32::from(!take), Ordering::Relaxed);
    }

    #[inline(always)]
    fn peek(&mut self) -> Option<Arrival> {
        loop {
            let arrival = self.inbox.peek()?;
            if arrival.kind < OWN_KINDS {
                return Some(arrival);
            }
            // A copy for the call, and the result in a place of its own: so what comes in
            // packets stays in registers.
            if self.take_own(&{ arrival }) {
                return self.long;
            }
        }
    }

    #[inline(always)]
    fn advance(&mut self, arrival: &Arrival) {
        if arrival.is_long {
            return self.advance_long(&{ *arrival });
        }
        self.answers = true;
        if self.inbox.advance(arrival) {
            self.wake_all();
        }
    }

    fn arrivals(&self) -> Arrivals {
        self.inbox.arrivals()
    }

    fn want_room(&mut self, LocalRank(peer): LocalRank) {
        self.area_of(peer).control().room_wanted.0.store(1, Ordering::SeqCst);
    }

    fn doorbell(&self) -> &Doorbell {
        let doorbell: *const Doorbell = self.own.doorbell();
        // SAFETY: it lies in the node segment, which lives for ever.
        unsafe { &*doorbell }
    }
}

#[cfg(test)]
mod tests;
