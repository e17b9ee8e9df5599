//! Cancelling (MPI-5.0 §3.8.4): a receive that has not been matched is withdrawn, and so is a message
//! that is still with its sender, or that its sender waits for; all else completes. Whatever becomes
//! of it, waiting for it then waits for no other rank.
//!
//! Only where the system has no barrier for all processes, or more is withdrawn at once than a list
//! holds, or the receiver cannot tell because nobody takes its packets, its answer is waited for.

use super::partitioned::wrong;
use super::unexpected::{Found, Unexpected};
use super::wire::{Envelope, Offer, Ticket, OFFER, WITHDRAW, WITHDRAWN};
use super::work::{Send, Work};
use crate::core::Core;
use crate::device::stand_ins;
use crate::transport::{Offers, Packet, Packets, Payloads};
use crate::{Class, Result};

/// Rounds of progress in which all packets are read that are here.
const ROUNDS: u32 = 64;

impl Core {
    /// Marks a request for cancellation.
    ///
    /// # Errors
    /// What progress reports; `Request` for an active partitioned operation (MPI-5.0 §4.2).
    pub(crate) fn cancel(&mut self, index: u32) -> Result<()> {
        if self.requests[index].active && self.is_partitioned(index) {
            return Err(wrong(
                Class::Request,
                "an active partitioned operation cannot be cancelled; complete it",
            ));
        }
        let target = match &self.requests[index].work {
            Work::Persistent(persistent) => match persistent.running {
                Some(running) => running,
                None => return Ok(()),
            },
            Work::Both { receive, .. } => *receive,
            Work::WithHostCopies(with) => return self.cancel(with.request),
            _ => index,
        };
        if self.requests[target].complete {
            return Ok(());
        }
        let context = match &self.requests[target].work {
            Work::Receive(receive) => receive.wanted.context,
            Work::Posted(context) => *context,
            Work::Send(_) => return self.withdraw(target),
            Work::Nothing => {
                if self.unsend(target) {
                    self.cancelled(target);
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if self.matching.withdraw(context, target) {
            self.cancelled(target);
        }
        Ok(())
    }

    fn cancelled(&mut self, index: u32) {
        self.requests[index].status.cancelled = true;
        self.complete(index);
    }

    /// Withdraws a message, if its receiver has not taken it.
    fn withdraw(&mut self, index: u32) -> Result<()> {
        if self.unsend(index) {
            self.cancelled(index);
            return Ok(());
        }
        self.read_all()?;
        let Work::Send(send) = &self.requests[index].work else { return Ok(()) };
        let peer = send.peer;
        if send.in_doubt || send.is_taken() {
            return self.leave_stream(index);
        }
        if peer == self.rank {
            let is_it = |message: &Unexpected| is_of(message, Ticket { peer, request: index });
            if let Some(message) = self.matching.remove_unexpected(is_it) {
                self.drop_message(message);
                self.cancelled(index);
            }
            return Ok(());
        }
        let is_settled = self.transport.withdraw(peer, index)?;
        // By now all is here that the peer has told before, unless it waits for room.
        let is_sure = is_settled && !self.transport.shows_waiting(peer);
        self.read_all()?;
        let Some(send) = self.requests[index].work.as_untaken() else {
            self.transport.offer_again(peer, index);
            return self.leave_stream(index);
        };
        send.in_doubt = !is_sure;
        if !is_settled {
            self.unanswered.insert(index);
        }
        let ticket = Ticket { peer: self.name_for(peer), request: index };
        self.post(peer, &Packet::with(WITHDRAW, [0; 2], &ticket))?;
        if is_sure {
            self.cancelled(index);
        }
        Ok(())
    }

    /// A peer knows of a message that it is withdrawn. Had it taken it, it would have said so before.
    pub(crate) fn peer_knows(&mut self, ticket: Ticket) {
        self.transport.end_withdrawal(ticket.peer, ticket.request);
        self.unanswered.remove(&ticket.request);
        if self.has(ticket.request) && self.requests.is_used(ticket.request) {
            let send = self.requests[ticket.request].work.as_untaken();
            if send.is_some_and(|send| send.in_doubt) {
                self.cancelled(ticket.request);
            }
        }
    }

    /// Reads all packets that are here.
    fn read_all(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            if self.transport.peek().is_none() {
                break;
            }
            self.progress(None)?;
        }
        Ok(())
    }

    /// A message that is being streamed goes on from a copy, alone.
    fn leave_stream(&mut self, index: u32) -> Result<()> {
        if !matches!(&self.requests[index].work, Work::Send(send) if send.wanted > 0) {
            return Ok(());
        }
        let Work::Send(mut send) = std::mem::replace(&mut self.requests[index].work, Work::Nothing) else {
            return Ok(());
        };
        if send.owned.is_none() {
            send.from_device = None;
            if let Some(address) = send.buffer.dense() {
                // SAFETY: the program lends the buffer until this call returns.
                unsafe { stand_ins::fill(address, send.buffer.bytes())? };
            }
            (send.buffer, send.owned) = self.set_aside(&send.buffer);
        }
        let alone = self.requests.insert(Work::Send(send))?;
        self.requests[alone].detached = true;
        self.streams.iter_mut().filter(|stream| **stream == index).for_each(|stream| *stream = alone);
        self.complete(index);
        Ok(())
    }

    /// The receiver has a message of ours in hand.
    pub(crate) fn held(&mut self, request: u32) {
        if let Work::Send(send) = &mut self.requests[request].work {
            send.taken = true;
        }
    }

    /// A peer has withdrawn a message. It came before this packet, so it lies here, or it was found
    /// to be withdrawn when somebody wanted to take it.
    pub(crate) fn peer_withdraws(&mut self, ticket: Ticket) -> Result<()> {
        if let Some(message) = self.matching.remove_unexpected(|message| is_of(message, ticket)) {
            self.drop_message(message);
        }
        self.transport.forget_withdrawn(ticket.peer, ticket.request);
        let answer = Ticket { peer: self.name_for(ticket.peer), request: ticket.request };
        self.post(ticket.peer, &Packet::with(WITHDRAWN, [0; 2], &answer)).map(drop)
    }

    /// Takes the first message that a receive accepts, and that has not been withdrawn. The taking
    /// has to be ended.
    #[inline]
    pub(super) fn take_unexpected(&mut self, wanted: Envelope) -> Option<Unexpected> {
        loop {
            let message = self.matching.take_unexpected(wanted)?;
            match message.found.offered() {
                Some(ticket) if !self.transport.begin_taking(ticket.peer, ticket.request) => {
                    self.drop_message(message);
                }
                _ => return Some(message),
            }
        }
    }

    /// Drops messages that have been withdrawn, so that nobody is told of them.
    #[inline]
    pub(super) fn drop_withdrawn(&mut self) {
        while self.transport.any_withdrawn() {
            let transport = &self.transport;
            let is_it = |message: &Unexpected| {
                let ticket = message.found.offered();
                ticket.is_some_and(|ticket| transport.is_withdrawn(ticket.peer, ticket.request))
            };
            let Some(message) = self.matching.remove_unexpected(is_it) else { return };
            self.drop_message(message);
        }
    }

    fn drop_message(&mut self, message: Unexpected) {
        self.let_go(&message.found);
        if let Found::RetainedAwaited(_, retained) = message.found {
            self.transport.release(retained);
        }
        self.told.1.tell(&self.page.counters.unexpected_now, self.matching.unexpected());
    }

    /// Whether a receiver may still speak of a number as one that is withdrawn. A send that got it now could
    /// be taken for the one that had it before.
    #[inline]
    pub(super) fn awaits_word(&self, number: u32) -> bool {
        self.transport.awaits_word(number) || self.unanswered.contains(&number)
    }

    /// Moves a send to a request with a number that its receiver does not know as withdrawn.
    #[cold]
    pub(super) fn with_another_number(&mut self, request: u32) -> Result<u32> {
        let (mut number, mut unusable) = (request, Vec::new());
        while self.awaits_word(number) {
            let work = std::mem::replace(&mut self.requests[number].work, Work::Nothing);
            unusable.push(number);
            number = self.requests.insert(work)?;
        }
        unusable.into_iter().for_each(|number| self.requests.free(number));
        Ok(number)
    }
}

fn is_of(message: &Unexpected, ticket: Ticket) -> bool {
    let is_it = |offered: Ticket| (offered.peer, offered.request) == (ticket.peer, ticket.request);
    message.found.offered().is_some_and(is_it)
}

impl Send {
    /// Whether its receiver has begun with it.
    fn is_taken(&self) -> bool {
        self.taken || self.wanted > 0
    }
}

impl Work {
    /// A send whose receiver has not begun with it, as far as is known here.
    fn as_untaken(&mut self) -> Option<&mut Send> {
        match self {
            Work::Send(send) if !send.is_taken() => Some(send),
            _ => None,
        }
    }
}

impl Packet {
    /// Whether it offers the message of a request.
    pub(crate) fn offers(&self, request: u32) -> bool {
        self.kind == OFFER && self.read::<Offer>().request == request
    }
}
