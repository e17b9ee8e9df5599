//! Requests: completing, starting again, cancelling, giving up.

use super::reason::Reason;
use super::{completed, Engine};
use crate::core::Core;
use crate::datatype::HostCopies;
use crate::message::work::{Recipe, Work};
use crate::progress::lock::EngineLock;
use crate::request::{lane_of, Ended, RequestId, Status, DONE_ID};
use crate::Result;

/// Requests.
impl Engine {
    /// Makes a persistent request.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn persistent(&self, recipe: Recipe) -> Result<RequestId> {
        let mut core = self.lane(recipe.context()).lock();
        let request = core.add_persistent(recipe)?;
        Ok(core.requests.id(request))
    }

    /// Starts a persistent request.
    ///
    /// # Errors
    /// `Request` when it is none or is active.
    pub fn start_persistent(&self, id: RequestId) -> Result<()> {
        let lane = self.lane_of(id);
        let mut core = lane.lock();
        let request = core.requests.check(id)?;
        if let Some((communicator, readers, turn)) = core.fetch_again(request) {
            drop(core);
            self.tell_readers(&communicator, &readers, turn)?;
            core = lane.lock();
        }
        core.start_persistent(request)?;
        let is_placed = core.has_later();
        drop(core);
        match is_placed {
            true => self.look(lane, |_| ()),
            false => Ok(()),
        }
    }

    /// Waits for a request; it goes (`true`), or becomes inactive if it is
    /// persistent.
    ///
    /// # Errors
    /// `Request` for a stale id. The failure of the operation is in the status.
    #[inline]
    pub fn wait(&self, id: RequestId) -> Result<(Status, bool)> {
        let (request, goes) = {
            let mut core = self.lane_of(id).lock();
            let request = core.requests.check(id)?;
            let goes = !core.requests[request].persistent;
            if core.settled(request) {
                return Ok((core.collect(request), goes));
            }
            (request, goes)
        };
        Ok((self.wait_for_index(request)?, goes))
    }

    /// From now on this rank waits for the one that a request depends on, if that is known and on this node.
    #[inline]
    pub(super) fn waits_for_peer_of(&self, lane: &EngineLock<Core>, request: u32) {
        self.crowd.wait_for(|| self.page_of(lane.lock().peer_of(request)?));
    }

    /// Waits for a request.
    #[inline]
    pub(super) fn wait_for_index(&self, request: u32) -> Result<Status> {
        let lane = self.lane_at(request);
        self.waits_for_peer_of(lane, request);
        self.wait_until(lane, Reason::Request(request), |core| {
            core.settled(request).then(|| core.collect(request))
        })
    }

    /// Ends requests that are complete and have nothing special about them, as
    /// long as `next` gives one that is: each is shown to `end`, and goes.
    #[inline(always)]
    pub fn end_plain(&self, mut next: impl FnMut() -> Option<RequestId>, mut end: impl FnMut(&Status)) {
        let mut following = next();
        while let Some(first) = following {
            let mut core = self.lane_of(first).lock();
            while let Some(id) = following.filter(|id| id.lane() == first.lane()) {
                let Ok(index) = core.requests.check(id) else { return };
                if !core.end_plain(index, &mut end) {
                    return;
                }
                following = next();
            }
        }
    }

    /// Waits for a request, and ends it if there is nothing special about it: shows its status
    /// to `end`.
    ///
    /// # Errors
    /// `Request` for a stale id.
    #[inline]
    pub fn wait_for_plain(&self, id: RequestId, mut end: impl FnMut(&Status)) -> Result<Ended> {
        let lane = self.lane_of(id);
        let request = {
            let mut core = lane.lock();
            let request = core.requests.check(id)?;
            let ended = core.end_shown(request, &mut end);
            if ended != Ended::Not || core.settled(request) {
                return Ok(ended);
            }
            request
        };
        self.waits_for_peer_of(lane, request);
        self.wait_until(lane, Reason::Request(request), |core| {
            core.settled(request).then(|| core.end_shown(request, &mut end))
        })
    }

    /// As [`Engine::wait`] if the request is complete, else `None`.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn test(&self, id: RequestId) -> Result<Option<(Status, bool)>> {
        let lane = self.lane_of(id);
        let request = lane.lock().requests.check(id)?;
        let done = self.look(lane, |core| {
            let goes = !core.requests[request].persistent;
            core.settled(request).then(|| (core.collect(request), goes))
        })?;
        if done.is_none() {
            self.polled(Reason::Id(id))?;
        }
        Ok(done)
    }

    /// As [`Engine::wait_for_plain`] if the request is complete, else `None`.
    ///
    /// # Errors
    /// `Request` for a stale id.
    #[inline]
    pub fn test_plain(&self, id: RequestId, mut end: impl FnMut(&Status)) -> Result<Option<Ended>> {
        // What is found is not handed through a closure: moving it costs a test in vain several nanoseconds, and programs that
        // compute test in vain all the time.
        let mut core = self.looked(self.lane_of(id))?;
        let request = core.requests.check(id)?;
        let ended = core.end_shown(request, &mut end);
        if ended != Ended::Not || core.settled(request) {
            return Ok(Some(ended));
        }
        drop(core);
        self.polled(Reason::Id(id)).map(|()| None)
    }

    /// The status of a request that is complete; the request stays.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn status(&self, id: RequestId) -> Result<Option<Status>> {
        let lane = self.lane_of(id);
        let request = lane.lock().requests.check(id)?;
        let status = self.look(lane, |core| core.settled(request).then(|| core.look(request)))?;
        if status.is_none() {
            self.polled(Reason::Id(id))?;
        }
        Ok(status)
    }

    /// Asks for cancellation (MPI-5.0 §3.8.4); the request still has to be
    /// completed.
    ///
    /// # Errors
    /// `Request` for a stale id; what progress reports.
    pub fn cancel(&self, id: RequestId) -> Result<()> {
        let mut core = self.lane_of(id).lock();
        let request = core.requests.check(id)?;
        let before = core.epoch;
        let cancelled = core.cancel(request);
        if core.epoch != before {
            self.rouse(&core);
        }
        cancelled
    }

    /// Gives a request up; what it does goes on.
    ///
    /// # Errors
    /// `Request` for a stale id or an active partitioned operation.
    pub fn release(&self, id: RequestId) -> Result<()> {
        let mut core = self.lane_of(id).lock();
        let request = core.requests.check(id)?;
        core.release(request)
    }

    /// One request for a receive and a send of one communicator, which go into it.
    ///
    /// # Errors
    /// `Request` for a stale id.
    pub fn both(&self, receive: RequestId, send: RequestId) -> Result<RequestId> {
        let number = receive.lane().max(send.lane());
        let (receive, send) = (self.brought(receive, number)?, self.brought(send, number)?);
        let mut core = self.lanes.at(number).lock();
        let (receive, send) = (core.requests.check(receive)?, core.requests.check(send)?);
        let request = core.requests.insert(Work::Both { receive, send })?;
        Ok(core.requests.id(request))
    }

    /// Gives a request that has just been made the host memory that stands for its buffers in device
    /// memory; the request that the program gets.
    ///
    /// # Errors
    /// When no request can be made, or the driver cannot copy.
    ///
    /// # Safety
    /// The program lends the buffers until the request is complete; each time that it is started, if it
    /// is persistent.
    #[cold]
    pub unsafe fn with_host_copies(&self, id: RequestId, copies: HostCopies) -> Result<RequestId> {
        let mut core = self.lane_of(id).lock();
        let request = core.requests.check(id)?;
        // SAFETY: by the caller.
        let request = unsafe { core.add_host_copies(request, copies)? };
        Ok(core.requests.id(request))
    }

    /// Makes a request that the program completes itself (MPI-5.0 §13.2).
    ///
    /// # Errors
    /// When no request can be made.
    pub fn generalized(&self) -> Result<RequestId> {
        let mut core = self.lanes.at(0).lock();
        let request = core.requests.insert(Work::Generalized)?;
        Ok(core.requests.id(request))
    }

    /// Completes a request made by [`Engine::generalized`].
    ///
    /// # Errors
    /// `Request` for a stale id or another kind of request.
    pub fn complete_generalized(&self, id: RequestId) -> Result<()> {
        let mut core = self.lane_of(id).lock();
        let request = core.requests.check(id)?;
        if !matches!(core.requests[request].work, Work::Generalized) {
            return Err(crate::Error::new(crate::Class::Request, "the request is no generalized request"));
        }
        core.complete(request);
        self.rouse(&core);
        Ok(())
    }

    /// Forgets the contexts of a communicator that was freed.
    pub fn retire(&self, context: u64) {
        let mut core = self.lane(context).lock();
        core.matching.retire(context);
        core.matching.retire(context + 1);
        core.unfetched.forget(context);
        drop(core);
        self.collect_blocks();
    }
}

/// Requests and their lanes.
impl Engine {
    /// The lane that all requests are in, if it is one.
    pub(super) fn lane_of_all(&self, requests: &[u32]) -> Option<&EngineLock<Core>> {
        let first = requests.first().map_or(0, |&request| lane_of(request));
        requests.iter().all(|&request| lane_of(request) == first).then(|| self.lanes.at(first))
    }

    /// A request of a lane in the place of this one, which is complete (its peer is the
    /// null process) if it is in another one.
    fn brought(&self, id: RequestId, lane: usize) -> Result<RequestId> {
        if id.lane() == lane || id == DONE_ID {
            return Ok(id);
        }
        let status = {
            let mut core = self.lane_of(id).lock();
            let request = core.requests.check(id)?;
            core.collect(request)
        };
        completed(&mut self.lanes.at(lane).lock(), status)
    }
}

impl Core {
    /// Ends a request that is complete and has nothing special about it; whether it has.
    #[inline(always)]
    fn end_plain(&mut self, index: u32, end: &mut impl FnMut(&Status)) -> bool {
        let request = &self.requests[index];
        let is_plain = request.is_plain();
        if is_plain {
            end(&request.status);
            self.requests.free(index);
        }
        is_plain
    }

    /// The same, also of a persistent one.
    #[inline]
    pub(super) fn end_shown(&mut self, index: u32, end: &mut impl FnMut(&Status)) -> Ended {
        match self.end_plain(index, end) {
            true => Ended::Gone,
            false if self.end_plain_run(index, end) => Ended::Inactive,
            false => Ended::Not,
        }
    }
}
