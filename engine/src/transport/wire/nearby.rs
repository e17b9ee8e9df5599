//! Peers of this machine that are reached by a local socket, as processes of jobs that have met: each lets the other map the
//! windows of its node, so that long messages are copied once, by plain loads, and go through no socket.
//!
//! The descriptor of the node segment goes with the first frame of a connection, which is proven; and only to a process of the same
//! user. Memory is read there if its pages are shared, as between ranks of a node ([`crate::memory::window`]): the sender
//! shares what it lends again and again. All else comes over the socket.

use crate::job::{pass_descriptor, NodeSegment, NodeView};
use crate::memory::socket_option::is_local;
use crate::memory::window::peers::Peers;
use crate::transport::AccessDescriptor;
use crate::LocalRank;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

/// The segment of this node, and what it calls this rank.
pub type OwnNode = (&'static NodeSegment, LocalRank);

/// What a connection knows of the memory of its peer.
#[derive(Debug, Default)]
pub enum Nearby {
    /// The segment of its node comes with the first bytes, or never.
    Awaited,
    /// It has come.
    Came(OwnedFd),
    /// Its window can be mapped.
    Open(Box<Windows>),
    /// It cannot.
    #[default]
    Closed,
}

/// The windows of another node of this machine.
#[derive(Debug)]
pub struct Windows {
    view: NodeView,
    peers: Peers,
    slot: u32,
    /// Of the segment, as long as something may have to be mapped.
    _file: OwnedFd,
}

impl Windows {
    fn open(file: OwnedFd, slot: u32) -> Option<Windows> {
        let view = NodeView::open(file.as_fd(), false).ok()?;
        let offset = NodeSegment::windows_behind(file.as_fd(), view.local_ranks())?;
        let peers = Peers::new(file.as_raw_fd(), offset, view.local_ranks());
        (slot < view.local_ranks()).then_some(Windows { view, peers, slot, _file: file })
    }

    /// Where memory of the peer lies in this process, if all of it is shared.
    pub fn find(&self, memory: AccessDescriptor) -> Option<*const u8> {
        let announced = self.view.page(self.slot).identity.window.load(Ordering::Acquire); // announced: paired with `Inner::publish`
        self.peers.direct(self.slot, announced, memory.address, memory.bytes).map(<*mut u8>::cast_const)
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        // SAFETY: no address that `find` has given is kept.
        unsafe { self.peers.unmap() };
    }
}

impl Nearby {
    /// Of a new connection that is not sealed.
    pub fn of(socket: BorrowedFd<'_>) -> Nearby {
        match is_local(&socket) && pass_descriptor::is_of_own_user(&socket) {
            true => Nearby::Awaited,
            false => Nearby::Closed,
        }
    }

    /// Receives the first bytes, and what comes with them.
    pub fn receive(&mut self, socket: BorrowedFd<'_>, place: &mut [u8]) -> io::Result<usize> {
        let (bytes, file) = pass_descriptor::receive_with(socket, place, libc::MSG_DONTWAIT)?;
        *self = file.map_or(Nearby::Closed, Nearby::Came);
        Ok(bytes)
    }

    /// The first frame has said in its second word who the peer is on its node: 1 and the local rank.
    pub fn is_told(&mut self, word: u64) {
        if let Nearby::Came(file) = std::mem::take(self) {
            let slot = word.checked_sub(1).and_then(|slot| u32::try_from(slot).ok());
            let windows = slot.and_then(|slot| Windows::open(file, slot));
            *self = windows.map_or(Nearby::Closed, |windows| Nearby::Open(Box::new(windows)));
        }
    }
}
