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
mod peer;
mod reach;

use self::area::{Area, BLOCKS, FIRST_BYTES};
use self::inbox::Inbox;
use self::passing::Passer;
use self::peer::{first_contact, Peer};
use self::reach::Remote;
use crate::job::{NodeSegment, NodeView};
use crate::progress::{barrier, Doorbell};
use crate::transport::{Arrival, Arrivals, Cell, Letter, Means, SharedCopy, Transport, LETTER_BYTES};
use crate::{Class, Error, Result};
use std::sync::atomic::Ordering;
use std::sync::Arc;

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
    free_blocks: Vec<u32>,
    means_allowed: Means,
    direct: Option<Arc<direct::Direct>>,
    /// Peers that pretend to be on another node; empty where nobody does.
    apart: Vec<bool>,
    passer: Passer,
    /// Peers' barriers reach this process.
    registered: bool,
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
        let (means_allowed, direct, apart) = (self.means_allowed, self.direct.clone(), self.apart.clone());
        Ok(NodeTransport { means_allowed, direct, apart, ..other })
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
        self.direct = None;
        if best == Means::Direct {
            self.direct = direct::Direct::open(self.node, self.me).map(Arc::new);
        }
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
            *slot = Some(first_contact(self.node, peer, self.lane)?);
        }
        Ok(slot.as_mut().expect("just filled"))
    }

    fn area_of(&self, peer: u32) -> Area {
        Area::of(self.node, peer, self.lane)
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
            self.area_of(peer).doorbell().ring();
        }
    }
}

/// Where a local rank of `node` sleeps.
pub fn doorbell_of(node: &'static NodeSegment, local_rank: u32) -> &'static Doorbell {
    let doorbell: *const Doorbell = Area::of(node, local_rank, 0).doorbell();
    // SAFETY: the node segment lives for ever; the doorbell is made of atomics.
    unsafe { &*doorbell }
}

/// As [`doorbell_of`], for an observer; `None` if the view is not writable.
pub fn doorbell_in(view: &NodeView, local_rank: u32) -> Option<&Doorbell> {
    // SAFETY: the area lies in the view, and only what lives as long is handed out.
    let area = unsafe { Area::new(view.transport_area(local_rank)) };
    let doorbell: *const Doorbell = area.doorbell();
    // SAFETY: as above; the doorbell is made of atomics.
    view.is_writable().then(|| unsafe { &*doorbell })
}

/// The areas of a lane of all local ranks.
fn areas(node: &'static NodeSegment, lane: usize) -> impl Iterator<Item = (u32, Area)> {
    (0..node.local_ranks()).map(move |peer| (peer, Area::of(node, peer, lane)))
}

impl Transport for NodeTransport {
    #[inline(always)]
    fn push(&mut self, peer: u32, letter: &Letter<'_>) -> Result<bool> {
        let (node, route, registered) = (self.node, (self.me, peer, self.lane), self.registered);
        let peer = self.peer(peer)?;
        let Some((line, word)) = peer.fill(node, route, letter) else { return Ok(false) };
        // SAFETY: a word of the peer's rings, which live for ever.
        let (line, doorbell) = (unsafe { &*line }, peer.area.doorbell());
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
        let (node, me, first) = (self.node, self.me, area::offset(self.lane));
        let reserve = |offset, bytes| node.reserve_transport(me, first + offset, bytes);
        let index = self.pool.take(bytes, again, reserve)?;
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
        let doorbell = area.doorbell();
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
        self.direct.as_ref()?.direct(self.node, peer, address, bytes)
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
    fn lend(&mut self, address: *const u8, bytes: u64, readers: u32) -> bool {
        let is_shared = self.direct.as_ref().is_some_and(|direct| direct.lend(address, bytes, readers));
        if self.own.control().passing.0.wanted.load(Ordering::Relaxed) != 0 {
            let (node, me) = (self.node, self.me);
            self.passer.serve(&self.own, areas(node, self.lane).filter(|&(peer, _)| peer != me));
        }
        is_shared
    }

    #[inline]
    fn is_shared(&self, address: *const u8, bytes: u64) -> bool {
        self.direct.as_ref().is_some_and(|direct| direct.is_shared(address, bytes))
    }

    fn begin_write(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*mut u8> {
        if self.is_apart(peer) {
            return None;
        }
        self.direct.as_ref()?.begin_write(self.node, peer, address, bytes)
    }

    fn end_write(&mut self, peer: u32) {
        if let Some(direct) = &self.direct {
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
        if let Some(direct) = &self.direct {
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
        let doorbell: *const Doorbell = self.own.doorbell();
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
        self.own.doorbell().ring();
    }
}

#[cfg(test)]
mod tests;
