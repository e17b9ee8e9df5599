//! Long messages that come out of device memory, or go there, where no rank maps the memory of the other: part by part, through slabs.
//! The driver copies one part while the network, or the processor, has another in hand, and no host memory is as long as the message.
//!
//! A sender whose receiver is far does not say where its data are, so the receiver asks for a stream (`stream.rs`); so does one
//! whose own buffer lies on a device. Where there are no slabs, host memory stands for the block as ever.

use super::receive::unpack_parts;
use super::wire::{Filled, Offer, FILLED};
use super::work::{Receive, Work};
use super::Buffer;
use crate::core::Core;
use crate::device::slab_transfers::{FromDevice, ToDevice};
use crate::device::stand_ins::{self, Side};
use crate::transport::{AccessDescriptor, Arrival, OfferedMemory, Packet, Payloads};
use crate::{Error, Result};

impl Core {
    /// Of a stream that comes out of device memory: where its next data are in a slab, and how many. `None`: they are in its buffer, at least
    /// so many of those that are left.
    pub(super) fn in_slab(&mut self, index: u32, bytes: u64) -> Result<Option<(*mut u8, u64)>> {
        let Work::Send(send) = &mut self.requests[index].work else { return Ok(None) };
        let Some(first) = send.buffer.dense() else { return Ok(None) };
        let (next, left) = (first.wrapping_add(send.streamed as usize), send.wanted - send.streamed);
        if stand_ins::has_data(next, left) {
            return Ok(None);
        }
        let Some(one) = stand_ins::at(first) else { return Ok(None) };
        let begin = || FromDevice::new(&one.memory, one.there(first as usize), send.wanted).map(Box::new);
        send.from_device = send.from_device.take().or_else(begin);
        // SAFETY: the program lends the block until the request is complete.
        unsafe {
            match &mut send.from_device {
                Some(block) => block.data(send.streamed).map(|(data, bytes)| Some((data.cast_mut(), bytes))),
                None => stand_ins::fill(next, left.min(bytes)).map(|()| None),
            }
        }
    }

    /// The driver could not copy, and the stream ends: the receiver's call fails as well.
    pub(super) fn stream_fails(&mut self, index: u32, error: Error) -> Result<()> {
        let Work::Send(send) = &self.requests[index].work else { return Ok(()) };
        let (peer, request) = (send.peer, send.receiver_request);
        let offer = Offer::new(AccessDescriptor::unreachable(0), self.name_for(peer), index);
        self.post(peer, &Packet::with(FILLED, Filled { request, failed: 1 }.header(), &offer))?;
        self.requests[index].status.error = Some(error);
        Ok(())
    }

    /// Whether so many bytes of an offered message go through slabs to where the receive has its buffer. Then they are asked
    /// for, or are there.
    pub(super) fn take_through_slabs(&mut self, index: u32, offer: Offer, taken: u64) -> Result<bool> {
        let Work::Receive(receive) = &mut self.requests[index].work else { return Ok(false) };
        let Some(one) = receive.buffer.dense().and_then(|first| stand_ins::at(first)) else {
            return Ok(false);
        };
        if one.side != (Side::Received { is_direct: true }) {
            return Ok(false);
        }
        let there = one.there(receive.buffer.address() as usize);
        receive.to_device = ToDevice::new(&one.memory, there, taken).map(Box::new);
        if receive.to_device.is_none() {
            return Ok(false);
        }
        let is_there = self.reachable(&offer, taken) && self.read_through_slabs(index, &offer, taken).is_ok();
        match is_there {
            true => {
                self.end_in_device(index);
                self.received_all(index, offer)?;
            }
            false => self.ask_for_stream(index, offer, taken)?,
        }
        Ok(true)
    }

    /// Reads memory of the sender.
    fn read_through_slabs(&mut self, index: u32, offer: &Offer, taken: u64) -> Result<()> {
        let Work::Receive(Receive { to_device: Some(block), .. }) = &mut self.requests[index].work else {
            return Ok(());
        };
        let mut done = 0;
        while done < taken {
            // SAFETY: the program lends the block, and the sender its memory.
            let (room, bytes) = unsafe { block.room(done) };
            let part = offer.memory().part(done, bytes as u64);
            // SAFETY: the slab has so much room.
            let read = || unsafe { self.transport.read(offer.peer, part, &[(room as usize, bytes)]) };
            self.page.copying(read)?.count(self.counters, bytes as u64);
            block.put(bytes);
            done += bytes as u64;
        }
        Ok(())
    }

    /// All is in the slabs, or in the block already.
    pub(super) fn end_in_device(&mut self, index: u32) {
        let Work::Receive(receive) = &mut self.requests[index].work else { return };
        let Some(mut block) = receive.to_device.take() else { return };
        // SAFETY: the program lends the block.
        let ended = self.page.copying(|| unsafe { block.finish() });
        if let Err(error) = ended {
            let status = &mut self.requests[index].status;
            status.error = status.error.take().or(Some(error));
        }
    }
}

/// Takes a part of a message that has come to where the receive has its buffer.
///
/// # Errors
/// The sender has died while it copied the part.
///
/// # Safety
/// The program lends the buffer, and the part fits.
pub(super) unsafe fn take_part(
    transport: &mut impl Payloads,
    receive: &mut Receive,
    at: u64,
    arrival: &Arrival,
) -> Result<()> {
    let (first, bytes) = (arrival.payload(), arrival.bytes as usize);
    let Some(block) = &mut receive.to_device else {
        // SAFETY: by the caller.
        return unsafe { unpack_parts(transport, (&receive.buffer, at), (None, 0), (first, bytes), bytes) };
    };
    let mut done = 0;
    while done < bytes {
        // SAFETY: by the caller.
        let (address, room) = unsafe { block.room(at + done as u64) };
        let (slab, taken) = (Buffer::Dense { address, bytes: room as u64 }, room.min(bytes - done));
        let rest = (first.wrapping_add(done), bytes - done);
        // SAFETY: the slab has so much room; what lies before the rest is of the same payload.
        unsafe { unpack_parts(transport, (&slab, 0), (None, done), rest, taken)? };
        block.put(taken);
        done += taken;
    }
    Ok(())
}
