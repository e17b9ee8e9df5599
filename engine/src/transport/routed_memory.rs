//! What [`Routed`] does with memory: ranks of the node alone see that of each other, and share tasks.

use super::routed::no_way;
use super::{AccessDescriptor, ExposedMemory, Means, OfferedMemory, Offers, Routed, SharedTasks, Task};
use crate::memory::cross_memory::Pair;
use crate::memory::window::{Children, Opened};
use crate::progress::changes::Changes;
use crate::progress::watchers::Bell;
use crate::{JobRank, Result};

/// Memory that is described here can be reached by the ranks of the node.
impl OfferedMemory for Routed {
    #[inline]
    fn means(&mut self, peer: JobRank) -> Means {
        self.here(peer).map_or(Means::Cells, |local| self.node.means(local))
    }

    fn why_not_better(&self, peer: JobRank) -> String {
        match self.here(peer) {
            Some(local) => self.node.why_not_better(local),
            None if peer.is_foreign() => "it belongs to another job".to_owned(),
            None => match self.network_to(peer) {
                Some(network) => format!("it is on another node, reached over {network}"),
                None => "it is on another node".to_owned(),
            },
        }
    }

    #[inline]
    fn describe(&mut self, address: *const u8, bytes: u64) -> AccessDescriptor {
        self.node.describe(address, bytes)
    }

    #[inline]
    fn direct(&mut self, peer: JobRank, memory: AccessDescriptor) -> Option<*const u8> {
        self.node.direct(self.here(peer)?, memory)
    }

    #[inline]
    fn lend(&mut self, address: *const u8, bytes: u64, readers: u32) -> bool {
        self.node.lend(address, bytes, readers)
    }

    #[inline]
    fn is_shared(&self, address: *const u8, bytes: u64) -> bool {
        self.node.is_shared(address, bytes)
    }

    fn begin_write(&mut self, peer: JobRank, memory: AccessDescriptor) -> Option<*mut u8> {
        self.node.begin_write(self.here(peer)?, memory)
    }

    fn end_write(&mut self, peer: JobRank) {
        if let Some(local) = self.here(peer) {
            self.node.end_write(local);
        }
    }

    #[inline]
    unsafe fn read(
        &mut self,
        peer: JobRank,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
    ) -> Result<Means> {
        let local = self.here(peer).ok_or_else(|| no_way(peer))?;
        // SAFETY: by the caller.
        unsafe { self.node.read(local, memory, pieces) }
    }

    #[inline]
    unsafe fn write(&mut self, peer: JobRank, memory: AccessDescriptor, source: *const u8) -> Result<()> {
        let local = self.here(peer).ok_or_else(|| no_way(peer))?;
        // SAFETY: by the caller.
        unsafe { self.node.write(local, memory, source) }
    }

    unsafe fn read_many(&mut self, peer: JobRank, pairs: &[Pair]) -> Result<()> {
        let local = self.here(peer).ok_or_else(|| no_way(peer))?;
        // SAFETY: by the caller.
        unsafe { self.node.read_many(local, pairs) }
    }

    unsafe fn write_many(&mut self, peer: JobRank, pairs: &[Pair]) -> Result<()> {
        let local = self.here(peer).ok_or_else(|| no_way(peer))?;
        // SAFETY: by the caller.
        unsafe { self.node.write_many(local, pairs) }
    }
}

/// Of the ranks of the node.
impl ExposedMemory for Routed {
    fn expose(&mut self, address: *mut u8, bytes: u64, children: Children) -> Opened {
        self.node.expose(address, bytes, children)
    }

    fn unexpose(&mut self, address: *mut u8, bytes: u64, opened: Opened) {
        self.node.unexpose(address, bytes, opened);
    }

    fn exposed(&mut self, peer: JobRank, memory: AccessDescriptor) -> Option<*mut u8> {
        self.node.exposed(self.here(peer)?, memory)
    }

    fn changes(&self, peer: JobRank) -> Option<Changes> {
        self.node.changes(self.here(peer)?)
    }

    fn bell(&self, peer: JobRank) -> Option<Bell> {
        self.node.bell(self.here(peer)?)
    }
}

impl Offers for Routed {
    #[inline]
    fn begin_taking(&mut self, peer: JobRank, number: u32) -> bool {
        self.here(peer).is_none_or(|local| self.node.begin_taking(local, number))
    }

    #[inline]
    fn end_taking(&mut self) {
        self.node.end_taking();
    }

    #[inline]
    fn any_withdrawn(&self) -> bool {
        self.node.any_withdrawn()
    }

    fn is_withdrawn(&self, peer: JobRank, number: u32) -> bool {
        self.here(peer).is_some_and(|local| self.node.is_withdrawn(local, number))
    }

    fn forget_withdrawn(&mut self, peer: JobRank, number: u32) {
        self.here(peer).into_iter().for_each(|local| self.node.forget_withdrawn(local, number));
    }

    fn withdraw(&mut self, peer: JobRank, number: u32) -> Result<bool> {
        self.here(peer).map_or(Ok(false), |local| self.node.withdraw(local, number))
    }

    fn offer_again(&mut self, peer: JobRank, number: u32) {
        if let Some(local) = self.here(peer) {
            self.node.offer_again(local, number);
        }
    }

    fn end_withdrawal(&mut self, peer: JobRank, number: u32) -> bool {
        self.here(peer).is_some_and(|local| self.node.end_withdrawal(local, number))
    }

    #[inline]
    fn awaits_word(&self, number: u32) -> bool {
        self.node.awaits_word(number)
    }

    #[inline]
    fn show_waiting(&mut self, waiting: bool) {
        self.node.show_waiting(waiting);
    }

    fn shows_waiting(&self, peer: JobRank) -> bool {
        self.here(peer).is_some_and(|local| self.node.shows_waiting(local))
    }
}

/// Only with ranks of the node.
impl SharedTasks for Routed {
    fn open_task(&mut self) -> Option<Task> {
        self.node.open_task()
    }

    fn claim_part(&self, owner: JobRank, task: Task, bytes: u64) -> Option<(u64, u64)> {
        self.node.claim_part(self.here(owner)?, task, bytes)
    }

    fn part_is_done(&self, owner: JobRank, task: Task, part: u64, bytes: u64) -> bool {
        self.here(owner).is_some_and(|local| self.node.part_is_done(local, task, part, bytes))
    }

    fn close_task(&mut self, task: Task) {
        self.node.close_task(task);
    }
}
