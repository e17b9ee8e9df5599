//! The memory of the ranks of a node: mapped here as far as it lies in their windows, else reached
//! through the kernel.

use super::reach::{self, Remote};
use super::{areas, direct, gone, NodeTransport};
use crate::memory::cross_memory::{self, Pair};
use crate::transport::{AccessDescriptor, Means, MemoryKind, OfferedMemory};
use crate::{Class, Error, LocalRank, Result};
use std::sync::atomic::Ordering;

impl NodeTransport {
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
            let is_asked = matches!(entry.remote, Remote::Asked(_));
            if is_asked && !self.passer.want(self.node.line(), &self.own, &entry.area) {
                entry.remote = Remote::Closed(entry.remote.why().to_owned());
            }
        }
        if let Remote::Asked(why) = &mut entry.remote {
            if let Some(file) = self.passer.take(&self.own, &entry.area) {
                entry.remote = Remote::MemoryFile(file, std::mem::take(why));
            }
        }
    }
}

impl OfferedMemory for NodeTransport {
    #[inline]
    fn means(&mut self, LocalRank(peer): LocalRank) -> Means {
        if peer == self.me {
            return Means::Direct;
        }
        let Ok(entry) = self.peer(peer) else { return Means::Cells };
        if !entry.remote.is_settled() {
            self.try_to_reach(peer);
        }
        self.peers[peer as usize].as_ref().map_or(Means::Cells, |entry| entry.remote.means())
    }

    fn why_not_better(&self, LocalRank(peer): LocalRank) -> String {
        self.peers[peer as usize].as_ref().map_or(String::new(), |entry| entry.remote.why().to_owned())
    }

    #[inline]
    fn describe(&mut self, address: *const u8, bytes: u64) -> AccessDescriptor {
        AccessDescriptor::host(address as u64, bytes)
    }

    #[inline]
    fn direct(&mut self, LocalRank(peer): LocalRank, memory: AccessDescriptor) -> Option<*const u8> {
        if peer == self.me {
            return Some(memory.address as *const u8);
        }
        if self.is_apart(peer) || memory.kind != MemoryKind::HOST {
            return None;
        }
        self.direct.as_ref()?.direct(self.node, peer, memory.address, memory.bytes)
    }

    #[inline]
    fn lend(&mut self, address: *const u8, bytes: u64, readers: u32) -> bool {
        let is_shared = self.direct.as_ref().is_some_and(|direct| direct.lend(address, bytes, readers));
        if self.own.control().passing.0.wanted.load(Ordering::Relaxed) != 0 {
            let (node, me) = (self.node, self.me);
            self.passer.serve(node.line(), &self.own, areas(node, self.lane).filter(|&(peer, _)| peer != me));
        }
        is_shared
    }

    #[inline]
    fn is_shared(&self, address: *const u8, bytes: u64) -> bool {
        self.direct.as_ref().is_some_and(|direct| direct.is_shared(address, bytes))
    }

    fn begin_write(&mut self, LocalRank(peer): LocalRank, memory: AccessDescriptor) -> Option<*mut u8> {
        if self.is_apart(peer) || memory.kind != MemoryKind::HOST {
            return None;
        }
        self.direct.as_ref()?.begin_write(self.node, peer, memory.address, memory.bytes)
    }

    fn end_write(&mut self, LocalRank(peer): LocalRank) {
        if let Some(direct) = &self.direct {
            direct.end_write(self.node, peer);
        }
    }

    unsafe fn read(
        &mut self,
        LocalRank(peer): LocalRank,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
    ) -> Result<Means> {
        let remote = host_address(memory)?;
        if peer == self.me {
            // SAFETY: our own addresses, offered by ourselves.
            unsafe { direct::copy(remote as *const u8, pieces) };
            return Ok(Means::Direct);
        }
        let rest = reach::Kernel {
            remote: self.peers[peer as usize].as_ref().map_or(&Remote::Untried, |entry| &entry.remote),
            between: self.between(peer),
        };
        if let Some(direct) = &self.direct {
            // SAFETY: the caller vouches for the pieces.
            let read = unsafe { direct.read(self.node, peer, &rest, remote, pieces) };
            if gone::or_gone(read, self.node, peer)? {
                return Ok(Means::Direct);
            }
        }
        // SAFETY: the caller vouches for the pieces.
        gone::or_gone(unsafe { rest.read(remote, pieces) }, self.node, peer)
    }

    unsafe fn write(
        &mut self,
        LocalRank(peer): LocalRank,
        memory: AccessDescriptor,
        local: *const u8,
    ) -> Result<()> {
        let (remote, bytes) = (host_address(memory)?, memory.bytes as usize);
        // SAFETY: the caller vouches for both sides.
        self.across(peer, |pid| unsafe { cross_memory::write(pid, remote, local, bytes) })
    }

    unsafe fn read_many(&mut self, LocalRank(peer): LocalRank, pairs: &[Pair]) -> Result<()> {
        // SAFETY: the caller vouches for both sides.
        self.across(peer, |pid| unsafe { cross_memory::read_many(pid, pairs) })
    }

    unsafe fn write_many(&mut self, LocalRank(peer): LocalRank, pairs: &[Pair]) -> Result<()> {
        // SAFETY: the caller vouches for both sides.
        self.across(peer, |pid| unsafe { cross_memory::write_many(pid, pairs) })
    }
}

impl NodeTransport {
    /// Copies between the memory of this process and that of a peer.
    fn across(&mut self, peer: u32, copy: impl FnOnce(u32) -> Result<()>) -> Result<()> {
        let &Remote::CrossMemory(pid) = &self.peer(peer)?.remote else {
            return Err(Error::new(
                Class::Intern,
                "this process and that peer cannot reach each other's memory",
            ));
        };
        let copied = self.between(peer).copy(|| copy(pid));
        gone::or_gone(copied, self.node, peer)
    }
}

/// Where memory of a peer begins, if it is such as the kernel copies.
#[inline]
fn host_address(memory: AccessDescriptor) -> Result<u64> {
    match memory.kind {
        MemoryKind::HOST => Ok(memory.address),
        MemoryKind(kind) => {
            let message =
                format!("memory of kind {kind} cannot be read or written by another process of the node");
            Err(Error::new(Class::Intern, message))
        }
    }
}
