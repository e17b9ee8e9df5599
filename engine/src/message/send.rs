//! Sending: which way a message goes.

use super::wire::{Envelope, InCell, Offer, INLINE, IN_CELL, OFFER};
use super::work::{Send, Work};
use super::{Buffer, Mode, EAGER_BYTES};
use crate::core::Core;
use crate::observe::page::add;
use crate::transport::{Packet, INLINE_BYTES};
use crate::Result;

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
        if bytes <= INLINE_BYTES as u64 && mode != Mode::Synchronous {
            return self.send_inline(peer, envelope, &buffer, mode);
        }
        if bytes <= EAGER_BYTES && mode != Mode::Synchronous {
            if let Some(cell) = self.transport.take_cell(bytes as usize)? {
                // SAFETY: the program lends the buffer; the cell is ours and
                // large enough.
                unsafe { buffer.pack(0, self.transport.cell_address(cell), bytes as usize) };
                add(&counters.bytes_cells, bytes);
                let packet = Packet::with(IN_CELL, envelope.header(), &InCell { cell, bytes });
                return self.send_packet(peer, &packet, mode);
            }
        }
        self.offer(peer, envelope, buffer, mode)
    }

    #[inline]
    fn send_inline(
        &mut self,
        peer: u32,
        envelope: Envelope,
        buffer: &Buffer,
        mode: Mode,
    ) -> Result<Option<u32>> {
        let bytes = buffer.bytes() as usize;
        let mut packet = Packet::new(INLINE, envelope.header());
        packet.length = bytes as u8;
        if bytes > 0 {
            // SAFETY: the program lends the buffer; `bytes` fits.
            unsafe { buffer.pack(0, packet.payload.as_mut_ptr(), bytes) };
        }
        add(&self.page.counters.bytes_inline, bytes as u64);
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
        let small = bytes <= EAGER_BYTES && self.copied_aside + bytes <= self.memory;
        let aside = mode == Mode::Buffered || (small && mode != Mode::Synchronous);
        let (buffer, owned) = if aside { copy_aside(&buffer) } else { (buffer, None) };
        if owned.is_some() {
            self.copied_aside += bytes;
        }
        // The address is offered even if nothing can be read there directly:
        // the receiver knows what it can reach.
        let address = buffer.dense().map_or(0, |address| address as u64);
        if !aside && address != 0 {
            self.transport.lend(address as *const u8, bytes);
        }
        let send = Send {
            buffer,
            owned,
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

/// A copy of the data that lives as long as the send.
fn copy_aside(buffer: &Buffer) -> (Buffer, Option<Box<[u8]>>) {
    let bytes = buffer.bytes();
    let mut copy = vec![0u8; bytes as usize].into_boxed_slice();
    // SAFETY: the program lends the buffer; the copy has its length.
    unsafe { buffer.pack(0, copy.as_mut_ptr(), copy.len()) };
    (Buffer::Dense { address: copy.as_mut_ptr(), bytes }, Some(copy))
}
