//! Receiving: a message and a receive have found each other, or have not yet.

use super::matching::{Found, Unexpected};
use super::wire::{Envelope, InCell, Offer};
use super::work::{Receive, Work};
use super::Buffer;
use crate::core::Core;
use crate::observe::page::add;
use crate::transport::Packet;
use crate::{Class, Error, Result};
use std::sync::atomic::Ordering::Relaxed;

impl Core {
    /// Starts a receive.
    #[inline]
    pub(crate) fn start_receive(&mut self, wanted: Envelope, buffer: Buffer) -> Result<u32> {
        let receive = Receive { buffer, wanted, expected: 0, received: 0, block: None };
        let request = self.requests.insert(Work::Receive(receive))?;
        match self.matching.take_unexpected(wanted) {
            Some(message) => self.deliver_unexpected(request, message)?,
            None => self.matching.post(wanted, request),
        }
        Ok(request)
    }

    /// Gives a message that has been waiting to a receive.
    pub(crate) fn deliver_unexpected(&mut self, request: u32, message: Unexpected) -> Result<()> {
        self.page.counters.unexpected_now.store(self.matching.unexpected(), Relaxed);
        self.deliver(request, message.source, message.tag, message.found)
    }

    #[inline]
    pub(crate) fn arrived_inline(&mut self, packet: &Packet) -> Result<()> {
        let found = Found::Inline { length: packet.length, payload: packet.payload };
        self.arrived(Envelope::of(packet), found)
    }

    #[inline]
    pub(crate) fn arrived_in_cell(&mut self, packet: &Packet) -> Result<()> {
        self.arrived(Envelope::of(packet), Found::InCell(packet.read::<InCell>()))
    }

    pub(crate) fn arrived_offer(&mut self, packet: &Packet) -> Result<()> {
        self.arrived(Envelope::of(packet), Found::Offer(packet.read::<Offer>()))
    }

    #[inline]
    fn arrived(&mut self, envelope: Envelope, found: Found) -> Result<()> {
        match self.matching.take_posted(envelope) {
            Some(request) => self.deliver(request, envelope.source, envelope.tag, found),
            None => {
                self.keep(envelope, found);
                Ok(())
            }
        }
    }

    #[cold]
    fn keep(&mut self, envelope: Envelope, found: Found) {
        self.matching
            .keep(envelope.context, Unexpected { source: envelope.source, tag: envelope.tag, found });
        self.epoch += 1; // a probe may wait for it
        let now = self.matching.unexpected();
        let counters = &self.page.counters;
        counters.unexpected_now.store(now, Relaxed);
        if now > counters.unexpected_peak.load(Relaxed) {
            counters.unexpected_peak.store(now, Relaxed);
        }
    }

    #[inline]
    fn deliver(&mut self, index: u32, source: i32, tag: i32, found: Found) -> Result<()> {
        let bytes = found.bytes();
        let request = &mut self.requests[index];
        let Work::Receive(receive) = &mut request.work else {
            return Err(Error::new(Class::Intern, "a message was matched with a request that is no receive"));
        };
        let room = receive.buffer.bytes();
        let taken = bytes.min(room);
        request.status.source = source;
        request.status.tag = tag;
        request.status.bytes = taken;
        if bytes > room {
            request.status.error =
                Some(truncated(source, tag, bytes, room).in_context(receive.wanted.context));
        }
        add(&self.page.counters.messages_received, 1);
        add(&self.page.counters.bytes_received, taken);
        match found {
            Found::Inline { payload, .. } => {
                if taken > 0 {
                    // SAFETY: the program lends the buffer; `taken` fits both.
                    unsafe { receive.buffer.unpack(0, payload.as_ptr(), taken as usize) };
                }
                self.complete(index);
            }
            Found::InCell(message) => {
                let source = self.transport.cell_address(message.cell);
                // SAFETY: the cell is ours to read until given back.
                unsafe { receive.buffer.unpack(0, source, taken as usize) };
                self.transport.give_back(message.cell);
                self.complete(index);
            }
            Found::Offer(offer) => self.accept(index, offer, taken)?,
        }
        Ok(())
    }
}

#[cold]
fn truncated(source: i32, tag: i32, bytes: u64, room: u64) -> Error {
    let message = format!(
        "the message from rank {source} with tag {tag} has {bytes} bytes, but the receive buffer has room for {room}; \
         the rest is lost"
    );
    Error::new(Class::Truncate, message)
}
