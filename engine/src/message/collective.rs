//! Collective operations over messages: drives their schedules.

use super::progress_sources;
use super::turn::Turn;
use super::wire::Envelope;
use super::work::{Collective, Recipe, Work};
use super::{Buffer, Mode};
use crate::collective::multicast::Said;
use crate::collective::{Advance, Data, Port, Schedule, Ticket};
use crate::core::{Calling, Core};
use crate::observe::page::add;
use crate::transport::LONG_LETTER_BYTES;
use crate::world::Communicator;
use crate::{Class, Error, Result};
use std::sync::Arc;

/// The ticket of an operation that was complete at once.
const COMPLETE: Ticket = 0;

/// The collective context of one communicator.
struct ContextPort<'a> {
    core: &'a mut Core,
    communicator: &'a Communicator,
    /// How often to look for a message that may be waited for.
    looks: u32,
}

impl ContextPort<'_> {
    fn envelope(&self, source: u32, tag: i32) -> Envelope {
        Envelope { context: self.communicator.context() + 1, source: source as i32, tag }
    }
}

impl Port for ContextPort<'_> {
    fn send(&mut self, peer: u32, tag: i32, data: &Data) -> Result<Ticket> {
        let envelope = self.envelope(self.communicator.rank, tag);
        let peer = self.communicator.peers().job_rank(peer);
        let buffer = Buffer::new(data.address, data.count, &data.datatype);
        let request = self.core.start_send(peer, envelope, buffer, Mode::Standard)?;
        Ok(request.map_or(COMPLETE, |request| request as Ticket + 1))
    }

    fn receive(&mut self, peer: u32, tag: i32, data: &Data) -> Result<Ticket> {
        let buffer = Buffer::new(data.address, data.count, &data.datatype);
        let request = self.core.start_receive(self.envelope(peer, tag), buffer)?;
        Ok(request as Ticket + 1)
    }

    fn send_at_once(&mut self, peer: u32, tag: i32, data: &Data) -> bool {
        let envelope = self.envelope(self.communicator.rank, tag);
        let peer = self.communicator.peers().job_rank(peer);
        let short = data.dense().filter(|&(_, bytes)| bytes <= LONG_LETTER_BYTES as u64);
        short.is_some_and(|(address, bytes)| {
            self.core.send_now(peer, envelope, address, bytes as usize).unwrap_or(false)
        })
    }

    fn receive_at_once(&mut self, peer: u32, tag: i32, data: &Data, may_wait: bool) -> bool {
        let wanted = self.envelope(peer, tag);
        let looks = if may_wait { self.looks } else { 1 };
        let Some((address, room)) = data.dense() else { return false };
        if self.core.may_receive_at_once(wanted.context) {
            return self.core.take_letter(wanted, address, room, looks).is_some();
        }
        // A message whose sender has died while it copied is lost; the receive that follows hears of the failure.
        self.core
            .receive_kept(wanted, &Buffer::Dense { address, bytes: room })
            .is_some_and(|status| status.error.is_none())
    }

    fn say(&mut self, peer: u32, epoch: u32, said: &Said) -> Result<bool> {
        let peer = self.communicator.peers().job_rank(peer);
        self.core.say_in_group(peer, self.communicator.context(), epoch, said)
    }

    fn done(&mut self, ticket: Ticket) -> Result<bool> {
        if ticket == COMPLETE {
            return Ok(true);
        }
        let request = (ticket - 1) as u32;
        if !self.core.requests[request].complete {
            return Ok(false);
        }
        match self.core.requests.remove(request).error {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }
}

impl Core {
    /// Does the first steps of a collective that goes by messages, as far as they can be done at once; whether it is
    /// complete then.
    pub(crate) fn begin_at_once(
        &mut self,
        communicator: &Communicator,
        schedule: &mut Schedule,
        tag: i32,
        looks: u32,
    ) -> bool {
        schedule.begin(&mut ContextPort { core: self, communicator, looks }, tag)
    }

    /// Starts a collective on `communicator`; `persistent` is the request that
    /// gets the schedule back.
    pub(crate) fn start_collective(
        &mut self,
        communicator: Arc<Communicator>,
        schedule: Schedule,
        turn: Turn,
        persistent: Option<u32>,
    ) -> Result<u32> {
        add(&self.counters.collectives, 1);
        self.start_uncounted(communicator, schedule, turn, persistent)
    }

    /// The same of one that has been counted.
    pub(crate) fn start_uncounted(
        &mut self,
        communicator: Arc<Communicator>,
        schedule: Schedule,
        turn: Turn,
        persistent: Option<u32>,
    ) -> Result<u32> {
        let collective = Collective { schedule, communicator, turn, calling: false, persistent };
        let request = self.requests.insert(Work::Collective(Box::new(collective)))?;
        self.begin_collective(request);
        Ok(request)
    }

    /// Begins with the messages of a request's collective.
    pub(super) fn begin_collective(&mut self, request: u32) {
        if self.advance_collective(request) {
            self.collectives.push(request);
            self.flags.raise(progress_sources::COLLECTIVES);
        }
    }

    /// Advances all collectives until nothing changes.
    pub(crate) fn advance_collectives(&mut self) {
        while self.collectives_seen != self.epoch {
            self.collectives_seen = self.epoch;
            let mut under_way = std::mem::take(&mut self.collectives);
            under_way.retain(|&request| self.advance_collective(request));
            under_way.append(&mut self.collectives);
            self.collectives = under_way;
        }
    }

    /// Advances one; `false` when it is over.
    fn advance_collective(&mut self, index: u32) -> bool {
        let Work::Collective(mut collective) =
            std::mem::replace(&mut self.requests[index].work, Work::Nothing)
        else {
            return false;
        };
        if collective.calling {
            self.requests[index].work = Work::Collective(collective);
            return true;
        }
        let communicator = Arc::clone(&collective.communicator);
        let mut port = ContextPort { core: self, communicator: &communicator, looks: 1 };
        let advanced = collective.schedule.advance(&mut port, collective.turn.tag);
        match advanced {
            Ok(Advance::Pending) => {
                self.requests[index].work = Work::Collective(collective);
                true
            }
            Ok(Advance::Call(call)) => {
                collective.calling = true;
                self.requests[index].work = Work::Collective(collective);
                self.calls.push_back(Calling { request: index, call });
                true
            }
            Ok(Advance::Done) => {
                if let Err(error) = self.all_were_fetched(&communicator, collective.turn) {
                    self.requests[index].status.error = Some(error.in_context(communicator.context()));
                }
                self.end_collective(index, *collective);
                false
            }
            Err(error) => {
                let error = self.of_collective(error, &communicator, collective.turn);
                self.requests[index].status.error = Some(error.in_context(communicator.context()));
                self.end_collective(index, *collective);
                false
            }
        }
    }

    /// An error in the messages of a collective, told as that of the collective.
    #[cold]
    fn of_collective(&self, error: Error, communicator: &Communicator, turn: Turn) -> Error {
        if error.class() != Class::Truncate {
            return error;
        }
        let call = self.job.node.name(turn.call.name).unwrap_or_else(|| "a collective operation".into());
        let call = call.strip_suffix("_c").unwrap_or(&call);
        let on = match communicator.name() {
            name if name.is_empty() => "its communicator".into(),
            name => name,
        };
        let sentence = format!(
            "in {call} (collective operation number {} on {on}) {}; the ranks call different operations, or call them in \
             different orders, or give counts and types that do not match (SERRIED_CHECK=1 tells which)",
            turn.call.number,
            error.message()
        );
        Error::new(Class::Truncate, sentence)
    }

    /// A persistent collective gets its schedule back.
    fn end_collective(&mut self, index: u32, mut collective: Collective) {
        if let Some(owner) = collective.persistent {
            if let Work::Persistent(persistent) = &mut self.requests[owner].work {
                if let Recipe::Collective { schedule, .. } = &mut persistent.recipe {
                    collective.schedule.reset();
                    *schedule = Some(collective.schedule);
                }
            }
        }
        self.complete(index);
    }

    /// The call of the program's code that collective `index` waited for has
    /// been run.
    pub(crate) fn called_back(&mut self, index: u32) {
        if let Work::Collective(collective) = &mut self.requests[index].work {
            collective.calling = false;
            collective.schedule.called_back();
        }
        self.epoch += 1;
        self.advance_collectives();
    }
}
