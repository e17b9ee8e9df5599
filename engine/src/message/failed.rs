//! What waits for processes that have failed is over.
//!
//! A message that had come before its sender failed can still be received. Everything else that a failed process
//! would have to do ends with an error.
//!
//! A member of a collective may have failed after it had ended it. So others go on with it for some milliseconds, as long as
//! they wait for members that live. Then it is over at every member: no member waits for another that has given it up,
//! because each of them hears of the failure by itself.

use super::wire::{Fetched, FETCHED};
use super::work::Work;
use super::ANY_SOURCE;
use crate::core::Core;
use crate::request::Request;
use crate::transport::{RemoteMemory, Told};
use crate::{Class, Error, JobRank};

/// A communicator that processes have failed of.
pub(crate) struct Affected {
    /// Its point-to-point context; that of its collectives is the next one.
    pub(crate) context: u64,
    /// That of the communicator which the program knows: another one if this is the local part of an intercommunicator.
    pub(crate) known: u64,
    /// Those of its peers that have failed: their ranks in the communicator, and in the job.
    pub(crate) failed: Vec<(i32, JobRank)>,
    /// One that has failed, whichever group it is in; `None`: the communicator was revoked.
    pub(crate) first: Option<JobRank>,
    /// The first that the program has not acknowledged, if there is one.
    pub(crate) unknown: Option<JobRank>,
    /// Collectives go on among those that live: one has failed lately.
    pub(crate) lately: bool,
}

impl Affected {
    /// Whether a receive of this context from that rank waits for a failed process.
    fn awaits(&self, context: u64, source: i32) -> bool {
        let has_failed = || self.failed.iter().any(|&(rank, _)| rank == source);
        context & !1 == self.context && (self.ends_all_in(context) || has_failed())
    }

    /// Whether whatever is under way in a context of it is over.
    fn ends_all_in(&self, context: u64) -> bool {
        self.first.is_none() || context == self.context + 1 && !self.lately
    }

    /// Whether a request needs something of a failed process.
    fn ends(&self, request: &Request) -> bool {
        match &request.work {
            Work::Send(send) => {
                let has_failed = || self.failed.iter().any(|&(_, peer)| peer == send.peer);
                send.context & !1 == self.context && (self.ends_all_in(send.context) || has_failed())
            }
            // A receive that has its message, or a part of it.
            Work::Receive(receive) => self.awaits(receive.wanted.context, request.status.source),
            _ => false,
        }
    }

    /// The error of what is over.
    pub(crate) fn error(&self) -> Error {
        match self.first {
            Some(rank) => failed(rank).in_context(self.known),
            None => revoked(self.known),
        }
    }

    /// The error of a receive from any source, as long as the program does not know that one may not send any more.
    pub(crate) fn pending(&self) -> Option<Error> {
        let sentence = format!(
            "rank {} of the job has failed, which may be the sender; acknowledge that (MPIX_Comm_failure_ack) to \
             receive from those that are left",
            self.unknown?
        );
        Some(Error::new(Class::ProcFailedPending, sentence).in_context(self.known))
    }
}

/// A process, as people read it.
fn process(rank: JobRank) -> String {
    match rank.is_foreign() {
        false => format!("rank {rank} of the job"),
        true if rank.is_stranger() => "a process of another job".to_owned(),
        true => format!("process {} of another job", rank.0 & !JobRank::FOREIGN),
    }
}

/// The error of what a failed process should have done.
#[cold]
pub(crate) fn failed(rank: JobRank) -> Error {
    let sentence = format!(
        "{} has failed, and the job goes on without it: free or shrink the communicator, or make one of those that are \
         left",
        process(rank)
    );
    Error::new(Class::ProcFailed, sentence)
}

/// The error of a collective of an intercommunicator on whose other side nobody is left.
#[cold]
pub(crate) fn nobody(context: u64) -> Error {
    let sentence =
        "the remote group is empty: all its members have failed, and the intercommunicator was shrunk";
    Error::new(Class::ProcFailed, sentence).in_context(context)
}

/// The error of what a revoked communicator does not do any more.
#[cold]
pub fn revoked(context: u64) -> Error {
    let sentence = "the communicator was revoked: it can be shrunk, agreed on and freed, and nothing else";
    Error::new(Class::Revoked, sentence).in_context(context)
}

impl Core {
    /// Ends what waits for the failed processes of a communicator.
    pub(crate) fn end_what_waits_for(&mut self, affected: &Affected) {
        for context in [affected.context, affected.context + 1] {
            let over =
                self.matching.withdraw_those(context, |posted| affected.awaits(context, posted.source));
            over.into_iter().for_each(|request| self.complete_with(request, affected.error()));
        }
        let over: Vec<u32> =
            self.requests.each().filter(|(_, request)| affected.ends(request)).map(|(i, _)| i).collect();
        for request in over {
            self.unsend(request);
            self.forget_fetches(request);
            self.requests.retire(request);
            self.streams.retain(|&stream| stream != request);
            self.complete_with(request, affected.error());
        }
        if affected.ends_all_in(affected.context + 1) {
            self.end_later_of(affected.context, &affected.error());
        }
    }

    /// What was being fetched for a receive is not wanted any more.
    fn forget_fetches(&mut self, request: u32) {
        let Work::Receive(receive) = &self.requests[request].work else { return };
        let Some(sender) = receive.sender else { return };
        let is_for_it = |told: &Told| told.kind == FETCHED && Fetched::of(told.header).request == request;
        self.transport.forget_fetches(sender.peer, &is_for_it);
    }

    /// The error of a request that is a receive from any source in one of these communicators.
    pub(crate) fn pending_in(&self, request: u32, all: &[Affected]) -> Option<Error> {
        let context = match &self.requests[request].work {
            Work::Receive(receive) => receive.wanted.context,
            Work::Posted(context) => *context,
            Work::Persistent(persistent) => return self.pending_in(persistent.running?, all),
            Work::WithHostCopies(with) => return self.pending_in(with.request, all),
            Work::Both { receive, .. } => return self.pending_in(*receive, all),
            _ => return None,
        };
        self.matching.posted_for(context, request).filter(|posted| posted.source == ANY_SOURCE)?;
        all.iter().find(|affected| affected.context == context)?.pending()
    }
}
