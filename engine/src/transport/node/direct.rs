//! The best rung: memory in the windows of the ranks, copied by plain loads.

use super::reach::Kernel;
use crate::job::NodeSegment;
use crate::memory::window::peers::Peers;
use crate::memory::window::{fork, Children, Opened, Window};
use crate::transport::Means;
use crate::Result;
use std::sync::atomic::Ordering;

/// The windows of this node.
#[derive(Debug)]
pub struct Direct {
    /// Of this process; `None` if it has none, or is several ranks (in tests).
    own: Option<&'static Window>,
    peers: Peers,
}

impl Direct {
    /// The windows, if the node has some. Nothing is mapped yet.
    pub fn open(node: &'static NodeSegment, me: u32) -> Option<Direct> {
        let (descriptor, offset) = node.windows()?;
        let window = Window::of_process();
        let announce = &node.page(me).identity.window;
        fork::watch();
        let mine = window.connect(me, descriptor, Window::part(offset, me), announce);
        let peers = Peers::new(descriptor, offset, node.local_ranks());
        Some(Direct { own: mine.then_some(window), peers })
    }

    #[inline]
    fn announced(node: &NodeSegment, peer: u32) -> u64 {
        node.page(peer).identity.window.load(Ordering::Acquire) // announced: paired with `Inner::publish`
    }

    /// See [`crate::transport::OfferedMemory::lend`].
    #[inline]
    pub fn lend(&self, address: *const u8, bytes: u64, readers: u32) -> bool {
        self.own.is_some_and(|own| own.lend(address as usize, bytes as usize, readers))
    }

    /// Whether peers can read all of this memory of one's own by plain loads.
    #[inline]
    pub fn is_shared(&self, address: *const u8, bytes: u64) -> bool {
        self.own.is_some_and(|own| own.is_shared(address as usize, bytes as usize))
    }

    /// See [`crate::transport::ExposedMemory::expose`].
    pub fn expose(&self, address: *mut u8, bytes: u64, children: Children) -> Opened {
        // SAFETY: the caller has peers wait.
        let expose = |own: &Window| unsafe { own.expose(address as usize, bytes as usize, children) };
        self.own.map_or(Opened::default(), expose)
    }

    /// See [`crate::transport::ExposedMemory::unexpose`].
    pub fn unexpose(&self, address: *mut u8, bytes: u64, opened: Opened) {
        if let Some(own) = self.own {
            // SAFETY: the caller has peers wait.
            unsafe { own.unexpose(address as usize, bytes as usize, opened) };
        }
    }

    /// See [`crate::transport::OfferedMemory::direct`].
    #[inline]
    pub fn direct(&self, node: &NodeSegment, peer: u32, address: u64, bytes: u64) -> Option<*const u8> {
        let found = self.peers.direct(peer, Direct::announced(node, peer), address, bytes)?;
        Some(found.cast_const())
    }

    /// The same, as far as all of it from the beginning on is shared: how many bytes.
    pub fn direct_until(
        &self,
        node: &NodeSegment,
        peer: u32,
        address: u64,
        bytes: u64,
    ) -> Option<(*const u8, usize)> {
        let found = self.peers.reach(peer, Direct::announced(node, peer), address, bytes)?;
        (found.before == 0).then_some((found.address.cast_const(), bytes as usize - found.after))
    }

    /// See [`crate::transport::ExposedMemory::exposed`].
    pub fn exposed(&self, node: &NodeSegment, peer: u32, address: u64, bytes: u64) -> Option<*mut u8> {
        self.peers.exposed(peer, Direct::announced(node, peer), address, bytes)
    }

    /// See [`crate::transport::OfferedMemory::begin_write`].
    pub fn begin_write(&self, node: &NodeSegment, peer: u32, address: u64, bytes: u64) -> Option<*mut u8> {
        self.peers.begin_write(peer, Direct::announced(node, peer), address, bytes)
    }

    /// See [`crate::transport::OfferedMemory::end_write`].
    pub fn end_write(&self, node: &NodeSegment, peer: u32) {
        self.peers.end_write(peer, Direct::announced(node, peer));
    }

    /// Reads as much of a piece of a peer's memory as is shared, and its edges
    /// through the kernel; `false`: too little is shared, nothing was read.
    ///
    /// # Errors
    /// The system's reason not to copy an edge by the `rest`.
    ///
    /// # Safety
    /// The pieces must be writable memory that nothing else uses meanwhile.
    pub unsafe fn read(
        &self,
        node: &NodeSegment,
        peer: u32,
        rest: &Kernel,
        remote: u64,
        pieces: &[(usize, usize)],
    ) -> Result<bool> {
        let bytes: usize = pieces.iter().map(|piece| piece.1).sum();
        let announced = Direct::announced(node, peer);
        let Some(found) = self.peers.reach(peer, announced, remote, bytes as u64) else { return Ok(false) };
        let source = found.address.cast_const();
        // SAFETY: the pages of the middle are shared; the caller vouches for the
        // pieces.
        unsafe {
            match *pieces {
                _ if found.before == 0 && found.after == 0 => copy(source, pieces),
                [(target, _)] if rest.remote.means() != Means::Cells => {
                    let end = bytes - found.after;
                    if found.before > 0 {
                        rest.read(remote, &[(target, found.before)])?;
                    }
                    if found.after > 0 {
                        rest.read(remote + end as u64, &[(target + end, found.after)])?;
                    }
                    copy(source.add(found.before), &[(target + found.before, end - found.before)]);
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Copies to pieces from memory of this process.
///
/// # Safety
/// `source` must be readable for the sum of the pieces, the pieces writable;
/// they may overlap it only if the program itself has made them so.
pub unsafe fn copy(source: *const u8, pieces: &[(usize, usize)]) {
    let mut at = source;
    for &(address, bytes) in pieces {
        // SAFETY: by the caller.
        unsafe {
            std::ptr::copy(at, address as *mut u8, bytes);
            at = at.add(bytes);
        }
    }
}
