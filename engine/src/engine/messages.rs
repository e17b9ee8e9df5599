//! Messages, as the faces start them.

use super::reason::Reason;
use super::{completed, into_result, Engine};
use crate::core::Core;
use crate::message::letter::Taken;
use crate::message::probe::Message;
use crate::message::{Buffer, Envelope, Mode};
use crate::observe::{events, Page};
use crate::progress::wait::waits_long;
use crate::request::{RequestId, Status, DONE};
use crate::{Class, Error, JobRank, Result};

/// Messages. Ranks are job ranks here, contexts come from communicators; faces
/// have checked the arguments. The caller keeps buffers alive until completion.
impl Engine {
    /// Sends a block that fits a packet the short way; `false`, and nothing is
    /// done, if there is no room for one now. Not for synchronous sends.
    ///
    /// # Errors
    /// What went wrong on the way.
    #[inline(always)]
    pub fn send_letter(
        &self,
        peer: JobRank,
        envelope: Envelope,
        address: *const u8,
        bytes: usize,
    ) -> Result<bool> {
        self.lane(envelope.context).lock().send_now(peer, envelope, address, bytes)
    }

    /// Receives into a block with room for `room` bytes the short way, without a
    /// request: a message that comes in a packet, and soon. `None`, and nothing is
    /// done, in all other cases. `peer` is who sends, if that is known; `page` is this
    /// rank's, as the face has it at hand.
    #[inline(always)]
    pub fn receive_letter(
        &self,
        wanted: Envelope,
        peer: Option<JobRank>,
        address: *mut u8,
        room: u64,
    ) -> Option<Taken> {
        let mut core = self.lane(wanted.context).lock();
        self.crowd.wait_for(|| self.page_of(peer?));
        if !core.may_receive_at_once(wanted.context) {
            return None;
        }
        if self.is_threaded() {
            self.turn(&mut core);
        }
        core.take_letter(wanted, address, room, self.looks())
    }

    /// The page of a peer, if it is on this node.
    pub(super) fn page_of(&self, peer: JobRank) -> Option<&'static Page> {
        self.job.local(peer).map(|local| self.job.node.page(local.0))
    }

    /// Starts receiving into a block with room for `room` bytes. `peer` is who sends, if that is known.
    ///
    /// # Errors
    /// When no request can be made.
    #[inline(always)]
    pub fn start_block_receive(
        &self,
        wanted: Envelope,
        peer: Option<JobRank>,
        address: *mut u8,
        room: u64,
    ) -> Result<RequestId> {
        let mut core = self.lane(wanted.context).lock();
        if core.may_receive_at_once(wanted.context) {
            if let Some(taken) = core.take_letter(wanted, address, room, 1) {
                return core.taken(taken);
            }
        }
        // Other packets stay where they are, or they would have to be kept: they may well be for
        // the receives that are started next.
        let request = core.start_block_receive(wanted, address, room)?;
        core.requests[request].sender = peer;
        Ok(core.requests.id(request))
    }

    /// Sends and waits until the buffer may be reused.
    ///
    /// # Errors
    /// What went wrong on the way.
    pub fn send(&self, peer: JobRank, envelope: Envelope, buffer: Buffer, mode: Mode) -> Result<()> {
        let blocking = if mode == Mode::Standard { Mode::Blocking } else { mode };
        let started = self.lane(envelope.context).lock().start_send(peer, envelope, buffer, blocking)?;
        match started {
            Some(request) => self.wait_for_send(peer, request),
            None => Ok(()),
        }
    }

    /// Waits for a send, but not for a receiver that cannot come to it because
    /// it waits for something else.
    fn wait_for_send(&self, peer: JobRank, request: u32) -> Result<()> {
        self.crowd.wait_for(|| self.page_of(peer));
        self.wait_until(self.lane_at(request), Reason::Request(request), |core| {
            if core.settled(request) {
                return Some(into_result(core.collect(request)).map(|_| ()));
            }
            core.relieve(request, || self.page_of(peer).is_some_and(waits_long)).then_some(Ok(()))
        })?
    }

    /// Starts sending.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_send(
        &self,
        peer: JobRank,
        envelope: Envelope,
        buffer: Buffer,
        mode: Mode,
    ) -> Result<RequestId> {
        let mut core = self.lane(envelope.context).lock();
        let request = core.start_send(peer, envelope, buffer, mode)?.unwrap_or(DONE);
        Ok(core.requests.id(request))
    }

    /// Receives and waits for it; the failure of the operation is in the status. A caller with a
    /// block has tried [`Engine::receive_letter`] before. `peer` is who sends, if that is known.
    ///
    /// # Errors
    /// What went wrong on the way.
    pub fn receive(&self, wanted: Envelope, peer: Option<JobRank>, buffer: Buffer) -> Result<Status> {
        self.crowd.wait_for(|| self.page_of(peer?));
        let looks = if buffer.dense().is_some() { 1 } else { self.looks() };
        let lane = self.lane(wanted.context);
        let request = {
            let mut core = lane.lock();
            if core.may_receive_at_once(wanted.context) {
                if let Some(status) = core.receive_at_once(wanted, &buffer, looks)? {
                    return Ok(status);
                }
            }
            // What has come before is taken before more is let in: a sender that is ahead would only get further.
            if let Some(status) = core.receive_kept(wanted, &buffer) {
                return Ok(status);
            }
            self.drive(&mut core)?;
            core.start_receive(wanted, buffer)?
        };
        let ended = self.wait_until(lane, Reason::Request(request), |core| {
            core.settled(request).then(|| core.collect(request))
        });
        match ended {
            Err(error) if error.class() == Class::ProcFailedPending => self.give_up(request, &error),
            ended => ended,
        }
    }

    /// A receive that the program cannot wait for again is withdrawn, unless it has just got its message.
    #[cold]
    fn give_up(&self, request: u32, error: &Error) -> Result<Status> {
        let mut core = self.lane_at(request).lock();
        core.cancel(request)?;
        let status = core.collect(request);
        match status.cancelled {
            true => Err(Error::new(Class::ProcFailed, error.message())),
            false => Ok(status),
        }
    }

    /// Starts receiving. `peer` is who sends, if that is known.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_receive(
        &self,
        wanted: Envelope,
        peer: Option<JobRank>,
        buffer: Buffer,
    ) -> Result<RequestId> {
        let mut core = self.lane(wanted.context).lock();
        if core.may_receive_at_once(wanted.context) {
            if let Some(status) = core.receive_short_at_once(wanted, &buffer)? {
                return completed(&mut core, status);
            }
        }
        let request = core.start_receive(wanted, buffer)?;
        core.requests[request].sender = peer;
        Ok(core.requests.id(request))
    }

    /// A request that is complete already with `status` (null process).
    ///
    /// # Errors
    /// When no request can be made.
    pub fn completed(&self, status: Status) -> Result<RequestId> {
        completed(&mut self.lanes.at(0).lock(), status)
    }

    /// What a receive would get, if it is there.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn try_probe(&self, wanted: Envelope) -> Result<Option<Status>> {
        if let Some(found) = self.at_once(wanted, |core| core.probe_at_once(wanted, 1)) {
            return Ok(Some(found));
        }
        let found = self.look(self.lane(wanted.context), |core| core.probe(wanted))?;
        if found.is_none() {
            self.polled(Reason::Probe(wanted))?;
        }
        Ok(found)
    }

    /// What a receive would get, as soon as it is there. `peer` is who sends, if that is known.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn probe(&self, wanted: Envelope, peer: Option<JobRank>) -> Result<Status> {
        self.crowd.wait_for(|| self.page_of(peer?));
        if let Some(found) = self.at_once(wanted, |core| core.probe_at_once(wanted, self.looks())) {
            return Ok(found);
        }
        self.wait_until(self.lane(wanted.context), Reason::Probe(wanted), |core| core.probe(wanted))
    }

    /// Takes the message that a receive would get, if it is there.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn try_take_message(&self, wanted: Envelope) -> Result<Option<Message>> {
        if let Some(taken) = self.at_once(wanted, |core| core.take_message_at_once(wanted, 1)) {
            return Ok(Some(taken));
        }
        let taken = self.look(self.lane(wanted.context), |core| core.take_message(wanted))??;
        if taken.is_none() {
            self.polled(Reason::Probe(wanted))?;
        }
        Ok(taken)
    }

    /// Takes the message that a receive would get, as soon as it is there. `peer` is who sends, if that is known.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn take_message(&self, wanted: Envelope, peer: Option<JobRank>) -> Result<Message> {
        self.crowd.wait_for(|| self.page_of(peer?));
        if let Some(taken) = self.at_once(wanted, |core| core.take_message_at_once(wanted, self.looks())) {
            return Ok(taken);
        }
        let reason = Reason::Probe(wanted);
        self.wait_until(self.lane(wanted.context), reason, |core| core.take_message(wanted).transpose())?
    }

    /// What can be had of the next packet alone, where nothing else is to be looked at first and no tool wants to hear of
    /// messages that come before their receives.
    #[inline]
    fn at_once<T>(&self, wanted: Envelope, look: impl FnOnce(&mut Core) -> Option<T>) -> Option<T> {
        if events::are_wanted(events::Kind::Unexpected) {
            return None;
        }
        let mut core = self.lane(wanted.context).lock();
        core.may_receive_at_once(wanted.context).then(|| look(&mut core)).flatten()
    }

    /// Receives a message taken before; the failure of the operation is in the status.
    ///
    /// # Errors
    /// What went wrong on the way.
    pub fn receive_taken(&self, message: Message, buffer: Buffer) -> Result<Status> {
        let (lane, taken) = (self.lane(message.context()), message);
        let taken = match lane.lock().receive_taken(taken, &buffer) {
            Ok(status) => return Ok(status),
            Err(taken) => taken,
        };
        let request = self.start_matched_receive(taken, buffer)?;
        Ok(self.wait(request)?.0)
    }

    /// Starts receiving a message taken before.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_matched_receive(&self, message: Message, buffer: Buffer) -> Result<RequestId> {
        let mut core = self.lane(message.context()).lock();
        let request = core.start_matched_receive(message, buffer)?;
        Ok(core.requests.id(request))
    }
}
