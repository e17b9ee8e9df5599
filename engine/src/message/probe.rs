//! Probing (MPI-5.0 §3.8): looking at a message before receiving it, and taking
//! it out of the queue so that nobody else receives it.

use super::letter::count_received;
use super::receive::unpack;
use super::unexpected::{Found, Unexpected};
use super::wire::{Envelope, HELD};
use super::work::{Receive, Work};
use super::{matching, Buffer};
use crate::core::Core;
use crate::request::Status;
use crate::transport::{Arrival, Offers, Packet, Packets};
use crate::Result;

/// A message taken by a matched probe, to be received by its holder alone.
#[derive(Clone, Debug)]
pub struct Message {
    context: u64,
    unexpected: Unexpected,
}

impl Message {
    /// The context in which it was sent.
    pub fn context(&self) -> u64 {
        self.context
    }

    /// What a receive of it will report.
    pub fn status(&self) -> Status {
        status(&self.unexpected)
    }
}

fn status(message: &Unexpected) -> Status {
    Status { source: message.source, tag: message.tag, bytes: message.found.bytes(), ..Status::empty() }
}

impl Core {
    /// The next message in the mailbox, if it comes within so many looks and is the one wanted. It stays where it is, so
    /// a receive finds it there. `None`, and nothing is changed, in all other cases.
    #[inline]
    pub(crate) fn probe_at_once(&mut self, wanted: Envelope, looks: u32) -> Option<Status> {
        self.next_wanted(wanted, looks).map(|(_, message)| status(&message))
    }

    /// The same, taken out of the mailbox.
    #[inline]
    pub(crate) fn take_message_at_once(&mut self, wanted: Envelope, looks: u32) -> Option<Message> {
        let (arrival, message) = self.next_wanted(wanted, looks)?;
        let unexpected = Unexpected { found: message.found.keep(self.transport.as_mut()), ..message };
        self.transport.advance(&arrival);
        self.count_kept(&unexpected.found);
        Some(Message { context: wanted.context, unexpected })
    }

    /// The next packet and its message, if that is wanted and cannot be withdrawn.
    fn next_wanted(&mut self, wanted: Envelope, looks: u32) -> Option<(Arrival, Unexpected)> {
        let arrival = self.look_for_packet(looks)?;
        let Envelope { context, source, tag } = Envelope::of(arrival.header);
        let found = Found::of(&arrival).filter(|found| found.offered().is_none())?;
        let fits = context == wanted.context && matching::accepts(wanted.source, wanted.tag, source, tag);
        fits.then_some((arrival, Unexpected { source, tag, found }))
    }

    /// The message that a receive would get now.
    pub(crate) fn probe(&mut self, wanted: Envelope) -> Option<Status> {
        self.drop_withdrawn();
        self.matching.peek_unexpected(wanted).map(status)
    }

    /// Takes that message.
    ///
    /// # Errors
    /// What sending a packet reports.
    pub(crate) fn take_message(&mut self, wanted: Envelope) -> Result<Option<Message>> {
        let Some(unexpected) = self.take_unexpected(wanted) else { return Ok(None) };
        let told = match unexpected.found.offered() {
            Some(ticket) => self.post(ticket.peer, &Packet::with(HELD, [0; 2], &ticket.request)).map(drop),
            None => Ok(()),
        };
        self.transport.end_taking();
        told.map(|()| Some(Message { context: wanted.context, unexpected }))
    }

    /// Receives a message that has come before, if all of it is here and fits.
    #[inline]
    pub(crate) fn receive_kept(&mut self, wanted: Envelope, buffer: &Buffer) -> Option<Status> {
        if self.matching.unexpected() == 0 {
            return None;
        }
        let found = &self.matching.peek_unexpected(wanted)?.found;
        if found.offered().is_some() || !wanted.fits(found.bytes(), buffer.bytes()) {
            return None;
        }
        let unexpected = self.matching.take_unexpected(wanted)?;
        self.told.1.tell(&self.page.counters.unexpected_now, self.matching.unexpected());
        self.receive_taken(Message { context: wanted.context, unexpected }, buffer).ok()
    }

    /// Receives a taken message at once, if it is all here and fits; gives it back else.
    #[inline]
    pub(crate) fn receive_taken(
        &mut self,
        message: Message,
        buffer: &Buffer,
    ) -> std::result::Result<Status, Message> {
        let Unexpected { source, tag, found } = &message.unexpected;
        let bytes = found.bytes();
        if found.offered().is_some() || bytes > buffer.bytes() {
            return Err(message);
        }
        buffer.will_be_written(bytes);
        // SAFETY: the program lends the buffer, and the message fits.
        let unpacked = unsafe { unpack(self.transport.as_mut(), buffer, found, bytes as usize) };
        self.let_go(found);
        count_received(self.counters, bytes);
        Ok(Status { source: *source, tag: *tag, bytes, error: unpacked.err(), ..Status::empty() })
    }

    /// Starts receiving a taken message.
    pub(crate) fn start_matched_receive(&mut self, message: Message, buffer: Buffer) -> Result<u32> {
        let (source, tag) = (message.unexpected.source, message.unexpected.tag);
        let wanted = Envelope { context: message.context, source, tag };
        let request = self.requests.insert(Work::Receive(Receive::new(wanted, buffer)))?;
        self.deliver_unexpected(request, message.unexpected)?;
        Ok(request)
    }
}
