//! Both sides share the copying of a big message.
//!
//! The receiver opens a task over the message, and both claim parts of it and copy them
//! ([`SharedTasks`]). The one that has copied the last part tells the other. A part that is
//! claimed keeps the task open until it is copied, so both buffers stay until nobody
//! touches them.

use super::wire::{Offer, Together, TOGETHER};
use super::work::Work;
use crate::core::Core;
use crate::transport::{AccessDescriptor, Means, OfferedMemory, Packet, SharedTasks};
use crate::tuning::crossovers::READ_ALONE;
use crate::Result;

/// Whether the two sides should share the copying into receive `index`.
pub(super) fn worth_it(core: &Core, index: u32, taken: u64) -> bool {
    let Work::Receive(receive) = &core.requests[index].work else { return false };
    READ_ALONE.is_passed_by(taken) && !core.shares_cpus() && receive.buffer.dense().is_some()
}

impl Core {
    /// Opens a shared copy for receive `index` and does the receiver's share.
    pub(super) fn copy_together(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        let Work::Receive(receive) = &mut self.requests[index].work else { return Ok(()) };
        let (Some(address), Some(task)) = (receive.buffer.dense(), self.transport.open_task()) else {
            return self.pull_alone(index, offer, taken);
        };
        receive.task = Some(task);
        self.transport.lend(address, taken, 1);
        let together = Together {
            address: address as u64,
            bytes: taken,
            task,
            request: offer.request,
            receiver_request: index,
            peer: self.rank,
            spare: 0,
        };
        self.post(offer.peer, &Packet::with(TOGETHER, [0; 2], &together))?;
        loop {
            let Some((offset, bytes)) = self.transport.claim_part(self.rank, task, taken) else {
                return Ok(()); // the sender copies the rest and will say so
            };
            let piece = [(address as usize + offset as usize, bytes as usize)];
            // SAFETY: the claimed part of the buffer that the program lends.
            let read =
                || unsafe { self.transport.read(offer.peer, offer.memory().part(offset, bytes), &piece) };
            let means = self.page.copying(read)?;
            means.count(self.counters, bytes);
            if self.transport.part_is_done(self.rank, task, bytes, taken) {
                return self.received_all(index, offer);
            }
        }
    }

    fn pull_alone(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        self.pull(index, &offer, taken)?;
        self.received_all(index, offer)
    }

    /// The sender's share, if it can write into the receiver's memory.
    pub(crate) fn help_copying(&mut self, together: Together) -> Result<()> {
        let peer = together.peer;
        self.held(together.request);
        let target = AccessDescriptor::host(together.address, together.bytes);
        let mapped = self.transport.begin_write(peer, target);
        let helped = match mapped {
            None if self.transport.means(peer) != Means::CrossMemory => Ok(()),
            _ => self.copy_share(&together, mapped),
        };
        if mapped.is_some() {
            self.transport.end_write(peer);
        }
        helped
    }

    /// Copies parts as long as there are any, to where the receiver's buffer is
    /// mapped, or else through the kernel.
    fn copy_share(&mut self, together: &Together, mapped: Option<*mut u8>) -> Result<()> {
        loop {
            let claimed = self.transport.claim_part(together.peer, together.task, together.bytes);
            let Some((offset, bytes)) = claimed else { return Ok(()) };
            // The claim keeps the receiver from finishing, so the send is alive.
            let Work::Send(send) = &self.requests[together.request].work else { return Ok(()) };
            let Some(source) = send.buffer.dense() else { return Ok(()) };
            let local = source.wrapping_add(offset as usize);
            // SAFETY: our buffer, lent by the program; the receiver has offered
            // its own at `address`, which lies at `mapped` here.
            let copy = || unsafe {
                match mapped {
                    Some(target) => {
                        std::ptr::copy_nonoverlapping(local, target.add(offset as usize), bytes as usize);
                        Ok(Means::Direct)
                    }
                    None => {
                        let target = AccessDescriptor::host(together.address + offset, bytes);
                        let written = self.transport.write(together.peer, target, local);
                        written.map(|()| Means::CrossMemory)
                    }
                }
            };
            let means = self.page.copying(copy)?;
            means.count(self.counters, bytes);
            if self.transport.part_is_done(together.peer, together.task, bytes, together.bytes) {
                self.complete(together.request);
                return self.finish(together.peer, together.receiver_request);
            }
        }
    }
}
