//! The sender copies, part by part: for data with gaps, and where the receiver cannot
//! reach the sender's memory. No part waits for the whole, and no staging copy of the
//! message exists.

use super::device_streams::take_part;
use super::progress_sources;
use super::wire::{Chunk, Stream, CHUNK};
use super::work::Work;
use super::Buffer;
use crate::core::Core;
use crate::observe::page::add;
use crate::transport::{Arrival, Load, Packet, Payloads, Source};
use crate::{JobRank, Result};

/// Bytes of a part while both sides copy. Few parts make all the cells there are for that.
const PART_BYTES: u64 = 128 << 10;

/// A packet that brings the bytes of `buffer` from `offset` on, as many as its payload shall have; `None`
/// when there is no memory for them.
///
/// # Safety
/// The program lends the buffer, which has so many bytes there.
#[inline]
pub(super) unsafe fn load(
    transport: &mut impl Payloads<Peer = JobRank>,
    peer: JobRank,
    (kind, header): (u8, [u64; 2]),
    buffer: &Buffer,
    (offset, bytes): (u64, usize),
    is_awaited: bool,
) -> Result<Option<Packet>> {
    // SAFETY: by the caller; the transport has room for as many bytes.
    let mut pack = |target| unsafe { buffer.pack(offset, target, bytes) };
    let source = match buffer.dense() {
        Some(address) => Source::Block(address.wrapping_add(offset as usize)),
        None => Source::Packed(&mut pack),
    };
    // SAFETY: by the caller.
    unsafe { transport.load(peer, Load { kind, header, bytes, is_awaited, source }) }
}

impl Core {
    /// The receiver asks for a message in parts.
    pub(crate) fn begin_stream(&mut self, stream: Stream) {
        if let Work::Send(send) = &mut self.requests[stream.request].work {
            send.wanted = stream.bytes;
            send.receiver_request = stream.receiver_request;
            self.streams.push_back(stream.request);
            self.flags.raise(progress_sources::STREAMS);
        }
    }

    /// Sends parts as long as there is memory for them; turns go round the streams.
    pub(crate) fn pump_streams(&mut self) -> Result<()> {
        while let Some(index) = self.streams.pop_front() {
            match self.pump(index)? {
                Pumped::Done => self.complete(index),
                Pumped::More => self.streams.push_back(index),
                Pumped::NoMemory => {
                    self.streams.push_front(index);
                    if !self.transport.want_load() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn pump(&mut self, index: u32) -> Result<Pumped> {
        let in_slab = match self.in_slab(index, PART_BYTES) {
            Ok(in_slab) => in_slab,
            Err(error) => return self.stream_fails(index, error).map(|()| Pumped::Done),
        };
        if let Some(pumped) = self.pump_block(index, in_slab)? {
            return Ok(pumped);
        }
        let Work::Send(send) = &mut self.requests[index].work else { return Ok(Pumped::Done) };
        let longest = self.transport.longest_payload() as u64;
        let slab = in_slab.map(|(address, bytes)| Buffer::Dense { address, bytes });
        let (from, offset, there) = match &slab {
            Some(slab) => (slab, 0, slab.bytes()),
            None => (&send.buffer, send.streamed, send.wanted - send.streamed),
        };
        let bytes = there.min(longest) as usize;
        let chunk = Chunk { offset: send.streamed, request: send.receiver_request };
        let what = (CHUNK, chunk.header());
        // SAFETY: the program lends the buffer, and has more of it to send; or the slab has as much.
        let load = || unsafe { load(self.transport.as_mut(), send.peer, what, from, (offset, bytes), true) };
        let Some(packet) = self.page.copying(load)? else { return Ok(Pumped::NoMemory) };
        send.streamed += bytes as u64;
        let (peer, done) = (send.peer, send.streamed == send.wanted);
        add(&self.counters.bytes_cells, bytes as u64);
        self.post(peer, &packet)?;
        Ok(if done { Pumped::Done } else { Pumped::More })
    }

    /// The same while both sides copy; `None` where that cannot be.
    fn pump_block(&mut self, index: u32, in_slab: Option<(*mut u8, u64)>) -> Result<Option<Pumped>> {
        let Work::Send(send) = &self.requests[index].work else { return Ok(None) };
        let (peer, streamed, wanted) = (send.peer, send.streamed, send.wanted);
        let in_buffer = || Some((send.buffer.dense()?.wrapping_add(streamed as usize), wanted - streamed));
        let Some((address, there)) = in_slab.or_else(in_buffer).filter(|_| !self.others_wait(peer)) else {
            return Ok(None);
        };
        let bytes = there.min(PART_BYTES);
        let what = (CHUNK, Chunk { offset: streamed, request: send.receiver_request }.header());
        let block = (address.cast_const(), bytes as usize);
        // SAFETY: the program lends the buffer, and has more of it to send.
        if !self.page.copying(|| unsafe { self.transport.push_block(peer, what, &[], block) })? {
            return Ok(None);
        }
        add(&self.counters.bytes_cells, bytes);
        if let Work::Send(send) = &mut self.requests[index].work {
            send.streamed += bytes;
        }
        Ok(Some(if streamed + bytes == wanted { Pumped::Done } else { Pumped::More }))
    }

    /// A part has come.
    pub(crate) fn arrived_chunk(&mut self, arrival: &Arrival) {
        let Chunk { offset, request } = Chunk::of(arrival.header);
        let Work::Receive(receive) = &mut self.requests[request].work else { return };
        let transport = self.transport.as_mut();
        // SAFETY: the sender sends no more than was asked for, which fits the buffer.
        let taken = self.page.copying(|| unsafe { take_part(transport, receive, offset, arrival) });
        receive.received += u64::from(arrival.bytes);
        match taken {
            Err(error) => self.complete_with(request, error),
            Ok(()) if receive.received == receive.expected => {
                self.end_in_device(request);
                self.complete(request);
            }
            Ok(()) => {}
        }
    }
}

enum Pumped {
    Done,
    More,
    NoMemory,
}
