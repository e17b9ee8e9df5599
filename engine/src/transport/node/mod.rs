//! The transport between ranks of one node: mailboxes and cells in the node
//! segment, and the memory of the peers where the system lets us reach it.
//!
//! A rank sends to itself the same way, so there is no second protocol for it.

pub mod area;
pub mod cells;
mod direct;
mod distance;
pub mod express;
mod forks;
mod gone;
mod inbox;
pub mod mailbox;
pub mod packet;
mod passing;
mod reach;

use self::area::{express_offset, Area, BLOCKS, FIRST_BYTES};
use self::distance::Distance;
use self::inbox::Inbox;
use self::mailbox::SenderView;
use self::passing::Passer;
use self::reach::Remote;
use crate::job::{NodeSegment, NodeView};
use crate::observe::State;
use crate::progress::{barrier, Doorbell};
use crate::transport::{Arrival, Arrivals, Cell, Letter, Means, SharedCopy, Transport, LETTER_BYTES};
use crate::{Class, Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// What this rank remembers of a peer it has spoken to.
#[derive(Debug)]
struct Peer {
    area: Area,
    view: SenderView,
    /// Packets sent by the mailbox, counted until a box is asked for.
    sent: u32,
    express: Option<express::Sender>,
    remote: Remote,
    distance: Distance,
}

/// The transport of one rank.
#[derive(Debug)]
pub struct NodeTransport {
    node: &'static NodeSegment,
    /// My local rank.
    me: u32,
    own: Area,
    inbox: Inbox,
    pool: cells::Pool,
    peers: Vec<Option<Box<Peer>>>,
    free_blocks: Vec<u32>,
    means_allowed: Means,
    direct: Option<direct::Direct>,
    /// Peers that pretend to be on another node; empty where nobody does.
    apart: Vec<bool>,
    passer: Passer,
    /// Peers' barriers reach this process.
    registered: bool,
}

impl NodeTransport {
    /// Attaches local rank `me` of `node`, once per rank.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn attach(node: &'static NodeSegment, me: u32) -> Result<NodeTransport> {
        node.reserve_transport(me, 0, FIRST_BYTES)?;
        let own = Area::of(node, me);
        forks::watch(node, me);
        reach::publish_proof(&own);
        Ok(NodeTransport {
            me,
            own,
            inbox: Inbox::new(own),
            pool: cells::Pool::new(own),
            peers: (0..node.local_ranks()).map(|_| None).collect(),
            free_blocks: (0..BLOCKS as u32).collect(),
            means_allowed: Means::CrossMemory,
            direct: None,
            apart: Vec::new(),
            passer: Passer::default(),
            registered: barrier::register(),
            node,
        })
    }

    /// Allows means up to `best`: tests use it to try each rung.
    pub fn limit_means(&mut self, best: Means) {
        self.means_allowed = best;
        self.direct = if best == Means::Direct { direct::Direct::open(self.node, self.me) } else { None };
    }

    /// Reaches into no memory of these peers (`true`), as if they were on another node:
    /// what they send comes in packets and cells only.
    pub fn keep_apart(&mut self, far: Vec<bool>) {
        self.apart = if far.contains(&true) { far } else { Vec::new() };
    }

    #[inline]
    fn is_apart(&self, peer: u32) -> bool {
        !self.apart.is_empty() && self.apart[peer as usize]
    }

    #[inline(always)]
    fn peer(&mut self, peer: u32) -> Result<&mut Peer> {
        let slot = &mut self.peers[peer as usize];
        if slot.is_none() {
            *slot = Some(first_contact(self.node, peer)?);
        }
        Ok(slot.as_mut().expect("just filled"))
    }

    fn area_of(&self, peer: u32) -> Area {
        Area::of(self.node, peer)
    }

    #[inline]
    fn between(&self, peer: u32) -> forks::Between {
        forks::Between { own: self.own, peer: self.area_of(peer), number: peer }
    }

    /// Finds out how memory of `peer` can be read, as far as that is known now.
    #[cold]
    fn try_to_reach(&mut self, peer: u32) {
        let pid = self.node.page(peer).identity.pid.load(Ordering::Relaxed);
        let apart = self.is_apart(peer);
        let Some(entry) = &mut self.peers[peer as usize] else { return };
        if let Remote::Untried = entry.remote {
            let other = || "SERRIED_COPY asks for other means".to_owned();
            entry.remote = match self.means_allowed {
                _ if apart => Remote::Closed("SERRIED_NODES puts it on another node".to_owned()),
                Means::Cells => Remote::Closed(other()),
                Means::MemoryFile => Remote::Asked(other()),
                Means::Direct | Means::CrossMemory => match reach::probe(&entry.area, pid) {
                    Some(found) => found.unwrap_or_else(Remote::Asked),
                    None => return, // it has not come so far
                },
            };
            if matches!(entry.remote, Remote::Asked(_)) && !self.passer.want(&self.own, &entry.area) {
                entry.remote = Remote::Closed(entry.remote.why().to_owned());
            }
        }
        if let Remote::Asked(why) = &mut entry.remote {
            if let Some(file) = self.passer.take(&self.own, &entry.area) {
                entry.remote = Remote::MemoryFile(file, std::mem::take(why));
            }
        }
    }

    /// Wakes every rank of the node that sleeps: somebody waits for room here.
    #[cold]
    fn wake_all(&self) {
        for peer in 0..self.node.local_ranks() {
            self.area_of(peer).control().doorbell.0.ring();
        }
    }
}

/// Where a local rank of `node` sleeps.
pub fn doorbell_of(node: &'static NodeSegment, local_rank: u32) -> &'static Doorbell {
    let doorbell: *const Doorbell = &Area::of(node, local_rank).control().doorbell.0;
    // SAFETY: the node segment lives for ever; the doorbell is made of atomics.
    unsafe { &*doorbell }
}

/// As [`doorbell_of`], for an observer; `None` if the view is not writable.
pub fn doorbell_in(view: &NodeView, local_rank: u32) -> Option<&Doorbell> {
    // SAFETY: the area lies in the view, and only what lives as long is handed out.
    let area = unsafe { Area::new(view.transport_area(local_rank)) };
    let doorbell: *const Doorbell = &area.control().doorbell.0;
    // SAFETY: as above; the doorbell is made of atomics.
    view.is_writable().then(|| unsafe { &*doorbell })
}

/// The areas of all local ranks.
fn areas(node: &'static NodeSegment) -> impl Iterator<Item = (u32, Area)> {
    (0..node.local_ranks()).map(move |peer| (peer, Area::of(node, peer)))
}

#[cold]
fn first_contact(node: &'static NodeSegment, peer: u32) -> Result<Box<Peer>> {
    if node.page(peer).state() == State::Unused {
        // It has not attached yet and so has not reserved its mailbox.
        node.reserve_transport(peer, 0, FIRST_BYTES)?;
    }
    let area = Area::of(node, peer);
    let view = SenderView::default();
    Ok(Box::new(Peer {
        area,
        view,
        sent: 0,
        express: None,
        remote: Remote::Untried,
        distance: Distance::default(),
    }))
}

impl Peer {
    /// Writes a packet where it goes: the word to store, and what publishes it.
    #[inline(always)]
    fn fill(
        &mut self,
        node: &NodeSegment,
        route: (u32, u32),
        letter: &Letter<'_>,
    ) -> Option<(*const AtomicU64, u64)> {
        if self.express.is_none() && self.sent <= express::HOT {
            self.count(node, route)?;
        }
        match &mut self.express {
            Some(sender) => sender.fill(&self.area, letter),
            // A copy for the call: so the letter itself stays in registers.
            None => self.view.fill(&self.area, &{ *letter }),
        }
    }

    /// Counts a packet, and asks for a box if it is one too many. `None` when
    /// there is no room to do so now.
    #[cold]
    fn count(&mut self, node: &NodeSegment, route: (u32, u32)) -> Option<()> {
        if self.sent == express::HOT {
            return self.ask_for_express(node, route);
        }
        self.sent += 1;
        Some(())
    }

    /// Takes a box of the peer, if one is free, and says so in the mailbox.
    /// `None` when the mailbox has no room to say so now.
    #[cold]
    fn ask_for_express(&mut self, node: &NodeSegment, (me, peer): (u32, u32)) -> Option<()> {
        let Some(sender) = express::take(&self.area, me) else {
            self.sent += 1;
            return Some(());
        };
        let number = sender.number();
        let give_back = || self.area.control().boxes[number].0.owner.store(0, Ordering::Relaxed);
        if node.reserve_transport(peer, express_offset(number), express::BOX_BYTES).is_err() {
            give_back();
            self.sent += 1;
            return Some(());
        }
        let opening = Letter { kind: express::OPEN, header: [number as u64, 0], payload: &[] };
        let Some((line, word)) = self.view.fill(&self.area, &opening) else {
            give_back();
            return None;
        };
        // SAFETY: a word of the peer's mailbox, which lives for ever.
        unsafe { &*line }.store(word, Ordering::Release); // line: paired with `arrived`
        self.express = Some(sender);
        Some(())
    }
}

impl Transport for NodeTransport {
    #[inline(always)]
    fn push(&mut self, peer: u32, letter: &Letter<'_>) -> Result<bool> {
        let (node, route, registered) = (self.node, (self.me, peer), self.registered);
        let peer = self.peer(peer)?;
        let Some((line, word)) = peer.fill(node, route, letter) else { return Ok(false) };
        // SAFETY: a word of the peer's rings, which live for ever.
        let (line, doorbell) = (unsafe { &*line }, &peer.area.control().doorbell.0);
        if registered && doorbell.has_promised() {
            line.store(word, Ordering::Release); // line: paired with `arrived`
            barrier::counterpart();
        } else {
            // line: the same; and a barrier before the owner's sleep is asked for
            line.swap(word, Ordering::SeqCst);
        }
        doorbell.ring();
        Ok(true)
    }

    #[inline]
    fn takes_letter(&mut self, to: u32, address: *const u8, bytes: usize) -> Result<bool> {
        let peer = self.peer(to)?;
        let short = peer.express.is_none() || peer.area.control().short_only.0.load(Ordering::Relaxed) != 0;
        Ok(!short
            && (bytes <= LETTER_BYTES
                || !self.had_better_read(to, address, bytes as u64)
                    && self.peer(to)?.distance.favours_letters(bytes)))
    }

    fn take_long_letters(&mut self, take: bool) {
        self.own.control().short_only.0.store(u32::from(!take), Ordering::Relaxed);
    }

    #[inline(always)]
    fn peek(&mut self) -> Option<Arrival> {
        loop {
            let arrival = self.inbox.peek()?;
            if arrival.kind < express::SKIP {
                return Some(arrival);
            }
            self.advance(&arrival);
            if arrival.kind == express::OPEN {
                self.inbox.open(arrival.header[0] as usize);
            }
        }
    }

    #[inline(always)]
    fn advance(&mut self, arrival: &Arrival) {
        if self.inbox.advance(arrival) {
            self.wake_all();
        }
    }

    fn largest_cell(&self) -> usize {
        cells::CLASSES[cells::CLASSES.len() - 1].bytes
    }

    fn take_cell(&mut self, peer: u32, bytes: usize) -> Result<Option<Cell>> {
        let again = self.peer(peer)?.distance.is_near();
        let (node, me) = (self.node, self.me);
        let index =
            self.pool.take(bytes, again, |offset, bytes| node.reserve_transport(me, offset, bytes))?;
        Ok(index.map(|index| Cell { owner: me, index }))
    }

    #[inline]
    fn cell_address(&self, cell: Cell) -> *mut u8 {
        cells::address(&self.area_of(cell.owner), cell.index)
    }

    unsafe fn fill_cell(&mut self, peer: u32, cell: Cell, source: *const u8, bytes: usize) -> Result<()> {
        let target = self.cell_address(cell);
        let distance = &mut self.peer(peer)?.distance;
        // SAFETY: the caller vouches for both sides.
        unsafe { distance.copy(source, target, bytes) };
        Ok(())
    }

    #[inline]
    fn give_back(&mut self, cell: Cell) {
        let area = self.area_of(cell.owner);
        let doorbell = &area.control().doorbell.0;
        if area.control().returned.0.give(cell.index, self.registered && doorbell.has_promised()) {
            doorbell.ring();
        }
    }

    fn want_cells(&mut self) -> bool {
        self.own.control().returned.0.want()
    }

    #[inline]
    fn means(&mut self, peer: u32) -> Means {
        if peer == self.me {
            return Means::Direct;
        }
        let Ok(entry) = self.peer(peer) else { return Means::Cells };
        if !entry.remote.is_settled() {
            self.try_to_reach(peer);
        }
        self.peers[peer as usize].as_ref().map_or(Means::Cells, |entry| entry.remote.means())
    }

    fn why_not_better(&self, peer: u32) -> String {
        self.peers[peer as usize].as_ref().map_or(String::new(), |entry| entry.remote.why().to_owned())
    }

    #[inline]
    fn direct(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*const u8> {
        if peer == self.me {
            return Some(address as *const u8);
        }
        if self.is_apart(peer) {
            return None;
        }
        self.direct.as_mut()?.direct(self.node, peer, address, bytes)
    }

    #[inline]
    fn had_better_read(&mut self, peer: u32, address: *const u8, bytes: u64) -> bool {
        if self.is_apart(peer) || !self.is_shared(address, bytes) {
            return false;
        }
        self.peer(peer).is_ok_and(|peer| peer.distance.favours_reading())
    }

    fn was_read(&mut self, peer: u32, bytes: u64, ticks: u64) {
        if let Ok(peer) = self.peer(peer) {
            peer.distance.was_read(bytes, ticks);
        }
    }

    #[inline]
    fn lend(&mut self, address: *const u8, bytes: u64) {
        if let Some(direct) = &self.direct {
            direct.lend(address, bytes);
        }
        if self.own.control().passing.0.wanted.load(Ordering::Relaxed) != 0 {
            let (node, me) = (self.node, self.me);
            self.passer.serve(&self.own, areas(node).filter(|&(peer, _)| peer != me));
        }
    }

    #[inline]
    fn is_shared(&self, address: *const u8, bytes: u64) -> bool {
        self.direct.as_ref().is_some_and(|direct| direct.is_shared(address, bytes))
    }

    fn begin_write(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*mut u8> {
        if self.is_apart(peer) {
            return None;
        }
        self.direct.as_mut()?.begin_write(self.node, peer, address, bytes)
    }

    fn end_write(&mut self, peer: u32) {
        if let Some(direct) = &mut self.direct {
            direct.end_write(self.node, peer);
        }
    }

    unsafe fn read(&mut self, peer: u32, remote: u64, pieces: &[(usize, usize)]) -> Result<Means> {
        if peer == self.me {
            // SAFETY: our own addresses, offered by ourselves.
            unsafe { direct::copy(remote as *const u8, pieces) };
            return Ok(Means::Direct);
        }
        let rest = reach::Kernel {
            remote: self.peers[peer as usize].as_ref().map_or(&Remote::Untried, |entry| &entry.remote),
            between: self.between(peer),
        };
        let process = || self.node.page(peer).identity.pid.load(Ordering::Relaxed);
        if let Some(direct) = &mut self.direct {
            // SAFETY: the caller vouches for the pieces.
            let read = unsafe { direct.read(self.node, peer, &rest, remote, pieces) };
            if gone::or_gone(read, peer, process)? {
                return Ok(Means::Direct);
            }
        }
        // SAFETY: the caller vouches for the pieces.
        gone::or_gone(unsafe { rest.read(remote, pieces) }, peer, process)
    }

    unsafe fn write(&mut self, peer: u32, remote: u64, local: *const u8, bytes: usize) -> Result<()> {
        let &Remote::CrossMemory(pid) = &self.peer(peer)?.remote else {
            return Err(Error::new(Class::Intern, "memory of this peer cannot be written"));
        };
        // SAFETY: the caller vouches for both sides.
        let write = || unsafe { crate::memory::cross_memory::write(pid, remote, local, bytes) };
        let written = self.between(peer).copy(write);
        gone::or_gone(written, peer, || pid)
    }

    fn take_shared_copy(&mut self) -> Option<u32> {
        self.free_blocks.pop()
    }

    fn free_shared_copy(&mut self, block: u32) {
        self.free_blocks.push(block);
    }

    fn shared_copy(&self, owner: u32, block: u32) -> &SharedCopy {
        let area = self.area_of(owner);
        let block: *const SharedCopy = area.block(block);
        // SAFETY: the block lies in the node segment, which lives for ever.
        unsafe { &*block }
    }

    fn doorbell(&self) -> &Doorbell {
        let doorbell: *const Doorbell = &self.own.control().doorbell.0;
        // SAFETY: it lies in the node segment, which lives for ever.
        unsafe { &*doorbell }
    }

    fn arrivals(&self) -> Arrivals {
        self.inbox.arrivals()
    }

    fn want_room(&mut self, peer: u32) {
        self.area_of(peer).control().room_wanted.0.store(1, Ordering::SeqCst);
    }

    fn ring_self(&self) {
        self.own.control().doorbell.0.ring();
    }
}

#[cfg(test)]
mod tests;
