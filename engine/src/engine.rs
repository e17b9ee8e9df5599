//! The engine as the faces see it: one per process.
//!
//! Every blocking call of any face ends in [`Engine::wait_until`], the only
//! loop that waits, and it drives everything that is under way.

use crate::collective::Schedule;
use crate::core::{Calling, Core, Outside};
use crate::job::{cpus, Job};
use crate::message::probe::Message;
use crate::message::work::{Recipe, Work};
use crate::message::{Buffer, Envelope, Mode};
use crate::observe::{Page, State};
use crate::progress::lock::Guard;
use crate::progress::wait::Pace;
use crate::progress::{lock::EngineLock, Doorbell};
use crate::request::{RequestId, Status};
use crate::transport::node::NodeTransport;
use crate::transport::{Means, Transport};
use crate::world::{Communicator, Contexts};
use crate::Result;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// The engine of this process.
pub struct Engine {
    core: EngineLock<Core>,
    job: &'static Job,
    page: &'static Page,
    doorbell: &'static Doorbell,
    oversubscribed: bool,
    /// Threads of this process that sleep in a wait.
    sleepers: AtomicU32,
    contexts: Contexts,
}

impl Engine {
    /// Finds the job and joins it. Once per process; what it makes lives until
    /// the process ends, because peers may still read it.
    ///
    /// # Errors
    /// As [`Job::start`], and `NoMem`.
    pub fn start() -> Result<Engine> {
        Engine::join(Box::leak(Box::new(Job::start()?)))
    }

    /// Joins a job that has been found.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn join(job: &'static Job) -> Result<Engine> {
        let best = if std::env::var_os("SERRIED_COPY").is_some_and(|value| value == "cells") {
            Means::Cells
        } else {
            Means::CrossMemory
        };
        Engine::join_with(job, best)
    }

    /// Joins a job, with no better means of copying than `best`.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn join_with(job: &'static Job, best: Means) -> Result<Engine> {
        let mut transport = NodeTransport::attach(&job.node, job.local_rank)?;
        transport.limit_means(best);
        let doorbell: *const Doorbell = transport.doorbell();
        // SAFETY: the doorbell lies in the node segment, which lives for ever.
        let doorbell: &'static Doorbell = unsafe { &*doorbell };
        let oversubscribed = job.node.local_ranks() as usize > cpus::usable();
        let page = job.page();
        let core = Core::new(Box::new(transport), page, job.rank, oversubscribed);
        let core = EngineLock::new(core, false);
        page.set_state(State::Running);
        Ok(Engine {
            core,
            job,
            page,
            doorbell,
            oversubscribed,
            sleepers: AtomicU32::new(0),
            contexts: Contexts::new(job.rank),
        })
    }

    /// From now on several threads may call at once.
    pub fn set_threaded(&self) {
        self.core.set_threaded();
    }

    /// The job.
    pub fn job(&self) -> &'static Job {
        self.job
    }

    /// Rank in the job.
    pub fn rank(&self) -> u32 {
        self.job.rank
    }

    /// Ranks in the job.
    pub fn size(&self) -> u32 {
        self.job.size
    }

    /// This rank's page.
    pub fn page(&self) -> &'static Page {
        self.page
    }

    /// Publishes the names that call numbers on the page stand for.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn publish_names(&self, names: &[&str]) -> Result<()> {
        self.job.node.publish_names(names)
    }

    /// Ends the job with `code`; `message` and its empty form are as for [`Job::abort`].
    pub fn abort(&self, code: i32, message: &str) -> ! {
        self.job.abort(code, message)
    }

    /// Completes everything that the program has left to the engine, and tells
    /// the launcher that this rank's end is no failure from now on. Waits for no
    /// other rank unless a message of ours still has to leave.
    ///
    /// # Errors
    /// What progress reports; `Other` when the launcher has gone.
    pub fn finalize(&self) -> Result<()> {
        self.flush()?;
        self.job.finish()
    }

    /// Waits until every message that was left to the engine has been taken.
    ///
    /// # Errors
    /// What progress reports.
    pub fn flush(&self) -> Result<()> {
        self.wait_until(|core| core.quiet().then_some(()))
    }

    /// Drives everything until `ready` says so.
    ///
    /// # Errors
    /// A broken protocol; never the failure of an operation.
    #[inline]
    pub(crate) fn wait_until<T>(&self, mut ready: impl FnMut(&mut Core) -> Option<T>) -> Result<T> {
        let mut pace = Pace::new(self.oversubscribed);
        loop {
            let mut core = self.core.lock();
            self.drive(&mut core)?;
            if let Some(value) = ready(&mut core) {
                drop(core);
                pace.end(self.page);
                return Ok(value);
            }
            if let Some(outside) = core.next_outside() {
                drop(core);
                self.run_outside(outside);
                continue;
            }
            let (arrivals, epoch) = (core.transport.arrivals(), core.epoch);
            drop(core);
            if pace.spin(&arrivals) {
                continue;
            }
            pace.begin_sleep(self.page);
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            self.doorbell.sleep_unless(
                || {
                    let core = self.core.lock();
                    core.transport.arrivals().any() || core.epoch != epoch || !core.calls.is_empty()
                },
                Some(Pace::LONGEST_SLEEP),
            );
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Progress, and other threads told of it.
    #[inline]
    fn drive(&self, core: &mut Guard<'_, Core>) -> Result<()> {
        let before = core.epoch;
        core.progress()?;
        if core.epoch != before && self.sleepers.load(Ordering::SeqCst) > 0 {
            core.transport.ring_self();
        }
        Ok(())
    }

    fn run_outside(&self, outside: Outside) {
        match outside {
            Outside::Call(calling) => self.run_call(calling),
            Outside::Background(work) => self.run_background(work),
        }
    }

    /// Runs the program's code that a collective waits for, with no lock held.
    fn run_call(&self, calling: Calling) {
        // SAFETY: the collective waits for this call, and so keeps its buffers.
        unsafe { calling.call.run() };
        let mut core = self.core.lock();
        core.called_back(calling.request);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            core.transport.ring_self();
        }
    }

    /// Progress without waiting, then `ready` once.
    fn look<T>(&self, ready: impl FnOnce(&mut Core) -> T) -> Result<T> {
        loop {
            let mut core = self.core.lock();
            self.drive(&mut core)?;
            match core.next_outside() {
                Some(outside) => {
                    drop(core);
                    self.run_outside(outside);
                }
                None => return Ok(ready(&mut core)),
            }
        }
    }
}

/// Messages. Ranks are job ranks here, contexts come from communicators; faces
/// have checked the arguments. The caller keeps buffers alive until completion.
impl Engine {
    /// Sends and waits until the buffer may be reused.
    ///
    /// # Errors
    /// What went wrong on the way.
    #[inline]
    pub fn send(&self, peer: u32, envelope: Envelope, buffer: Buffer, mode: Mode) -> Result<()> {
        let started = self.core.lock().start_send(peer, envelope, buffer, mode)?;
        match started {
            Some(request) => into_result(self.wait_for_index(request)?).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Starts sending.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_send(&self, peer: u32, envelope: Envelope, buffer: Buffer, mode: Mode) -> Result<RequestId> {
        let mut core = self.core.lock();
        match core.start_send(peer, envelope, buffer, mode)? {
            Some(request) => Ok(core.requests.id(request)),
            None => completed(&mut core, Status::empty()),
        }
    }

    /// Receives and waits for it; the failure of the operation is in the status.
    ///
    /// # Errors
    /// What went wrong on the way.
    #[inline]
    pub fn receive(&self, wanted: Envelope, buffer: Buffer) -> Result<Status> {
        let request = {
            let mut core = self.core.lock();
            self.drive(&mut core)?;
            core.start_receive(wanted, buffer)?
        };
        self.wait_for_index(request)
    }

    /// Starts receiving.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_receive(&self, wanted: Envelope, buffer: Buffer) -> Result<RequestId> {
        let mut core = self.core.lock();
        self.drive(&mut core)?;
        let request = core.start_receive(wanted, buffer)?;
        Ok(core.requests.id(request))
    }

    /// A request that is complete already with `status` (null process).
    ///
    /// # Errors
    /// When no request can be made.
    pub fn completed(&self, status: Status) -> Result<RequestId> {
        completed(&mut self.core.lock(), status)
    }

    /// What a receive would get, if it is there.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn try_probe(&self, wanted: Envelope) -> Result<Option<Status>> {
        self.look(|core| core.probe(wanted))
    }

    /// What a receive would get, as soon as it is there.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn probe(&self, wanted: Envelope) -> Result<Status> {
        self.wait_until(|core| core.probe(wanted))
    }

    /// Takes the message that a receive would get, if it is there.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn try_take_message(&self, wanted: Envelope) -> Result<Option<Message>> {
        self.look(|core| core.take_message(wanted))
    }

    /// Takes the message that a receive would get, as soon as it is there.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn take_message(&self, wanted: Envelope) -> Result<Message> {
        self.wait_until(|core| core.take_message(wanted))
    }

    /// Starts receiving a message taken before.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_matched_receive(&self, message: Message, buffer: Buffer) -> Result<RequestId> {
        let mut core = self.core.lock();
        let request = core.start_matched_receive(message, buffer)?;
        Ok(core.requests.id(request))
    }
}

/// Collectives.
impl Engine {
    /// Runs a collective to its end.
    ///
    /// # Errors
    /// The failure of the operation.
    pub fn run_collective(&self, communicator: &Arc<Communicator>, schedule: Schedule) -> Result<()> {
        let request = {
            let mut core = self.core.lock();
            self.drive(&mut core)?;
            core.start_collective(communicator, schedule, None)?
        };
        into_result(self.wait_for_index(request)?).map(|_| ())
    }

    /// Starts a collective.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_collective(
        &self,
        communicator: &Arc<Communicator>,
        schedule: Schedule,
    ) -> Result<RequestId> {
        let mut core = self.core.lock();
        self.drive(&mut core)?;
        let request = core.start_collective(communicator, schedule, None)?;
        Ok(core.requests.id(request))
    }

    /// Makes a persistent collective, to be started any number of times.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn persistent_collective(
        &self,
        communicator: &Arc<Communicator>,
        schedule: Schedule,
    ) -> Result<RequestId> {
        self.persistent(Recipe::Collective {
            schedule: Some(schedule),
            communicator: Arc::clone(communicator),
        })
    }
}

/// Requests.
impl Engine {
    /// Makes a persistent request.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn persistent(&self, recipe: Recipe) -> Result<RequestId> {
        let mut core = self.core.lock();
        let request = core.add_persistent(recipe)?;
        Ok(core.requests.id(request))
    }

    /// Starts a persistent request.
    ///
    /// # Errors
    /// `Request` when it is none or is active.
    pub fn start_persistent(&self, id: RequestId) -> Result<()> {
        let mut core = self.core.lock();
        let request = core.requests.check(id)?;
        core.start_persistent(request)
    }

    /// Waits for a request; it goes, or becomes inactive if it is persistent.
    ///
    /// # Errors
    /// `Request` for a stale id. The failure of the operation is in the status.
    pub fn wait(&self, id: RequestId) -> Result<Status> {
        let request = self.core.lock().requests.check(id)?;
        self.wait_for_index(request)
    }

    #[inline]
    fn wait_for_index(&self, request: u32) -> Result<Status> {
        self.wait_until(|core| core.settled(request).then(|| core.collect(request)))
    }

    /// As [`Engine::wait`] if the request is complete, else `None`.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn test(&self, id: RequestId) -> Result<Option<Status>> {
        let request = self.core.lock().requests.check(id)?;
        self.look(|core| core.settled(request).then(|| core.collect(request)))
    }

    /// The status of a request that is complete; the request stays.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn status(&self, id: RequestId) -> Result<Option<Status>> {
        let request = self.core.lock().requests.check(id)?;
        self.look(|core| core.settled(request).then(|| core.look(request)))
    }

    /// Whether each of `ids` is complete, after one round of progress; with
    /// `wait`, not before one of them is.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn settled(&self, ids: &[RequestId], wait: bool) -> Result<Vec<bool>> {
        let requests: Vec<u32> = {
            let core = self.core.lock();
            ids.iter().map(|&id| core.requests.check(id)).collect::<Result<_>>()?
        };
        let mut settled = vec![false; requests.len()];
        let mut look = |core: &mut Core| {
            settled
                .iter_mut()
                .zip(&requests)
                .for_each(|(settled, &request)| *settled = core.settled(request));
            settled.iter().any(|&settled| settled)
        };
        if wait {
            self.wait_until(|core| look(core).then_some(()))?;
        } else {
            self.look(look)?;
        }
        Ok(settled)
    }

    /// Whether the request is persistent and inactive, so that waiting for it
    /// reports an empty status at once.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn inactive(&self, id: RequestId) -> Result<bool> {
        let core = self.core.lock();
        let request = core.requests.check(id)?;
        Ok(core.requests[request].persistent && !core.requests[request].active)
    }

    /// Whether the request is persistent.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn is_persistent(&self, id: RequestId) -> Result<bool> {
        let core = self.core.lock();
        let request = core.requests.check(id)?;
        Ok(core.requests[request].persistent)
    }

    /// Asks for cancellation (MPI-5.0 §3.8.4); the request still has to be
    /// completed.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn cancel(&self, id: RequestId) -> Result<()> {
        let mut core = self.core.lock();
        let request = core.requests.check(id)?;
        core.cancel(request);
        Ok(())
    }

    /// Gives a request up; what it does goes on.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn release(&self, id: RequestId) -> Result<()> {
        let mut core = self.core.lock();
        let request = core.requests.check(id)?;
        core.release(request);
        Ok(())
    }

    /// One request for a receive and a send, which go into it.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn both(&self, receive: RequestId, send: RequestId) -> Result<RequestId> {
        let mut core = self.core.lock();
        let (receive, send) = (core.requests.check(receive)?, core.requests.check(send)?);
        let request = core.requests.insert(Work::Both { receive, send })?;
        Ok(core.requests.id(request))
    }

    /// Makes a request that the program completes itself (MPI-5.0 §13.2).
    ///
    /// # Errors
    /// When no request can be made.
    pub fn generalized(&self) -> Result<RequestId> {
        let mut core = self.core.lock();
        let request = core.requests.insert(Work::Generalized)?;
        Ok(core.requests.id(request))
    }

    /// Completes a request made by [`Engine::generalized`].
    ///
    /// # Errors
    /// `Request` for a stale id or another kind of request.
    pub fn complete_generalized(&self, id: RequestId) -> Result<()> {
        let mut core = self.core.lock();
        let request = core.requests.check(id)?;
        if !matches!(core.requests[request].work, Work::Generalized) {
            return Err(crate::Error::new(crate::Class::Request, "the request is no generalized request"));
        }
        core.complete(request);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            core.transport.ring_self();
        }
        Ok(())
    }

    /// Forgets the contexts of a communicator that was freed.
    pub fn retire(&self, context: u64) {
        let mut core = self.core.lock();
        core.matching.retire(context);
        core.matching.retire(context + 1);
    }
}

fn completed(core: &mut Core, status: Status) -> Result<RequestId> {
    let request = core.requests.insert(Work::Nothing)?;
    core.requests[request].status = status;
    core.complete(request);
    Ok(core.requests.id(request))
}

fn into_result(status: Status) -> Result<Status> {
    match status.error {
        Some(error) => Err(error),
        None => Ok(status),
    }
}

mod background;
mod exchange;
#[cfg(test)]
mod tests;
