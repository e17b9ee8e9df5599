//! Large messages out of device memory, between ranks of one node: the receiver maps the sender's memory and copies
//! straight to where the message goes, in device or host memory.
//!
//! The offer tells where the memory is described in the sender's blocks area. A receiver that cannot map it asks the sender
//! to fill the host memory that stands for it ([`FILL`]), and goes on with that ([`FILLED`]); then that sender does so at
//! once for this receiver.

use super::wire::{Filled, Offer, Ticket, FILL, FILLED, HELD};
use super::work::Work;
use crate::core::Core;
use crate::device::borrowing::{self, Mapping};
use crate::device::lent::Lent;
use crate::device::stand_ins::{self, StandIn};
use crate::device::{self, counted, MemoryKind, Piece};
use crate::transport::{AccessDescriptor, Arrival, OfferedMemory, Packet};
use crate::{Class, Error, JobRank, Result};
use std::sync::Arc;

/// Pieces listed at a time for a receive buffer with gaps.
const PIECES: usize = 512;

impl Core {
    /// What is offered of a message whose buffer is a stand-in: its device memory and where that is described, if the peer
    /// may map it. Else the stand-in gets the data.
    pub(super) fn offered_of_device(
        &mut self,
        peer: JobRank,
        address: *const u8,
    ) -> Result<Option<(AccessDescriptor, u32)>> {
        let Some(stand_in) = stand_ins::at(address).filter(|one| !one.is_filled) else { return Ok(None) };
        let StandIn { there, bytes, memory, lent, .. } = stand_in;
        let may = lent != 0
            && peer != self.rank
            && !self.transport.is_far(peer)
            && !self.filled_for.contains(&peer);
        if !may {
            // SAFETY: the program lends the buffer.
            return unsafe { stand_ins::fill(address) }.map(|()| None);
        }
        let (address, bytes, key) = (there as u64, bytes as u64, memory.number);
        Ok(Some((AccessDescriptor { address, bytes, key, kind: memory.kind }, (lent / 64) as u32 + 1)))
    }

    /// Takes a message that lies in device memory of a peer.
    pub(super) fn accept_of_device(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        let Some(mapping) = self.map_offered(&offer) else { return self.ask_to_fill(index, offer, taken) };
        // SAFETY: the sender lends its memory until it is told; the receive buffer is lent too.
        if let Err(error) = unsafe { self.copy_of_device(index, &offer, &mapping, taken) } {
            let status = &mut self.requests[index].status;
            status.error = status.error.take().or(Some(error));
        }
        self.received_all(index, offer)
    }

    fn map_offered(&self, offer: &Offer) -> Option<Arc<Mapping>> {
        let local = self.job.local(offer.peer)?;
        let place = offer.place().checked_sub(1)?;
        let base = self.job.node.blocks_area(local.0);
        // SAFETY: the owner describes memory there, or has done so.
        let lent = unsafe { base.add(64 * place as usize).cast::<Lent>().read_unaligned() };
        // It may describe other memory by now.
        match lent.number == offer.memory().key {
            true => borrowing::map_for_messages(&lent).ok(),
            false => None,
        }
    }

    /// # Safety
    /// The offered memory can be read, and the buffer of the receive written, for as many bytes.
    unsafe fn copy_of_device(
        &mut self,
        index: u32,
        offer: &Offer,
        mapping: &Mapping,
        taken: u64,
    ) -> Result<()> {
        let Work::Receive(receive) = &self.requests[index].work else { return Ok(()) };
        let from = mapping.here(offer.memory().address);
        let (mut done, mut listed) = (0, Vec::new());
        while done < taken {
            let covered = receive.buffer.pieces(done, taken - done, PIECES, &mut listed);
            let mut at = from + done as usize;
            let piece = |&(address, bytes): &(usize, usize)| {
                let piece = Piece { to: place_of(address) as *mut u8, from: at as *const u8, bytes };
                at += bytes;
                piece
            };
            let pieces: Vec<Piece> = listed.iter().map(piece).collect();
            // SAFETY: by the caller.
            self.page.copying(|| unsafe { device::copy(&mapping.memory(), &pieces) })?;
            counted::mapped(covered);
            done += covered;
        }
        if let Some(&(address, _)) = listed.first() {
            if let Some(stand_in) = stand_ins::at(address as *const u8) {
                stand_ins::pass_by(stand_in.room);
            }
        }
        Ok(())
    }

    /// The sender shall give the message another way.
    fn ask_to_fill(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        if let Work::Receive(receive) = &mut self.requests[index].work {
            receive.expected = taken;
        }
        self.post(offer.peer, &Packet::with(HELD, [0; 2], &offer.request))?;
        let ask = Ticket { peer: self.name_for(offer.peer), request: index };
        self.post(offer.peer, &Packet::with(FILL, [u64::from(offer.request), 0], &ask)).map(drop)
    }

    /// A receiver asks for that: its word is the next.
    pub(crate) fn fill(&mut self, arrival: &Arrival) -> Result<()> {
        let (request, receiver) = (arrival.header[0] as u32, arrival.read::<Ticket>());
        let Work::Send(send) = &self.requests[request].work else { return Ok(()) };
        let (address, bytes) = (send.buffer.dense().unwrap_or(std::ptr::null_mut()), send.buffer.bytes());
        if !self.filled_for.contains(&receiver.peer) {
            self.filled_for.push(receiver.peer);
        }
        // SAFETY: the program lends the buffer until the request is complete.
        let (memory, error) = match unsafe { stand_ins::fill(address) } {
            Ok(()) => {
                self.transport.lend(address, bytes, 1);
                (self.transport.describe(address, bytes), None)
            }
            Err(error) => (AccessDescriptor::unreachable(bytes), Some(error)),
        };
        if let Work::Send(send) = &mut self.requests[request].work {
            send.memory = memory;
        }
        let offer = Offer::new(memory, self.name_for(receiver.peer), request, false);
        let filled = Filled { request: receiver.request, failed: u32::from(error.is_some()) };
        self.post(receiver.peer, &Packet::with(FILLED, filled.header(), &offer))?;
        if let Some(error) = error {
            self.requests[request].status.error = Some(error);
            self.complete(request);
        }
        Ok(())
    }

    /// The sender has done so, or could not.
    pub(crate) fn filled(&mut self, arrival: &Arrival) -> Result<()> {
        let (Filled { request, failed }, offer) = (Filled::of(arrival.header), arrival.read::<Offer>());
        let Work::Receive(receive) = &self.requests[request].work else { return Ok(()) };
        let taken = receive.expected;
        if failed == 0 {
            return self.accept(request, offer, taken);
        }
        let sentence = "the message was not sent: the driver of the sender's device could not copy it; the sender's call says why";
        let status = &mut self.requests[request].status;
        status.error = status.error.take().or_else(|| Some(Error::new(Class::Other, sentence)));
        self.complete(request);
        Ok(())
    }
}

/// Where the data of an address go: to the device, if host memory stands for it.
fn place_of(address: usize) -> usize {
    match stand_ins::at(address as *const u8) {
        Some(stand_in) => stand_in.there + (address - stand_in.room),
        None => address,
    }
}

impl Offer {
    /// Whether the message lies in memory of a device.
    #[inline]
    pub fn is_of_device(&self) -> bool {
        self.memory().kind != MemoryKind::HOST
    }
}
