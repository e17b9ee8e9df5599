//! Sending: which way a message goes.

use super::stream::load;
use super::wire::{Envelope, Offer, Ticket, AWAITED, INLINE, LONG, OFFER, TICKET_BYTES, TICKET_LINE};
use super::work::{Send, Work};
use super::{Buffer, Mode, EAGER_BYTES, EAGER_FAR_BYTES};
use crate::core::Core;
use crate::device::stand_ins;
use crate::observe::page::add;
use crate::transport::{
    AccessDescriptor, Letter, Load, OfferedMemory, Packet, Packets, Payloads, RemoteMemory, Source,
    INLINE_BYTES, LETTER_BYTES, LONG_LETTER_BYTES,
};
use crate::tuning::crossovers::EAGER_BLOCK;
use crate::{JobRank, Result};
use std::mem::MaybeUninit;

/// Longer messages are not copied aside while there is no memory to load others.
const ASIDE_BYTES: u64 = 16 << 10;

impl Core {
    /// Starts a send; `None` when it is complete already.
    #[inline]
    pub(crate) fn start_send(
        &mut self,
        peer: JobRank,
        envelope: Envelope,
        buffer: Buffer,
        mode: Mode,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes();
        if mode != Mode::Synchronous
            && bytes <= LONG_LETTER_BYTES as u64
            && self.send_letter(peer, envelope, &buffer)?
        {
            return Ok(None);
        }
        self.flows.sent(peer, bytes);
        if mode == Mode::Synchronous {
            if let Some(request) = self.send_awaited(peer, envelope, &buffer)? {
                return Ok(Some(request));
            }
            if let Some(request) = self.bring_awaited(peer, envelope, &buffer)? {
                return Ok(Some(request));
            }
        }
        if mode != Mode::Synchronous && bytes <= INLINE_BYTES as u64 {
            return self.send_inline(peer, envelope, &buffer, mode);
        }
        add(&self.counters.bytes_not_inline, bytes);
        if mode != Mode::Synchronous && self.is_eager(peer, &buffer) {
            if self.send_block(peer, (LONG, envelope), &[], &buffer)? {
                return Ok(None);
            }
            if let Some(packet) = self.load_message(peer, envelope, &buffer)? {
                return self.send_packet(peer, &packet, mode);
            }
        }
        self.offer(peer, envelope, buffer, mode)
    }

    /// As [`Core::send_now`], packed first if it is no block.
    #[inline]
    fn send_letter(&mut self, peer: JobRank, envelope: Envelope, buffer: &Buffer) -> Result<bool> {
        let bytes = buffer.bytes() as usize;
        let mut packed = [MaybeUninit::<u8>::uninit(); LETTER_BYTES];
        if bytes > LETTER_BYTES && buffer.dense().is_none() {
            return Ok(false);
        }
        let address = buffer.dense().unwrap_or_else(|| {
            // SAFETY: the program lends the buffer; `bytes` fits.
            unsafe { buffer.pack(0, packed.as_mut_ptr().cast(), bytes) };
            packed.as_mut_ptr().cast()
        });
        self.send_now(peer, envelope, address, bytes)
    }

    /// In a packet, with the number of the request that is complete when a receive has taken
    /// it; `None` if there is no room for it now.
    fn send_awaited(&mut self, peer: JobRank, envelope: Envelope, buffer: &Buffer) -> Result<Option<u32>> {
        let bytes = buffer.bytes() as usize;
        let length = bytes.saturating_add(TICKET_BYTES);
        if length > LONG_LETTER_BYTES {
            return Ok(None);
        }
        let is_long = length > INLINE_BYTES;
        if self.others_wait(peer) || is_long && !self.transport.takes_letter(peer, length)? {
            return Ok(None);
        }
        let send = Send::new(buffer.clone(), None, envelope, peer);
        let request = self.insert_send(send)?;
        let mut payload = [MaybeUninit::<u8>::uninit(); LONG_LETTER_BYTES];
        // SAFETY: the program lends the buffer; `length` fits, and as many bytes are written.
        let payload = unsafe {
            let start = payload.as_mut_ptr().cast::<u8>();
            start.cast::<Ticket>().write_unaligned(Ticket { peer: self.name_for(peer), request });
            buffer.pack(0, start.add(TICKET_BYTES), bytes);
            std::slice::from_raw_parts(start, length)
        };
        let letter = Letter { kind: AWAITED, header: envelope.header(), payload };
        if self.transport.push(peer, &letter)? {
            return Ok(Some(request));
        }
        self.requests.remove(request);
        Ok(None)
    }

    /// The same in a packet with a long payload.
    fn bring_awaited(&mut self, peer: JobRank, envelope: Envelope, buffer: &Buffer) -> Result<Option<u32>> {
        if self.others_wait(peer) || self.transport.is_far(peer) || !self.is_eager(peer, buffer) {
            return Ok(None);
        }
        let request = self.insert_send(Send::new(buffer.clone(), None, envelope, peer))?;
        let mut line = [0; TICKET_LINE];
        let ticket = Ticket { peer: self.name_for(peer), request };
        // SAFETY: it fits the line.
        unsafe { line.as_mut_ptr().cast::<Ticket>().write_unaligned(ticket) };
        let brought = match self.send_block(peer, (AWAITED, envelope), &line, buffer) {
            Ok(false) => self.load_awaited(peer, envelope, &line, buffer),
            sent => sent,
        };
        if !matches!(brought, Ok(true)) {
            self.requests.remove(request);
        }
        brought.map(|is_brought| is_brought.then_some(request))
    }

    /// In one cell, behind the line with its ticket; `false` if there is none, or it does not fit.
    fn load_awaited(
        &mut self,
        peer: JobRank,
        envelope: Envelope,
        line: &[u8; TICKET_LINE],
        buffer: &Buffer,
    ) -> Result<bool> {
        let bytes = TICKET_LINE + buffer.bytes() as usize;
        if bytes > EAGER_BYTES as usize {
            return Ok(false);
        }
        // SAFETY: the program lends the buffer; the payload has room for both.
        let mut pack = |target: *mut u8| unsafe {
            std::ptr::copy_nonoverlapping(line.as_ptr(), target, TICKET_LINE);
            buffer.pack(0, target.add(TICKET_LINE), bytes - TICKET_LINE);
        };
        let (kind, header, source) = (AWAITED, envelope.header(), Source::Packed(&mut pack));
        let load = Load { kind, header, bytes, is_awaited: false, source };
        // SAFETY: what packs writes as many bytes.
        let loaded = self.page.copying(|| unsafe { self.transport.load(peer, load) })?;
        let Some(packet) = loaded else { return Ok(false) };
        if !self.transport.push(peer, &packet.letter())? {
            self.transport.unload(&packet);
            return Ok(false);
        }
        add(&self.counters.bytes_cells, buffer.bytes());
        Ok(true)
    }

    /// In a packet of one line, which may have to wait for room.
    fn send_inline(
        &mut self,
        peer: JobRank,
        envelope: Envelope,
        buffer: &Buffer,
        mode: Mode,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes() as usize;
        let mut packet = Packet::new(INLINE, envelope.header());
        packet.length = bytes as u8;
        // SAFETY: the program lends the buffer; `bytes` fits.
        unsafe { buffer.pack(0, packet.payload.as_mut_ptr(), bytes) };
        self.send_packet(peer, &packet, mode)
    }

    /// Whether a message goes at once, if there is memory to load it.
    #[inline]
    fn is_eager(&self, peer: JobRank, buffer: &Buffer) -> bool {
        let bytes = buffer.bytes();
        bytes <= EAGER_BYTES
            || match self.transport.is_far(peer) {
                true => bytes <= EAGER_FAR_BYTES,
                false => {
                    !EAGER_BLOCK.is_passed_by(bytes)
                        && buffer.dense().is_some_and(|address| stand_ins::has_data(address, bytes))
                }
            }
    }

    /// As a block that goes at once behind its head, where that is quicker than to load it.
    #[inline]
    fn send_block(
        &mut self,
        peer: JobRank,
        (kind, envelope): (u8, Envelope),
        head: &[u8],
        buffer: &Buffer,
    ) -> Result<bool> {
        if self.others_wait(peer) {
            return Ok(false);
        }
        let Some(address) = buffer.dense() else { return Ok(false) };
        let (what, block) = ((kind, envelope.header()), (address.cast_const(), buffer.bytes() as usize));
        // SAFETY: the program lends the buffer.
        let sent = self.page.copying(|| unsafe { self.transport.push_block(peer, what, head, block) })?;
        if sent {
            self.transport.lend(address, buffer.bytes(), 1);
            add(&self.counters.bytes_cells, buffer.bytes());
        }
        Ok(sent)
    }

    /// A packet that brings the whole message; `None` when there is no memory for it.
    fn load_message(&mut self, peer: JobRank, envelope: Envelope, buffer: &Buffer) -> Result<Option<Packet>> {
        let bytes = buffer.bytes();
        if bytes > EAGER_BYTES && !self.transport.is_far(peer) {
            return Ok(None);
        }
        let (what, part) = ((LONG, envelope.header()), (0, bytes as usize));
        // SAFETY: the program lends the buffer.
        let load = || unsafe { load(self.transport.as_mut(), peer, what, buffer, part, false) };
        let packet = self.page.copying(load)?;
        if packet.is_some() {
            if let Some(address) = buffer.dense() {
                self.transport.lend(address, bytes, 1);
            }
            add(&self.counters.bytes_cells, bytes);
        }
        Ok(packet)
    }

    /// The packet brings the message: the send is
    /// complete when the packet has gone, and a buffered send at once.
    #[inline]
    fn send_packet(&mut self, peer: JobRank, packet: &Packet, mode: Mode) -> Result<Option<u32>> {
        if self.post(peer, packet)? || mode == Mode::Buffered {
            return Ok(None);
        }
        self.wait_for_packet(peer).map(Some)
    }

    /// Makes a request that completes when the packet just queued has gone.
    #[cold]
    fn wait_for_packet(&mut self, peer: JobRank) -> Result<u32> {
        let request = self.requests.insert(Work::Nothing)?;
        self.outbox_completes(peer, request);
        Ok(request)
    }

    /// Leaves the message where it is; a small one in a copy, if there is memory
    /// for it, so that the send is complete.
    fn offer(
        &mut self,
        peer: JobRank,
        envelope: Envelope,
        buffer: Buffer,
        mode: Mode,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes();
        let small = bytes <= ASIDE_BYTES;
        if mode == Mode::Buffered
            || (small && mode != Mode::Synchronous && self.aside.has_room(&self.page.memory.aside, bytes))
        {
            if let Some(address) = buffer.dense() {
                // SAFETY: the program lends the buffer.
                unsafe { stand_ins::fill(address, bytes)? };
            }
            let (copy, owned) = self.set_aside(&buffer);
            let request = self.leave(peer, envelope, copy, owned, Left::ToRead)?;
            self.requests[request].detached = true;
            return Ok(None);
        }
        let left = if small && mode == Mode::Blocking { Left::Private } else { Left::ToRead };
        self.leave(peer, envelope, buffer, None, left).map(Some)
    }

    /// Tells the receiver where the message is.
    #[inline]
    fn leave(
        &mut self,
        peer: JobRank,
        envelope: Envelope,
        buffer: Buffer,
        owned: Option<Box<[u8]>>,
        left: Left,
    ) -> Result<u32> {
        let bytes = buffer.bytes();
        let private = left == Left::Private;
        let of_device = match buffer.dense() {
            Some(address) if owned.is_none() => self.offered_of_device(peer, (address, bytes))?,
            _ => None,
        };
        let is_far = self.transport.is_far(peer);
        // The address is offered even if nothing can be read there directly:
        // the receiver knows what it can reach.
        let memory = match buffer.dense() {
            _ if of_device.is_some() => {
                of_device.map_or(AccessDescriptor::unreachable(bytes), |found| found.0)
            }
            Some(address) if is_far && !private => self.transport.register(peer, address, bytes),
            Some(address) if !private => {
                if owned.is_none() && !address.is_null() {
                    self.transport.lend(address, bytes, 1);
                }
                self.transport.describe(address, bytes)
            }
            _ => AccessDescriptor::unreachable(bytes),
        };
        let send = Send { private, memory, ..Send::new(buffer, owned, envelope, peer) };
        let request = self.insert_send(send)?;
        let offer = Offer::new(memory, self.name_for(peer), request)
            .described_at(of_device.map_or(0, |found| found.1));
        self.post(peer, &Packet::with(OFFER, envelope.header(), &offer))?;
        Ok(request)
    }

    /// A request for a send that its receiver will know by the number of it.
    #[inline]
    fn insert_send(&mut self, send: Send) -> Result<u32> {
        let request = self.requests.insert(Work::Send(send))?;
        match self.awaits_word(request) {
            false => Ok(request),
            true => self.with_another_number(request),
        }
    }
}

/// How a message is left with its sender.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The receiver reads it when it wants it.
    ToRead,
    /// Nobody reads it, so that it can still be copied aside (`relieve`).
    Private,
}
