//! Probing (MPI-5.0 §3.8): looking at a message before receiving it, and taking
//! it out of the queue so that nobody else receives it.

use super::unexpected::Unexpected;
use super::wire::{Envelope, HELD};
use super::work::{Receive, Work};
use super::Buffer;
use crate::core::Core;
use crate::request::Status;
use crate::transport::{Offers, Packet};
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

    /// Starts receiving a taken message.
    pub(crate) fn start_matched_receive(&mut self, message: Message, buffer: Buffer) -> Result<u32> {
        let (source, tag) = (message.unexpected.source, message.unexpected.tag);
        let wanted = Envelope { context: message.context, source, tag };
        let request = self.requests.insert(Work::Receive(Receive::new(wanted, buffer)))?;
        self.deliver_unexpected(request, message.unexpected)?;
        Ok(request)
    }
}
