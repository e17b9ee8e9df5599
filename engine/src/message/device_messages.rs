//! Large messages out of device memory, between ranks of one node: the receiver maps the sender's memory and copies
//! straight to where the message goes, in device or host memory.
//!
//! The offer tells where the memory is described in the sender's blocks area. A receiver that cannot map it asks the sender
//! to fill the host memory that stands for it ([`FILL`]), and goes on with that ([`FILLED`]); then that sender does so at
//! once for this receiver, if it was for good.

use super::passed_memory::MappedPieces;
use super::wire::{Filled, Offer, Ticket, Why, FILL, FILLED, HELD};
use super::work::Work;
use crate::core::Core;
use crate::device::borrowing;
use crate::device::lent::{Lent, Way};
use crate::device::stand_ins::{self, Side};
use crate::device::{self, counted, MemoryKind};
use crate::transport::{AccessDescriptor, Arrival, Means, OfferedMemory, Packet};
use crate::{Class, Error, JobRank, Result};

/// Pieces listed at a time for a receive buffer with gaps.
const PIECES: usize = 512;

impl Core {
    /// What is offered of a message whose buffer is (a part of) a stand-in: its device memory and where that is described,
    /// if the peer may map it. To one that reads no memory of this rank nothing is told: it asks for a stream. Else that part gets its data.
    pub(super) fn offered_of_device(
        &mut self,
        peer: JobRank,
        (address, bytes): (*const u8, u64),
    ) -> Result<Option<(AccessDescriptor, u32)>> {
        let Some(stand_in) = stand_ins::at(address) else { return Ok(None) };
        let Side::Sent(lent) = stand_in.side else { return Ok(None) };
        let is_far = self.transport.is_far(peer);
        if lent == 0 || peer == self.rank || is_far || self.filled_for.contains(&peer) {
            if (is_far || self.transport.means(peer) == Means::Cells) && !stand_ins::has_data(address, bytes)
            {
                return Ok(Some((AccessDescriptor::unreachable(bytes), 0)));
            }
            // SAFETY: the program lends the buffer.
            return unsafe { stand_ins::fill(address, bytes) }.map(|()| None);
        }
        let (address, memory) = (stand_in.there(address as usize) as u64, stand_in.memory);
        let described = AccessDescriptor { address, bytes, key: memory.number, kind: memory.kind };
        Ok(Some((described, (lent / 64) as u32 + 1)))
    }

    /// Takes a message that lies in device memory of a peer.
    pub(super) fn accept_of_device(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        let lent = match self.described(&offer) {
            Ok(lent) => lent,
            Err(why) => return self.ask_to_fill(index, offer, taken, why),
        };
        match MappedPieces::new(&lent) {
            Ok(pieces) => self.take_of_device(index, offer, &pieces, taken),
            Err(_) if may_be_passed(&lent) => self.ask_to_pass(index, offer, taken),
            Err(_) => self.ask_to_fill(index, offer, taken, Why::Never),
        }
    }

    /// Takes it out of memory that is mapped here.
    pub(super) fn take_of_device(
        &mut self,
        index: u32,
        offer: Offer,
        pieces: &MappedPieces,
        taken: u64,
    ) -> Result<()> {
        // SAFETY: the sender lends its memory until it is told; the receive buffer is lent too.
        if let Err(error) = unsafe { self.copy_of_device(index, &offer, pieces, taken) } {
            let status = &mut self.requests[index].status;
            status.error = status.error.take().or(Some(error));
        }
        self.received_all(index, offer)
    }

    /// # Safety
    /// The offered memory can be read, and the buffer of the receive written, for as many bytes.
    unsafe fn copy_of_device(
        &mut self,
        index: u32,
        offer: &Offer,
        mapped: &MappedPieces,
        taken: u64,
    ) -> Result<()> {
        let Work::Receive(receive) = &self.requests[index].work else { return Ok(()) };
        let from = offer.memory().address;
        let (mut done, mut listed, mut pieces) = (0, Vec::new(), Vec::new());
        while done < taken {
            let covered = receive.buffer.pieces(done, taken - done, PIECES, &mut listed);
            let mut at = from + done;
            pieces.clear();
            for &(address, bytes) in &listed {
                mapped.list(at, (place_of(address), bytes as u64), &mut pieces)?;
                at += bytes as u64;
            }
            // SAFETY: by the caller.
            self.page.copying(|| unsafe { device::copy(&mapped.memory(), &pieces) })?;
            counted::mapped(covered);
            done += covered;
        }
        // What has come to the host, as it shall where the device's memory is still being sent.
        if listed.first().is_some_and(|&(address, _)| place_of(address) == address) {
            receive.buffer.will_be_written(taken);
        }
        Ok(())
    }

    /// The sender shall give the message another way.
    pub(super) fn ask_to_fill(&mut self, index: u32, offer: Offer, taken: u64, why: Why) -> Result<()> {
        if let Work::Receive(receive) = &mut self.requests[index].work {
            receive.expected = taken;
        }
        self.post(offer.peer, &Packet::with(HELD, [0; 2], &offer.request))?;
        let ask = Ticket { peer: self.name_for(offer.peer), request: index };
        self.post(offer.peer, &Packet::with(FILL, [u64::from(offer.request), why as u64], &ask)).map(drop)
    }

    /// A receiver asks for that: its word is the next.
    pub(crate) fn fill(&mut self, arrival: &Arrival) -> Result<()> {
        let (request, receiver) = (arrival.header[0] as u32, arrival.read::<Ticket>());
        let Work::Send(send) = &self.requests[request].work else { return Ok(()) };
        let (address, bytes) = (send.buffer.dense().unwrap_or(std::ptr::null_mut()), send.buffer.bytes());
        let is_for_good = arrival.header[1] == Why::Never as u64;
        if is_for_good && !self.filled_for.contains(&receiver.peer) {
            self.filled_for.push(receiver.peer);
        }
        // SAFETY: the program lends the buffer until the request is complete.
        let (memory, error) = match unsafe { stand_ins::fill(address, bytes) } {
            Ok(()) => {
                self.transport.lend(address, bytes, 1);
                (self.transport.describe(address, bytes), None)
            }
            Err(error) => (AccessDescriptor::unreachable(bytes), Some(error)),
        };
        if let Work::Send(send) = &mut self.requests[request].work {
            send.memory = memory;
        }
        let offer = Offer::new(memory, self.name_for(receiver.peer), request);
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

/// Whether descriptors of memory would be of use here.
fn may_be_passed(lent: &[Lent]) -> bool {
    device::is_reached()
        && lent.iter().any(|one| one.way == Way::DESCRIPTOR)
        && !lent.iter().any(borrowing::is_refused)
}

/// Where the data of an address go: straight to the device, if host memory stands for it.
fn place_of(address: usize) -> usize {
    match stand_ins::at(address as *const u8) {
        Some(one) if one.side == (Side::Received { is_direct: true }) => one.there(address),
        _ => address,
    }
}

impl Offer {
    /// Whether the message lies in memory of a device.
    #[inline]
    pub fn is_of_device(&self) -> bool {
        self.memory().kind != MemoryKind::HOST
    }
}
