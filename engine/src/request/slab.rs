//! The table of requests. An id carries a generation, so that a request used
//! after its end is an error and not somebody else's request.

use super::Status;
use crate::memory;
use crate::message::work::{Left, Work};
use crate::{Cause, Class, Error, JobRank, Result};
use std::collections::HashMap;
use std::sync::Arc;

const INDEX_BITS: u32 = 22;
/// Of the index: which lane the request is in, above its place there.
const PLACE_BITS: u32 = 20;
const GENERATIONS: u32 = 16;

/// Names a request: 22 bits of index (2 of its lane, 20 of its place), 4 bits of generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);

impl RequestId {
    #[inline]
    fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    #[inline]
    fn generation(self) -> u32 {
        self.0 >> INDEX_BITS
    }

    /// The lane that the request is in.
    #[inline]
    pub fn lane(self) -> usize {
        lane_of(self.index())
    }
}

/// The lane of a request, by its index.
#[inline]
pub fn lane_of(index: u32) -> usize {
    (index >> PLACE_BITS) as usize
}

#[inline]
fn place(index: u32) -> usize {
    (index & ((1 << PLACE_BITS) - 1)) as usize
}

/// One request.
pub struct Request {
    generation: u8,
    used: bool,
    /// The operation has ended (or a persistent request is inactive).
    pub complete: bool,
    /// A persistent request that has been started and not been completed by the
    /// program; always true for others.
    pub active: bool,
    /// Nobody will ask for it again: it goes when it completes.
    pub detached: bool,
    /// A peer may still name it, although it has ended: its place is given to nobody else.
    is_retired: bool,
    /// Can be started again.
    pub persistent: bool,
    /// Who sends what it receives, if it is a receive and that is known.
    pub sender: Option<JobRank>,
    /// How it ended.
    pub status: Status,
    /// What is being done.
    pub work: Work,
}

impl Request {
    /// Whether it is complete and has nothing special about it: its status is all that there is.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.complete && !self.persistent && self.status.error.is_none() && matches!(self.work, Work::Nothing)
    }

    #[inline]
    fn new(generation: u8, work: Work) -> Request {
        Request {
            generation,
            used: true,
            complete: false,
            active: true,
            detached: false,
            is_retired: false,
            persistent: false,
            sender: None,
            status: Status::empty(),
            work,
        }
    }
}

/// The one request that all operations share which were complete when they were
/// started and have nothing to report: it is always complete and never goes.
pub const DONE: u32 = 0;
/// Its id.
pub const DONE_ID: RequestId = RequestId(DONE);

/// All requests of a lane. Their indices have its number above.
pub struct Slab {
    /// The index of the first place.
    first: u32,
    requests: Vec<Request>,
    free: Vec<u32>,
    /// When only this many are alive, it is time to give memory back.
    give_back_at: usize,
    /// Of requests in places that were given back before and are new again.
    generation: u8,
    /// Host memory that stands for buffers of requests that were given up and are not complete.
    left: HashMap<u32, Arc<Left>>,
}

/// Memory for fewer requests than these is not worth giving back.
const KEPT: usize = 8192;
/// From so few live ones on it is tried whenever one goes.
const FEW: usize = 64;

impl Default for Slab {
    fn default() -> Self {
        Slab::new(0)
    }
}

impl Slab {
    /// The requests of a lane: none.
    pub fn new(lane: usize) -> Slab {
        let mut done = Request::new(0, Work::Nothing);
        done.complete = true;
        let first = (lane as u32) << PLACE_BITS;
        let (free, left) = (Vec::new(), HashMap::new());
        Slab { first, requests: vec![done], free, give_back_at: 0, generation: 0, left }
    }

    /// The lane whose requests these are.
    #[inline]
    pub fn lane(&self) -> usize {
        lane_of(self.first)
    }

    /// Adds a request for `work`, not complete, and returns its index.
    ///
    /// # Errors
    /// `Other` when a million requests of the lane are alive.
    #[inline(always)]
    pub fn insert(&mut self, work: Work) -> Result<u32> {
        if let Some(index) = self.free.pop() {
            let request = &mut self.requests[place(index)];
            request.used = true;
            request.complete = false;
            request.active = true;
            request.detached = false;
            request.persistent = false;
            request.sender = None;
            request.status = Status::empty();
            // Nothing is under way in a free place, so there is nothing to drop.
            debug_assert!(matches!(request.work, Work::Nothing));
            std::mem::forget(std::mem::replace(&mut request.work, work));
            return Ok(index);
        }
        self.grow(work)
    }

    #[cold]
    fn grow(&mut self, work: Work) -> Result<u32> {
        let place = self.requests.len();
        if place >= 1 << PLACE_BITS {
            let message =
                format!("{place} requests are alive at once, the most there can be; complete some of them");
            return Err(Error::new(Class::Other, message));
        }
        self.requests.push(Request::new(self.generation, work));
        self.give_back_at = if self.requests.len() > KEPT { self.requests.len() / 4 } else { 0 };
        Ok(self.first | place as u32)
    }

    /// Gives back the places behind the last live request. What is alive may lie
    /// there, so this is tried again when fewer are.
    #[cold]
    fn give_back(&mut self) {
        let used = self
            .requests
            .iter()
            .rposition(|request| request.used || request.is_retired)
            .map_or(0, |last| last + 1);
        self.requests.truncate(used);
        self.requests.shrink_to_fit();
        self.free.retain(|&index| place(index) < used);
        self.free.shrink_to_fit();
        self.generation = ((self.generation as u32 + 1) % GENERATIONS) as u8;
        self.give_back_at = match used - self.free.len() {
            _ if used <= KEPT => 0,
            live if live > FEW => live / 2,
            live => live - 1,
        };
        memory::give_back();
    }

    /// Removes a request; its id is stale from now on ([`DONE`] stays).
    #[inline]
    pub fn remove(&mut self, index: u32) -> Status {
        if index == DONE {
            return Status::empty();
        }
        let request = &mut self[index];
        request.work = Work::Nothing;
        let status = std::mem::replace(&mut request.status, Status::empty());
        self.free(index);
        status
    }

    /// Removes a request that is done with ([`DONE`] stays).
    #[inline]
    pub fn free(&mut self, index: u32) {
        if index == DONE {
            return;
        }
        let request = &mut self[index];
        request.used = false;
        request.generation = ((request.generation as u32 + 1) % GENERATIONS) as u8;
        if request.is_retired {
            return;
        }
        self.free.push(index);
        if self.requests.len() - self.free.len() <= self.give_back_at {
            self.give_back();
        }
    }

    /// Completes a receive that was waiting in a queue, with the message that it
    /// got; a detached one goes.
    #[inline(always)]
    pub fn complete_posted(&mut self, index: u32, source: i32, tag: i32, bytes: u64) {
        let request = &mut self[index];
        request.complete = true;
        // A posted receive holds nothing that would have to be dropped.
        std::mem::forget(std::mem::replace(&mut request.work, Work::Nothing));
        (request.status.source, request.status.tag, request.status.bytes) = (source, tag, bytes);
        if request.detached {
            self.remove_detached(index);
        }
    }

    /// Keeps what operations that nobody will ask for again work on, until the last has ended.
    pub(crate) fn leave(&mut self, requests: Vec<u32>, left: Left) {
        let left = Arc::new(left);
        for index in requests {
            if !self[index].complete {
                self.left.insert(index, Arc::clone(&left));
            }
        }
    }

    /// A request ends although a peer may have begun to do something for it, and will name it: that must not meet another.
    pub fn retire(&mut self, index: u32) {
        self[index].is_retired = true;
    }

    /// Removes a request that is complete and that nobody will ask for.
    pub(crate) fn remove_detached(&mut self, index: u32) {
        if !self.left.is_empty() {
            self.left.remove(&index);
        }
        self.remove(index);
    }

    /// Whether a request with this index is alive.
    pub fn is_used(&self, index: u32) -> bool {
        self.requests.get(place(index)).is_some_and(|request| request.used)
    }

    /// The id of a live request.
    #[inline]
    pub fn id(&self, index: u32) -> RequestId {
        RequestId((self[index].generation as u32) << INDEX_BITS | index)
    }

    /// The index behind an id.
    ///
    /// # Errors
    /// `Request` when the id is stale or was never given out.
    #[inline]
    pub fn check(&self, id: RequestId) -> Result<u32> {
        match self.requests.get(place(id.index())) {
            Some(request)
                if request.used
                    && request.generation as u32 == id.generation()
                    && (id.lane() == self.lane() || id == DONE_ID) =>
            {
                Ok(id.index())
            }
            _ => Err(stale()),
        }
    }

    /// All requests, with their indices.
    pub fn each(&self) -> impl Iterator<Item = (u32, &Request)> {
        let numbered = self.requests.iter().enumerate().filter(|(_, request)| request.used);
        numbered.map(|(place, request)| (self.first | place as u32, request))
    }

    /// Whether something is under way in one of these contexts.
    pub fn any_in(&self, contexts: &[u64]) -> bool {
        self.requests.iter().any(|request| match &request.work {
            Work::Send(send) => contexts.contains(&send.context),
            Work::Receive(receive) => contexts.contains(&receive.wanted.context),
            Work::Posted(context) | Work::Placed(context) => contexts.contains(context),
            Work::Collective(collective) => contexts.contains(&collective.communicator.context()),
            _ => false,
        })
    }

    /// Whether an operation that nobody will ask for again is under way.
    pub fn any_detached(&self) -> bool {
        self.requests.iter().any(|request| request.used && request.detached && !request.complete)
    }
}

#[cold]
fn stale() -> Error {
    Error::because(Class::Request, Cause::RequestIsOver)
}

impl std::ops::Index<u32> for Slab {
    type Output = Request;
    #[inline]
    fn index(&self, index: u32) -> &Request {
        &self.requests[place(index)]
    }
}

impl std::ops::IndexMut<u32> for Slab {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Request {
        &mut self.requests[place(index)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_request_that_a_peer_may_still_name_is_given_to_nobody() {
        let mut slab = Slab::default();
        let given_up = slab.insert(Work::Nothing).unwrap();
        slab.retire(given_up);
        slab.remove(given_up);
        let others: Vec<u32> = (0..2 * KEPT).map(|_| slab.insert(Work::Nothing).unwrap()).collect();
        assert!(!slab.is_used(given_up) && !others.contains(&given_up));
        others.into_iter().for_each(|index| drop(slab.remove(index)));
        assert!(slab.requests.len() > given_up as usize && !slab.free.contains(&given_up));
    }

    #[test]
    fn a_burst_gives_its_places_back_and_old_ids_stay_stale() {
        let mut slab = Slab::default();
        let lasting = slab.insert(Work::Nothing).unwrap();
        let lasting = slab.id(lasting);
        let burst: Vec<u32> = (0..100_000).map(|_| slab.insert(Work::Nothing).unwrap()).collect();
        let ids: Vec<RequestId> = burst.iter().map(|&index| slab.id(index)).collect();
        burst.into_iter().for_each(|index| drop(slab.remove(index)));
        assert!(slab.requests.capacity() <= KEPT, "{} places are left", slab.requests.capacity());
        assert!(slab.check(lasting).is_ok());
        for _ in 0..100_000 {
            slab.insert(Work::Nothing).unwrap();
        }
        assert!(ids.into_iter().all(|id| slab.check(id).is_err()));
    }
}
