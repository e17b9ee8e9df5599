//! The transport between ranks of one node: mailboxes and cells in the node
//! segment, and the memory of the peers where the system lets us reach it.
//!
//! A rank sends to itself the same way, so there is no second protocol for it.

pub mod area;
pub mod cells;
mod direct;
pub mod mailbox;
mod reach;

use self::area::{Area, BLOCKS, FIRST_BYTES};
use self::mailbox::{Reader, SenderView};
use crate::job::NodeSegment;
use crate::observe::State;
use crate::progress::Doorbell;
use crate::transport::{Arrivals, Cell, Means, Packet, SharedCopy, Transport};
use crate::Result;
use std::sync::atomic::Ordering;

/// What this rank remembers of a peer it has spoken to.
#[derive(Debug)]
struct Peer {
    area: Area,
    view: SenderView,
    means: Option<Means>,
    pid: u32,
}

/// The transport of one rank.
#[derive(Debug)]
pub struct NodeTransport {
    node: &'static NodeSegment,
    /// My local rank.
    me: u32,
    own: Area,
    reader: Reader,
    pool: cells::Pool,
    peers: Vec<Option<Box<Peer>>>,
    free_blocks: Vec<u32>,
    means_allowed: Means,
    direct: Option<direct::Direct>,
}

impl NodeTransport {
    /// Attaches local rank `me` of `node`, once per rank.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn attach(node: &'static NodeSegment, me: u32) -> Result<NodeTransport> {
        node.reserve_transport(me, 0, FIRST_BYTES)?;
        // SAFETY: the node segment lives for ever.
        let own = unsafe { Area::new(node.transport_area(me)) };
        reach::publish_proof(&own);
        Ok(NodeTransport {
            me,
            own,
            reader: Reader::new(own),
            pool: cells::Pool::new(own),
            peers: (0..node.local_ranks()).map(|_| None).collect(),
            free_blocks: (0..BLOCKS as u32).collect(),
            means_allowed: Means::CrossMemory,
            direct: None,
            node,
        })
    }

    /// Allows means up to `best`: tests use it to try each rung.
    pub fn limit_means(&mut self, best: Means) {
        self.means_allowed = best;
        self.direct = if best == Means::Direct { direct::Direct::open(self.node, self.me) } else { None };
    }

    #[inline]
    fn peer(&mut self, peer: u32) -> Result<&mut Peer> {
        let slot = &mut self.peers[peer as usize];
        if slot.is_none() {
            *slot = Some(first_contact(self.node, peer)?);
        }
        Ok(slot.as_mut().expect("just filled"))
    }

    fn area_of(&self, peer: u32) -> Area {
        // SAFETY: the node segment lives for ever.
        unsafe { Area::new(self.node.transport_area(peer)) }
    }

    /// Wakes every rank of the node that sleeps: somebody waits for room here.
    #[cold]
    fn wake_all(&self) {
        for peer in 0..self.node.local_ranks() {
            self.area_of(peer).control().doorbell.0.ring();
        }
    }
}

#[cold]
fn first_contact(node: &'static NodeSegment, peer: u32) -> Result<Box<Peer>> {
    if node.page(peer).state() == State::Unused {
        // It has not attached yet and so has not reserved its mailbox.
        node.reserve_transport(peer, 0, FIRST_BYTES)?;
    }
    // SAFETY: the node segment lives as long as the process needs it (`attach`).
    let area = unsafe { Area::new(node.transport_area(peer)) };
    Ok(Box::new(Peer { area, view: SenderView::default(), means: None, pid: 0 }))
}

impl Transport for NodeTransport {
    #[inline]
    fn push(&mut self, peer: u32, packet: &Packet) -> Result<bool> {
        let peer = self.peer(peer)?;
        if !mailbox::push(&peer.area, &mut peer.view, packet) {
            return Ok(false);
        }
        peer.area.control().doorbell.0.ring();
        Ok(true)
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.reader.pop()?;
        if self.reader.publish() {
            self.wake_all();
        }
        Some(packet)
    }

    fn largest_cell(&self) -> usize {
        cells::CLASSES[cells::CLASSES.len() - 1].bytes
    }

    fn take_cell(&mut self, bytes: usize) -> Result<Option<Cell>> {
        let (node, me) = (self.node, self.me);
        let index = self.pool.take(bytes, |offset, bytes| node.reserve_transport(me, offset, bytes))?;
        Ok(index.map(|index| Cell { owner: me, index }))
    }

    fn cell_address(&self, cell: Cell) -> *mut u8 {
        cells::address(&self.area_of(cell.owner), cell.index)
    }

    fn give_back(&mut self, cell: Cell) {
        let area = self.area_of(cell.owner);
        if area.control().returned.0.push(cell.index) {
            area.control().doorbell.0.ring();
        }
    }

    fn want_cells(&mut self) -> bool {
        self.own.control().returned.0.want()
    }

    fn means(&mut self, peer: u32) -> Means {
        if peer == self.me {
            return Means::Direct;
        }
        let (node, allowed) = (self.node, self.means_allowed);
        let Ok(entry) = self.peer(peer) else { return Means::Cells };
        if let Some(means) = entry.means {
            return means;
        }
        let pid = node.page(peer).identity.pid.load(Ordering::Relaxed);
        if allowed == Means::Cells {
            entry.means = Some(Means::Cells);
        } else if let Some(means) = reach::probe(&entry.area, pid) {
            entry.means = Some(means);
            entry.pid = pid;
        }
        entry.means.unwrap_or(Means::Cells)
    }

    #[inline]
    fn direct(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*const u8> {
        if peer == self.me {
            return Some(address as *const u8);
        }
        self.direct.as_mut()?.direct(self.node, peer, address, bytes)
    }

    #[inline]
    fn lend(&mut self, address: *const u8, bytes: u64) {
        if let Some(direct) = &self.direct {
            direct.lend(address, bytes);
        }
    }

    fn begin_write(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*mut u8> {
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
        if let Some(direct) = &mut self.direct {
            let pid = self.peers[peer as usize].as_ref().map_or(0, |peer| peer.pid);
            // SAFETY: the caller vouches for the pieces.
            if unsafe { direct.read(self.node, peer, pid, remote, pieces)? } {
                return Ok(Means::Direct);
            }
        }
        let pid = self.peer(peer)?.pid;
        // SAFETY: the caller vouches for the pieces.
        unsafe { reach::read(pid, remote, pieces)? };
        Ok(Means::CrossMemory)
    }

    unsafe fn write(&mut self, peer: u32, remote: u64, local: *const u8, bytes: usize) -> Result<()> {
        let pid = self.peer(peer)?.pid;
        // SAFETY: the caller vouches for both sides.
        unsafe { crate::memory::cross_memory::write(pid, remote, local, bytes) }
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
        self.reader.arrivals()
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
