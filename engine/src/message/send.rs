//! Sending: which way a message goes.

use super::wire::{Envelope, InCell, Offer, INLINE, IN_CELL, OFFER};
use super::work::{Send, Work};
use super::{Buffer, Mode, EAGER_BYTES};
use crate::core::Core;
use crate::observe::page::add;
use crate::transport::{Cell, Letter, Packet, Transport, INLINE_BYTES, LETTER_BYTES};
use crate::Result;
use std::mem::MaybeUninit;

impl Core {
    /// Starts a send; `None` when it is complete already.
    #[inline]
    pub(crate) fn start_send(
        &mut self,
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
        mode: Mode,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes();
        let counters = &self.page.counters;
        add(&counters.messages_sent, 1);
        add(&counters.bytes_sent, bytes);
        if mode != Mode::Synchronous {
            if bytes <= INLINE_BYTES as u64 {
                return self.send_inline(peer, envelope, &buffer, mode);
            }
            if bytes <= LETTER_BYTES as u64 && self.send_long_letter(peer, envelope, &buffer)? {
                return Ok(None);
            }
            if bytes <= EAGER_BYTES {
                if let Some(cell) = self.transport.take_cell(bytes as usize)? {
                    return self.send_in_cell(peer, envelope, &buffer, mode, cell);
                }
            }
        }
        self.offer(peer, envelope, buffer, mode)
    }

    /// In a packet of one line.
    #[inline]
    fn send_inline(
        &mut self,
        peer: u32,
        envelope: Envelope,
        buffer: &Buffer,
        mode: Mode,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes() as usize;
        add(&self.page.counters.bytes_inline, bytes as u64);
        if let Some(address) = buffer.dense().filter(|_| !self.others_wait(peer)) {
            // SAFETY: the program lends the buffer for the time of the call.
            let payload = unsafe { slice(address, bytes) };
            let letter = Letter { kind: INLINE, header: envelope.header(), payload };
            if self.transport.push(peer, &letter)? {
                return Ok(None);
            }
        }
        let mut packet = Packet::new(INLINE, envelope.header());
        packet.length = bytes as u8;
        // SAFETY: the program lends the buffer; `bytes` fits.
        unsafe { buffer.pack(0, packet.payload.as_mut_ptr(), bytes) };
        self.send_packet(peer, &packet, mode)
    }

    /// In a packet of several lines; `false` if that is not possible now.
    #[inline]
    fn send_long_letter(&mut self, peer: u32, envelope: Envelope, buffer: &Buffer) -> Result<bool> {
        let bytes = buffer.bytes() as usize;
        if bytes > self.transport.longest_letter(peer)? || self.others_wait(peer) {
            return Ok(false);
        }
        let mut packed = [MaybeUninit::<u8>::uninit(); LETTER_BYTES];
        let address = buffer.dense().unwrap_or_else(|| {
            // SAFETY: the program lends the buffer; `bytes` fits.
            unsafe { buffer.pack(0, packed.as_mut_ptr().cast(), bytes) };
            packed.as_mut_ptr().cast()
        });
        // SAFETY: lent by the program, or packed just now.
        let payload = unsafe { slice(address, bytes) };
        let letter = Letter { kind: INLINE, header: envelope.header(), payload };
        let sent = self.transport.push(peer, &letter)?;
        if sent {
            add(&self.page.counters.bytes_inline, bytes as u64);
        }
        Ok(sent)
    }

    fn send_in_cell(
        &mut self,
        peer: u32,
        envelope: Envelope,
        buffer: &Buffer,
        mode: Mode,
        cell: Cell,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes();
        // SAFETY: the program lends the buffer; the cell is ours and large enough.
        unsafe { buffer.pack(0, self.transport.cell_address(cell), bytes as usize) };
        add(&self.page.counters.bytes_cells, bytes);
        let packet = Packet::with(IN_CELL, envelope.header(), &InCell { cell, bytes });
        self.send_packet(peer, &packet, mode)
    }

    /// The message is in the packet, or in a cell that it names: the send is
    /// complete when the packet has gone, and a buffered send at once.
    #[inline]
    fn send_packet(&mut self, peer: u32, packet: &Packet, mode: Mode) -> Result<Option<u32>> {
        if self.post(peer, packet)? || mode == Mode::Buffered {
            return Ok(None);
        }
        self.wait_for_packet(peer).map(Some)
    }

    /// Makes a request that completes when the packet just queued has gone.
    #[cold]
    fn wait_for_packet(&mut self, peer: u32) -> Result<u32> {
        let request = self.requests.insert(Work::Nothing)?;
        self.outbox_completes(peer, request);
        Ok(request)
    }

    /// Leaves the message where it is and tells the receiver.
    fn offer(&mut self, peer: u32, envelope: Envelope, buffer: Buffer, mode: Mode) -> Result<Option<u32>> {
        let bytes = buffer.bytes();
        let small = bytes <= EAGER_BYTES;
        let fits = small && self.aside.has_room(bytes);
        let aside = mode == Mode::Buffered || (fits && mode != Mode::Synchronous);
        let (buffer, owned) = if aside { self.set_aside(&buffer) } else { (buffer, None) };
        // The address is offered even if nothing can be read there directly:
        // the receiver knows what it can reach. A private one is not: so the
        // message can still be copied aside (`relieve`).
        let private = small && !aside && mode == Mode::Blocking;
        let address = if private { 0 } else { buffer.dense().map_or(0, |address| address as u64) };
        if !aside && address != 0 {
            self.transport.lend(address as *const u8, bytes);
        }
        let send = Send {
            buffer,
            owned,
            private,
            context: envelope.context,
            peer,
            streamed: 0,
            wanted: 0,
            receiver_request: 0,
        };
        let request = self.requests.insert(Work::Send(send))?;
        self.requests[request].detached = aside;
        let offer = Offer { bytes, address, peer: self.rank, request };
        self.post(peer, &Packet::with(OFFER, envelope.header(), &offer))?;
        Ok((!aside).then_some(request))
    }
}

/// The bytes of a block; an empty one may be anywhere.
///
/// # Safety
/// The block must be readable for the time of the call.
unsafe fn slice<'a>(address: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts(address, bytes) }
}
