//! Receiving: a message and a receive have found each other, or have not yet.

use super::matching::{self, Found, Unexpected};
use super::wire::{self, Envelope};
use super::work::{Receive, Work};
use super::Buffer;
use crate::core::Core;
use crate::observe::page::add;
use crate::request::Status;
use crate::transport::{Transport, LETTER_BYTES};
use crate::{Class, Error, Result};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;

/// Messages of several lines are kept up to this many bytes; then senders leave
/// them in their cells.
const KEPT_BYTES: u64 = 1 << 20;

/// Looks for a packet without a pause between them: some microseconds.
const EAGER_LOOKS: u32 = 400;

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

    /// A message has arrived.
    #[inline]
    pub(crate) fn arrived(&mut self, envelope: Envelope, found: Found) -> Result<()> {
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
        let found = found.keep();
        if let Found::Kept(payload) = &found {
            self.kept += payload.len() as u64;
            if self.kept > KEPT_BYTES {
                self.transport.take_long_letters(false);
            }
        }
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
        let request = &mut self.requests[index];
        let Work::Receive(receive) = &mut request.work else {
            return Err(Error::new(Class::Intern, "a message was matched with a request that is no receive"));
        };
        let (bytes, room) = (found.bytes(), receive.buffer.bytes());
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
        if let Found::Offer(offer) = found {
            return self.accept(index, offer, taken);
        }
        // SAFETY: the program lends the buffer; `taken` fits both.
        unsafe { unpack(self.transport.as_mut(), &receive.buffer, &found, taken as usize) };
        if let Found::Kept(payload) = &found {
            self.kept -= payload.len() as u64;
            if self.kept < KEPT_BYTES / 2 {
                self.transport.take_long_letters(true);
            }
        }
        self.complete(index);
        Ok(())
    }

    /// Receives without a request, if nothing but waiting is left to do: looks
    /// for the message at most `looks` times, the first of them without a pause.
    /// `None` if the next packet is something else, which stays where it is, or
    /// none came.
    #[inline]
    pub(crate) fn receive_at_once(
        &mut self,
        wanted: Envelope,
        buffer: &Buffer,
        looks: u32,
    ) -> Result<Option<Status>> {
        for look in 0..looks {
            let Some(arrival) = self.transport.peek() else {
                if look > EAGER_LOOKS {
                    std::hint::spin_loop();
                }
                continue;
            };
            let envelope = Envelope::of(arrival.header);
            let fits = arrival.kind == wire::INLINE
                && arrival.bytes as u64 <= buffer.bytes()
                && envelope.context == wanted.context
                && matching::accepts(wanted.source, wanted.tag, envelope.source, envelope.tag);
            if !fits {
                // It may be one for others, the message itself in another
                // form, or the start of other work: the long way.
                return Ok(None);
            }
            // SAFETY: the program lends the buffer, and the message fits.
            unsafe {
                unpack(self.transport.as_mut(), buffer, &Found::Inline(arrival), arrival.bytes as usize);
            }
            self.transport.advance(&arrival);
            add(&self.page.counters.messages_received, 1);
            add(&self.page.counters.bytes_received, arrival.bytes as u64);
            let (source, tag, bytes) = (envelope.source, envelope.tag, arrival.bytes as u64);
            return Ok(Some(Status { source, tag, bytes, ..Status::empty() }));
        }
        Ok(None)
    }

    /// Whether a receive that matches the next message in the mailbox would be
    /// the first to match it, and nothing but messages is under way.
    #[inline]
    pub(crate) fn may_receive_at_once(&mut self, context: u64) -> bool {
        self.matching.unexpected() == 0
            && self.matching.none_posted(context)
            && self.outbox.is_empty()
            && self.streams.is_empty()
            && self.collectives.is_empty()
            && self.background.is_empty()
    }
}

/// Copies the first `taken` bytes of a message that is in a packet or a cell.
///
/// # Safety
/// The buffer must be writable; neither it nor the message may be shorter.
#[inline]
unsafe fn unpack(transport: &mut impl Transport, buffer: &Buffer, found: &Found, taken: usize) {
    // SAFETY: by the caller, in each branch.
    unsafe {
        match found {
            Found::Inline(arrival) => match buffer.dense() {
                Some(address) => arrival.copy_to(address, taken),
                None => {
                    let mut packed = [MaybeUninit::<u8>::uninit(); LETTER_BYTES];
                    arrival.copy_to(packed.as_mut_ptr().cast(), taken);
                    buffer.unpack(0, packed.as_ptr().cast(), taken);
                }
            },
            Found::Short { payload, .. } => buffer.unpack(0, payload.as_ptr(), taken),
            Found::Kept(payload) => buffer.unpack(0, payload.as_ptr(), taken),
            Found::InCell(message) => {
                buffer.unpack(0, transport.cell_address(message.cell), taken);
                transport.give_back(message.cell);
            }
            Found::Offer(_) => {}
        }
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
