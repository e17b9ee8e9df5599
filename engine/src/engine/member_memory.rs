//! The memory of the other members of a collective, by the means of the transport.

use super::Engine;
use crate::collective::node::{Access, Member, PeerMemory, Reachable, Scratch};
use crate::memory::bounce::Bounce;
use crate::memory::copy::Chooser;
use crate::transport::{AccessDescriptor, Means, OfferedMemory};
use crate::{LocalRank, Result};
use std::ops::Range;

/// Bytes that the kernel copies while this rank's lock is held.
const AT_ONCE: usize = 256 << 10;

/// Of windows.
const PAGE: usize = 4096;

/// Parts of `bytes` bytes: offset and length of each.
fn parts(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes).step_by(AT_ONCE).map(move |offset| (offset, AT_ONCE.min(bytes - offset)))
}

impl PeerMemory for Engine {
    fn access(&self, me: &Member) -> Access {
        let mut core = self.lane(me.context).lock();
        let each = (0..me.size).map(|member| match core.transport.node().means(me.peer(member)) {
            Means::Direct | Means::CrossMemory => Access::Write,
            Means::MemoryFile => Access::Read,
            Means::Cells => Access::Nothing,
        });
        each.min().unwrap_or(Access::Nothing)
    }

    fn widen(&self, me: &Member) -> bool {
        let (node, mine) = (&self.job.node, self.job.local_rank);
        let shape = me.control_block().shape();
        let offset = me.control_block().base() as usize - node.blocks_area(mine) as usize;
        node.reserve_blocks(mine, offset + shape.wide_at(), shape.bytes() - shape.wide_at()).is_ok()
    }

    fn lend(&self, me: &Member, (address, bytes): (*const u8, u64), readers: u32) -> Reachable {
        let mut core = self.lane(me.context).lock();
        if core.transport.lend(address, bytes, readers) {
            return Reachable::All;
        }
        let is_shared = |from: u64, bytes| core.transport.is_shared(from as *const u8, bytes);
        let whole = address as u64;
        match whole_pages(whole, bytes as usize) {
            Some(range) if is_shared(whole + range.start as u64, range.len() as u64) => {
                // A page at an end may have been shared with what lies beside it.
                let (head, tail) = (range.start as u64, bytes - range.end as u64);
                let head = if is_shared(whole, head) { 0 } else { head };
                let tail = if is_shared(whole + range.end as u64, tail) { 0 } else { tail };
                Reachable::Middle(head, tail)
            }
            _ => Reachable::Nothing,
        }
    }

    fn scratch(&self, _: &Member, bytes: u64) -> Option<Scratch> {
        Bounce::take(bytes).map(Scratch::from)
    }

    fn is_shared(&self, me: &Member, address: *const u8, bytes: u64) -> bool {
        self.lane(me.context).lock().transport.is_shared(address, bytes)
    }

    #[inline]
    fn direct(&self, me: &Member, member: u32, address: u64, bytes: u64) -> Option<*const u8> {
        let peer = me.peer(member);
        let found = self
            .lane(me.context)
            .lock()
            .transport
            .node()
            .direct(peer, AccessDescriptor::host(address, bytes))?;
        Means::Direct.count(&self.page.counters, bytes);
        self.flows.took(peer.0, bytes);
        Some(found)
    }

    #[inline]
    unsafe fn read(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()> {
        if let Some(source) = self.direct(me, member, address, bytes as u64) {
            // SAFETY: all of it can be read here; the rest by the caller.
            unsafe { self.page.copying(|| copies.copy(source, target, bytes)) };
            return Ok(());
        }
        // SAFETY: by the caller.
        unsafe { self.read_in_parts(me, member, address, target, bytes, copies) }
    }

    unsafe fn write(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()> {
        let peer = me.peer(member);
        self.flows.gave(peer.0, bytes as u64);
        // SAFETY: the range can be written where this is called; the rest by the caller.
        let copy = |target| self.page.copying(|| unsafe { copies.copy(source, target, bytes) });
        match self.by_stores(me, peer, address, bytes as u64, copy) {
            Some(()) => Ok(()),
            // SAFETY: by the caller.
            None => unsafe { self.write_in_parts(me, peer, address, source, bytes, copies) },
        }
    }

    unsafe fn write_there(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        bytes: u64,
        make: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Option<Result<()>> {
        let peer = me.peer(member);
        let made = self.by_stores(me, peer, address, bytes, make)?;
        self.flows.gave(peer.0, bytes);
        Some(made)
    }
}

/// Of `bytes` bytes at `address`, those in pages that they fill, if there are more
/// others: pages that belong to other data too are not shared.
fn whole_pages(address: u64, bytes: usize) -> Option<Range<usize>> {
    let (page, end) = (PAGE as u64, address + bytes as u64);
    let first = (address.next_multiple_of(page) - address) as usize;
    let last = (end / page * page).saturating_sub(address) as usize;
    (first < last && last - first < bytes).then_some(first..last)
}

impl Engine {
    /// The pages of a piece by plain loads, and the rest through the kernel.
    ///
    /// # Safety
    /// As for [`PeerMemory::read`].
    unsafe fn read_in_parts(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()> {
        let middle = whole_pages(address, bytes).and_then(|range| {
            let (from, length) = (address + range.start as u64, range.len() as u64);
            Some((self.direct(me, member, from, length)?, range))
        });
        let Some((source, range)) = middle else {
            // SAFETY: by the caller.
            return unsafe { self.read_by_kernel(me, member, address, target, bytes) };
        };
        let (before, after) = (range.start, bytes - range.end);
        let (from, to) = (address + range.end as u64, target.wrapping_add(range.end));
        // SAFETY: the range can be read here; the rest by the caller.
        unsafe {
            self.page.copying(|| copies.copy(source, target.add(before), range.len()));
            self.read_by_kernel(me, member, address, target, before)?;
            self.read_by_kernel(me, member, from, to, after)
        }
    }

    /// # Safety
    /// As for [`PeerMemory::read`].
    #[inline(never)]
    unsafe fn read_by_kernel(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        self.flows.took(me.peer(member).0, bytes as u64);
        for (offset, part) in parts(bytes) {
            let piece = [(target as usize + offset, part)];
            let mut core = self.lane(me.context).lock();
            let memory = AccessDescriptor::host(address + offset as u64, part as u64);
            // SAFETY: by the caller.
            let read = || unsafe { core.transport.node().read(me.peer(member), memory, &piece) };
            let means = self.page.copying(read)?;
            drop(core);
            means.count(&self.page.counters, part as u64);
        }
        Ok(())
    }

    /// Has `make` write a range of a peer's memory by plain stores, if all of it can be written so.
    #[inline]
    fn by_stores<T>(
        &self,
        me: &Member,
        peer: LocalRank,
        address: u64,
        bytes: u64,
        make: impl FnOnce(*mut u8) -> T,
    ) -> Option<T> {
        let lane = self.lane(me.context);
        let target =
            lane.lock().transport.node().begin_write(peer, AccessDescriptor::host(address, bytes))?;
        let made = make(target);
        lane.lock().transport.node().end_write(peer);
        Means::Direct.count(&self.page.counters, bytes);
        Some(made)
    }

    /// The pages of a piece by plain stores, and the rest through the kernel.
    ///
    /// # Safety
    /// As for [`PeerMemory::write`].
    unsafe fn write_in_parts(
        &self,
        me: &Member,
        peer: LocalRank,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()> {
        let at = |offset: usize| (address + offset as u64, source.wrapping_add(offset));
        let middle = whole_pages(address, bytes).filter(|range| {
            let (to, from) = at(range.start);
            // SAFETY: the range can be written where this is called; the rest by the caller.
            let copy = |target| self.page.copying(|| unsafe { copies.copy(from, target, range.len()) });
            self.by_stores(me, peer, to, range.len() as u64, copy).is_some()
        });
        // Else nothing has been written yet.
        let middle = middle.unwrap_or(bytes..bytes);
        for ends in [0..middle.start, middle.end..bytes] {
            let (to, from) = at(ends.start);
            // SAFETY: within the piece; by the caller.
            unsafe { self.write_by_kernel(me, peer, to, from, ends.len())? };
        }
        Ok(())
    }

    /// # Safety
    /// As for [`PeerMemory::write`].
    unsafe fn write_by_kernel(
        &self,
        me: &Member,
        peer: LocalRank,
        address: u64,
        source: *const u8,
        bytes: usize,
    ) -> Result<()> {
        let lane = self.lane(me.context);
        for (offset, part) in parts(bytes) {
            let local = source.wrapping_add(offset);
            let memory = AccessDescriptor::host(address + offset as u64, part as u64);
            // SAFETY: by the caller.
            let write = || unsafe { lane.lock().transport.node().write(peer, memory, local) };
            self.page.copying(write)?;
            Means::CrossMemory.count(&self.page.counters, part as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::whole_pages;

    #[test]
    fn pages_that_data_share_with_others_are_left_out() {
        assert_eq!(whole_pages(4096, 8192), None, "they fill all of them");
        assert_eq!(whole_pages(4096, 8200), Some(0..8192));
        assert_eq!(whole_pages(4090, 4110), Some(6..4102));
        assert_eq!(whole_pages(4097, 8000), None, "no page is theirs alone");
        assert_eq!(whole_pages(100, 50), None);
    }
}
