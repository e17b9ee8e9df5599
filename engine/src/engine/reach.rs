//! The memory of the other members of a collective, by the means of the transport.

use super::Engine;
use crate::collective::node::{Reach, Reaches, Seat};
use crate::memory::copy::Chooser;
use crate::transport::{Means, Transport};
use crate::Result;

/// Bytes that the kernel copies while this rank's lock is held.
const AT_ONCE: usize = 256 << 10;

/// Parts of `bytes` bytes: offset and length of each.
fn parts(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes).step_by(AT_ONCE).map(move |offset| (offset, AT_ONCE.min(bytes - offset)))
}

impl Reach for Engine {
    fn reaches(&self, seat: &Seat) -> Reaches {
        let mut core = self.core.lock();
        let each = (0..seat.size).map(|member| match core.transport.means(seat.peer(member)) {
            Means::Direct | Means::CrossMemory => Reaches::ToWrite,
            Means::MemoryFile => Reaches::ToRead,
            Means::Cells => Reaches::Nothing,
        });
        each.min().unwrap_or(Reaches::Nothing)
    }

    fn widen(&self, seat: &Seat) -> bool {
        let (node, mine) = (&self.job.node, self.job.local_rank);
        let shape = seat.block().shape();
        let offset = seat.block().base() as usize - node.blocks_area(mine) as usize;
        node.reserve_blocks(mine, offset + shape.wide_at(), shape.bytes() - shape.wide_at()).is_ok()
    }

    fn lend(&self, address: *const u8, bytes: u64) {
        self.core.lock().transport.lend(address, bytes);
    }

    fn direct(&self, seat: &Seat, member: u32, address: u64, bytes: u64) -> Option<*const u8> {
        let peer = seat.peer(member);
        let found = self.core.lock().transport.direct(peer, address, bytes)?;
        Means::Direct.count(&self.page.counters, bytes);
        self.flows.took(peer, bytes);
        Some(found)
    }

    unsafe fn read(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &mut Chooser,
    ) -> Result<()> {
        if let Some(source) = self.direct(seat, member, address, bytes as u64) {
            // SAFETY: the range can be read here; the rest by the caller.
            self.page.copying(|| unsafe { copies.copy(source, target, bytes) });
            return Ok(());
        }
        self.flows.took(seat.peer(member), bytes as u64);
        for (offset, part) in parts(bytes) {
            let piece = [(target as usize + offset, part)];
            let mut core = self.core.lock();
            // SAFETY: by the caller.
            let read = || unsafe { core.transport.read(seat.peer(member), address + offset as u64, &piece) };
            let means = self.page.copying(read)?;
            drop(core);
            means.count(&self.page.counters, part as u64);
        }
        Ok(())
    }

    unsafe fn write(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
    ) -> Result<()> {
        let peer = seat.peer(member);
        self.flows.gave(peer, bytes as u64);
        let mapped = self.core.lock().transport.begin_write(peer, address, bytes as u64);
        if let Some(target) = mapped {
            // SAFETY: the range can be written here; the rest by the caller.
            self.page.copying(|| unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) });
            self.core.lock().transport.end_write(peer);
            Means::Direct.count(&self.page.counters, bytes as u64);
            return Ok(());
        }
        for (offset, part) in parts(bytes) {
            let local = source.wrapping_add(offset);
            // SAFETY: by the caller.
            let write =
                || unsafe { self.core.lock().transport.write(peer, address + offset as u64, local, part) };
            self.page.copying(write)?;
            Means::CrossMemory.count(&self.page.counters, part as u64);
        }
        Ok(())
    }
}
