//! Both sides share the copying of a big message.
//!
//! # Rules
//! The receiver owns a block in shared memory with a claim word (generation and
//! next chunk) and a count of bytes done. Receiver and sender claim chunks by
//! moving the claim word on; whoever claims chunk `k` copies it and then adds its
//! bytes to `done`. The one whose addition makes `done` equal to the whole tells
//! the other; exactly one does. A generation is used once: a sender that comes
//! late finds another one in the claim word and claims nothing. A claimed chunk
//! keeps `done` short of the whole until it is copied, so the block and both
//! buffers stay until nobody touches them.

use super::wire::{Offer, Together, TOGETHER};
use super::work::Work;
use crate::core::Core;
use crate::transport::{Means, Packet, SharedCopy, Transport};
use crate::Result;
use std::sync::atomic::Ordering;

/// Smaller messages are copied by the receiver alone, through the kernel.
const SHARED_BYTES: u64 = 512 << 10;
/// The same for memory that is mapped: no system call begins a chunk.
pub(super) const SHARED_MAPPED_BYTES: u64 = 64 << 10;
/// Bytes that are claimed at a time, at least and at most.
const CHUNK_BYTES: (u64, u64) = (32 << 10, 256 << 10);

/// Whether the two sides should share the copying into receive `index`.
pub(super) fn worth_it(core: &mut Core, index: u32, offer: &Offer, taken: u64) -> bool {
    let Work::Receive(receive) = &core.requests[index].work else { return false };
    if taken < SHARED_MAPPED_BYTES || core.oversubscribed || receive.buffer.dense().is_none() {
        return false;
    }
    taken >= SHARED_BYTES || core.transport.direct(offer.peer, offer.address, taken).is_some()
}

/// Bytes of the chunks of a message of `bytes` bytes: two to four chunks, so
/// that a rank that comes late still finds one; more of a long message.
fn chunk_of(bytes: u64) -> u64 {
    (bytes / 4).next_multiple_of(4096).clamp(CHUNK_BYTES.0, CHUNK_BYTES.1)
}

/// Claims the next chunk of `bytes` bytes in all: its offset and length.
fn claim(block: &SharedCopy, generation: u32, bytes: u64) -> Option<(u64, u64)> {
    let chunk_bytes = chunk_of(bytes);
    let mut word = block.claim.load(Ordering::Acquire); // shared-copy: paired with `copy_together`
    loop {
        let chunk = word & 0xffff_ffff;
        let offset = chunk * chunk_bytes;
        if (word >> 32) as u32 != generation || offset >= bytes {
            return None;
        }
        match block.claim.compare_exchange_weak(word, word + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some((offset, chunk_bytes.min(bytes - offset))),
            Err(now) => word = now,
        }
    }
}

/// Says that a chunk is copied; `true` if it was the last.
fn chunk_done(block: &SharedCopy, chunk: u64, bytes: u64) -> bool {
    block.done.fetch_add(chunk, Ordering::AcqRel) + chunk == bytes
}

impl Core {
    /// Opens a shared copy for receive `index` and does the receiver's share.
    pub(super) fn copy_together(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        let Work::Receive(receive) = &mut self.requests[index].work else { return Ok(()) };
        let (Some(address), Some(block)) = (receive.buffer.dense(), self.transport.take_shared_copy()) else {
            return self.pull_alone(index, offer, taken);
        };
        receive.block = Some(block);
        self.transport.lend(address, taken, 1);
        self.shared_copies = self.shared_copies.wrapping_add(1);
        let generation = self.shared_copies;
        let shared = self.transport.shared_copy(self.rank, block);
        shared.done.store(0, Ordering::Relaxed);
        shared.claim.store((generation as u64) << 32, Ordering::Release); // shared-copy: paired with `claim`
        let together = Together {
            address: address as u64,
            bytes: taken,
            generation,
            block,
            request: offer.request,
            receiver_request: index,
            peer: self.rank,
            spare: 0,
        };
        self.post(offer.peer, &Packet::with(TOGETHER, [0; 2], &together))?;
        loop {
            let Some((offset, bytes)) =
                claim(self.transport.shared_copy(self.rank, block), generation, taken)
            else {
                return Ok(()); // the sender copies the rest and will say so
            };
            let piece = [(address as usize + offset as usize, bytes as usize)];
            // SAFETY: the claimed chunk of the buffer that the program lends.
            let read = || unsafe { self.transport.read(offer.peer, offer.address + offset, &piece) };
            let means = self.page.copying(read)?;
            means.count(self.counters, bytes);
            if chunk_done(self.transport.shared_copy(self.rank, block), bytes, taken) {
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
        let mapped = self.transport.begin_write(peer, together.address, together.bytes);
        let helped = match mapped {
            None if self.transport.means(peer) != Means::CrossMemory => Ok(()),
            _ => self.copy_share(&together, mapped),
        };
        if mapped.is_some() {
            self.transport.end_write(peer);
        }
        helped
    }

    /// Copies chunks as long as there are any, to where the receiver's buffer is
    /// mapped, or else through the kernel.
    fn copy_share(&mut self, together: &Together, mapped: Option<*mut u8>) -> Result<()> {
        loop {
            let block = self.transport.shared_copy(together.peer, together.block);
            let Some((offset, bytes)) = claim(block, together.generation, together.bytes) else {
                return Ok(());
            };
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
                        let target = together.address + offset;
                        let written = self.transport.write(together.peer, target, local, bytes as usize);
                        written.map(|()| Means::CrossMemory)
                    }
                }
            };
            let means = self.page.copying(copy)?;
            means.count(self.counters, bytes);
            if chunk_done(self.transport.shared_copy(together.peer, together.block), bytes, together.bytes) {
                self.complete(together.request);
                return self.finish(together.peer, together.receiver_request);
            }
        }
    }
}
