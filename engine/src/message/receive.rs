//! Receiving: a message and a receive have found each other, or have not yet.

use super::letter::count_received;
use super::matching::{self, Posted};
use super::unexpected::{Found, Unexpected};
use super::wire::{self, Envelope};
use super::work::{Receive, Work};
use super::Buffer;
use crate::core::Core;
use crate::device::stand_ins;
use crate::observe::events::{self, Kind};
use crate::request::Status;
use crate::transport::{Arrival, Offers, Packets, Payloads, Retained, LONG_LETTER_BYTES};
use crate::{Class, Error, Result};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// Messages of several lines are kept up to this many bytes; then senders keep
/// them in memory of theirs.
const KEPT_BYTES: u64 = 1 << 20;

impl Core {
    /// Starts a receive.
    #[inline]
    pub(crate) fn start_receive(&mut self, wanted: Envelope, buffer: Buffer) -> Result<u32> {
        match buffer {
            Buffer::Dense { address, bytes } if stand_ins::at(address).is_none() => {
                return self.start_block_receive(wanted, address, bytes);
            }
            _ => {}
        }
        let request = self.requests.insert(Work::Receive(Receive::new(wanted, buffer)))?;
        match self.take_unexpected(wanted) {
            Some(message) => self.deliver_unexpected(request, message)?,
            None => self.matching.post(wanted.context, Posted::new(wanted, request)),
        }
        Ok(request)
    }

    /// Starts a receive into a block.
    #[inline(always)]
    pub(crate) fn start_block_receive(
        &mut self,
        wanted: Envelope,
        address: *mut u8,
        bytes: u64,
    ) -> Result<u32> {
        let request = self.requests.insert(Work::Posted(wanted.context))?;
        let target = if bytes == 0 { NonNull::dangling().as_ptr() } else { address };
        let posted = Posted { target, room: bytes, ..Posted::new(wanted, request) };
        if self.matching.unexpected() == 0 || !self.give_unexpected(wanted, posted)? {
            self.matching.post(wanted.context, posted);
        }
        Ok(request)
    }

    /// Gives a receive a message that has come before it, if there is one.
    #[inline(never)]
    fn give_unexpected(&mut self, wanted: Envelope, posted: Posted) -> Result<bool> {
        let Some(message) = self.take_unexpected(wanted) else { return Ok(false) };
        self.take_out(wanted.context, posted);
        self.deliver_unexpected(posted.request, message)?;
        Ok(true)
    }

    /// Gives a request that was posted with its block all that was known there.
    fn take_out(&mut self, context: u64, posted: Posted) {
        if posted.target.is_null() {
            return;
        }
        let wanted = Envelope { context, source: posted.source, tag: posted.tag };
        let buffer = Buffer::Dense { address: posted.target, bytes: posted.room };
        self.requests[posted.request].work = Work::Receive(Receive::new(wanted, buffer));
    }

    /// Gives a message in a packet to the receive that was posted first, if that
    /// takes it and all else is as usual: most are of this sort.
    #[inline(always)]
    pub(crate) fn deliver_letter(&mut self, arrival: &Arrival) -> bool {
        let bytes = u64::from(arrival.bytes);
        if arrival.kind != wire::INLINE {
            return false;
        }
        let envelope = Envelope::of(arrival.header);
        let Some(posted) = self.matching.take_first_block(envelope, bytes) else { return false };
        // SAFETY: the program lends the block, and the message fits.
        unsafe { arrival.copy_to(posted.target, bytes as usize) };
        count_received(self.counters, bytes);
        self.epoch += 1;
        self.requests.complete_posted(posted.request, envelope.source, envelope.tag, bytes);
        true
    }

    /// Gives a message that has been waiting to a receive.
    pub(crate) fn deliver_unexpected(&mut self, request: u32, message: Unexpected) -> Result<()> {
        self.told.1.tell(&self.page.counters.unexpected_now, self.matching.unexpected());
        let is_offered = message.found.offered().is_some();
        let delivered = self.deliver(request, message.source, message.tag, message.found);
        if is_offered {
            self.transport.end_taking();
        }
        delivered
    }

    /// A message has arrived.
    #[inline]
    pub(crate) fn arrived(&mut self, envelope: Envelope, mut found: Found) -> Result<()> {
        let Some(mut ticket) = found.offered() else { return self.given(envelope, found) };
        ticket.peer = self.sender(ticket.peer);
        found.is_from(ticket.peer);
        if !self.transport.begin_taking(ticket.peer, ticket.request) {
            return Ok(());
        }
        let given = self.given(envelope, found);
        self.transport.end_taking();
        given
    }

    /// A message that has arrived goes to its receive, or is kept.
    #[inline]
    fn given(&mut self, envelope: Envelope, found: Found) -> Result<()> {
        match self.matching.take_posted(envelope) {
            Some(posted) => {
                self.take_out(envelope.context, posted);
                self.deliver(posted.request, envelope.source, envelope.tag, found)
            }
            None => self.keep(envelope, found),
        }
    }

    #[cold]
    fn keep(&mut self, envelope: Envelope, found: Found) -> Result<()> {
        let bytes = found.bytes();
        let found = found.keep(self.transport.as_mut());
        self.count_kept(&found);
        self.matching
            .keep(envelope.context, Unexpected { source: envelope.source, tag: envelope.tag, found });
        self.epoch += 1; // a probe may wait for it
        let counters = &self.page.counters;
        self.told.1.tell(&counters.unexpected_now, self.matching.unexpected());
        let now = counters.unexpected_now.load(Relaxed);
        if now > counters.unexpected_peak.load(Relaxed) {
            counters.unexpected_peak.store(now, Relaxed);
        }
        if now > events::UNEXPECTED_SINCE.load(Relaxed) {
            events::UNEXPECTED_SINCE.store(now, Relaxed);
        }
        events::raise(Kind::Unexpected, [envelope.source as u64, envelope.tag as u64, bytes, now]);
        Ok(())
    }

    /// A message is kept: beyond some bytes, senders keep the next ones.
    pub(super) fn count_kept(&mut self, found: &Found) {
        if found.kept_bytes() > 0 {
            self.kept += found.kept_bytes();
            self.told.0.tell(&self.page.memory.kept, self.kept);
            if self.kept > KEPT_BYTES {
                self.transport.take_long_letters(false);
            }
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
        let wanted = receive.wanted;
        if !wanted.fits(bytes, room) {
            let error = match wanted.is_of_collective() {
                true => other_than_expected(source, bytes, room),
                false => truncated(source, tag, bytes, room),
            };
            request.status.error = Some(error.in_context(wanted.context));
        }
        count_received(self.counters, taken);
        if let Found::Offer(offer) = found {
            return self.accept(index, offer, taken);
        }
        receive.buffer.will_be_written(taken);
        // SAFETY: the program lends the buffer; `taken` fits both.
        let mut unpack =
            || unsafe { unpack(self.transport.as_mut(), &receive.buffer, &found, taken as usize) };
        let unpacked = match found {
            Found::Long(_) | Found::Retained(_) | Found::RetainedAwaited(..) => self.page.copying(unpack),
            _ => unpack(),
        };
        if let Err(error) = unpacked {
            request.status.error = Some(error);
        }
        self.let_go(&found);
        self.complete(index);
        self.tell_sender(&found)
    }

    /// A message that was kept is kept no more.
    #[inline]
    pub(super) fn let_go(&mut self, found: &Found) {
        if found.kept_bytes() > 0 {
            self.kept -= found.kept_bytes();
            self.told.0.tell(&self.page.memory.kept, self.kept);
            if self.kept < KEPT_BYTES / 2 {
                self.transport.take_long_letters(true);
            }
        }
    }

    /// Tells the sender of a message that has been taken, if it waits for that.
    #[inline]
    fn tell_sender(&mut self, found: &Found) -> Result<()> {
        found.ticket().map_or(Ok(()), |ticket| self.finish(ticket.peer, ticket.request))
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
        let arrival = self.look_for_packet(looks);
        arrival.map_or(Ok(None), |arrival| self.take_at_once(&arrival, wanted, buffer))
    }

    /// The same of a message in a packet, looking once. A longer one is left for the wait: the program may want to send
    /// before it waits, and its peer would wait for that longer.
    #[inline]
    pub(crate) fn receive_short_at_once(
        &mut self,
        wanted: Envelope,
        buffer: &Buffer,
    ) -> Result<Option<Status>> {
        match self.look_for_packet(1) {
            Some(arrival) if arrival.kind == wire::INLINE && !arrival.is_long => {
                self.take_at_once(&arrival, wanted, buffer)
            }
            _ => Ok(None),
        }
    }

    /// Takes the message in a packet that was looked at, if it is the one wanted
    /// and all of it can be had now.
    #[inline]
    fn take_at_once(
        &mut self,
        arrival: &Arrival,
        wanted: Envelope,
        buffer: &Buffer,
    ) -> Result<Option<Status>> {
        let envelope = Envelope::of(arrival.header);
        let (source, tag) = (envelope.source, envelope.tag);
        let Some(found) = Found::of(arrival) else { return Ok(None) };
        let bytes = found.bytes();
        if bytes > buffer.bytes()
            || envelope.context != wanted.context
            || !matching::accepts(wanted.source, wanted.tag, source, tag)
        {
            return Ok(None);
        }
        let offered = found.offered();
        if offered.is_some_and(|ticket| !self.transport.begin_taking(ticket.peer, ticket.request)) {
            self.transport.advance(arrival);
            return Ok(None);
        }
        let taken = self.take_whole(arrival, &found, buffer);
        if offered.is_some() {
            self.transport.end_taking();
        }
        if !taken? {
            return Ok(None);
        }
        count_received(self.counters, bytes);
        Ok(Some(Status { source, tag, bytes, ..Status::empty() }))
    }

    /// Takes a message out of a packet that was looked at, or from where its packet says; `false`
    /// if it cannot be had at once.
    #[inline]
    fn take_whole(&mut self, arrival: &Arrival, found: &Found, buffer: &Buffer) -> Result<bool> {
        if let Found::Offer(offer) = found {
            if !buffer.dense().is_some_and(|target| self.read_at_once(offer, target)) {
                return Ok(false);
            }
            buffer.will_be_written(found.bytes());
            self.transport.advance(arrival);
            self.finish(offer.peer, offer.request)?;
        } else {
            buffer.will_be_written(found.bytes());
            // SAFETY: the program lends the buffer, and the message fits.
            let unpacked = unsafe { unpack(self.transport.as_mut(), buffer, found, found.bytes() as usize) };
            self.transport.advance(arrival);
            unpacked?;
            self.tell_sender(found)?;
        }
        Ok(true)
    }

    /// Whether a receive that matches the next message in the mailbox would be
    /// the first to match it, and nothing but messages is under way.
    #[inline]
    pub(crate) fn may_receive_at_once(&mut self, context: u64) -> bool {
        self.matching.unexpected() == 0
            && self.matching.none_posted(context)
            && !self.flags.any()
            && self.background.is_empty()
    }
}

/// Copies the first `taken` bytes of a message that a packet has brought.
///
/// # Errors
/// Its sender has died while it copied the message.
///
/// # Safety
/// The buffer must be writable; neither it nor the message may be shorter.
#[inline]
pub(super) unsafe fn unpack(
    transport: &mut impl Payloads,
    buffer: &Buffer,
    found: &Found,
    taken: usize,
) -> Result<()> {
    // SAFETY: by the caller, in each branch.
    unsafe {
        match found {
            Found::Inline(arrival) | Found::Awaited(_, arrival) if !arrival.is_long => match buffer.dense() {
                Some(address) => arrival.copy_to(address, taken),
                None => unpack_letter(arrival, buffer, taken),
            },
            Found::Inline(arrival) | Found::Awaited(_, arrival) | Found::Long(arrival) => {
                let message = (arrival.payload(), arrival.bytes as usize);
                return unpack_parts(transport, (buffer, 0), (None, found.head()), message, taken);
            }
            Found::Short { payload, .. } => buffer.unpack(0, payload.as_ptr(), taken),
            Found::Kept(payload) => buffer.unpack(0, payload.as_ptr(), taken),
            Found::KeptAwaited(awaited) => buffer.unpack(0, awaited.1.as_ptr(), taken),
            Found::Retained(retained) | Found::RetainedAwaited(_, retained) => {
                let message = (retained.payload, retained.bytes as usize);
                let which = (Some(retained), found.head());
                let unpacked = unpack_parts(transport, (buffer, 0), which, message, taken);
                transport.release(*retained);
                return unpacked;
            }
            Found::Offer(_) => {}
        }
    }
    Ok(())
}

/// Copies a message, or a part of one, in a long payload, behind its head, whose sender may still be copying it, to where its
/// bytes from `at` on go in a buffer.
///
/// # Errors
/// As [`unpack`].
///
/// # Safety
/// As [`unpack`].
#[inline]
pub(super) unsafe fn unpack_parts(
    transport: &mut impl Payloads,
    (buffer, at): (&Buffer, u64),
    (retained, head): (Option<&Retained>, usize),
    (message, bytes): (*const u8, usize),
    taken: usize,
) -> Result<()> {
    let (all, mut done) = ((message.wrapping_sub(head), head + bytes), 0);
    while done < taken {
        let (part, there) = transport.part(retained, all, head + done)?;
        let there = there.min(taken - done);
        // SAFETY: by the caller, and so much of the payload is there.
        unsafe { buffer.unpack(at + done as u64, part, there) };
        done += there;
    }
    Ok(())
}

/// # Safety
/// As for [`unpack`].
#[inline(never)]
unsafe fn unpack_letter(arrival: &Arrival, buffer: &Buffer, taken: usize) {
    let mut packed = [MaybeUninit::<u8>::uninit(); LONG_LETTER_BYTES];
    // SAFETY: by the caller; no letter is longer.
    unsafe {
        arrival.copy_to(packed.as_mut_ptr().cast(), taken);
        buffer.unpack(0, packed.as_ptr().cast(), taken);
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

/// Of a message of a collective: whose it is stands in the error of that.
#[cold]
fn other_than_expected(source: i32, bytes: u64, room: u64) -> Error {
    let message = format!("rank {source} has sent {bytes} bytes where this rank expects {room}");
    Error::new(Class::Truncate, message)
}
