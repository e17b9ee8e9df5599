//! The table of requests. An id carries a generation, so that a request used
//! after its end is an error and not somebody else's request.

use super::Status;
use crate::message::work::Work;
use crate::{Class, Error, Result};

const INDEX_BITS: u32 = 22;
const GENERATIONS: u32 = 16;

/// Names a request: 22 bits of index, 4 bits of generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);

impl RequestId {
    fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    fn generation(self) -> u32 {
        self.0 >> INDEX_BITS
    }
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
    /// Can be started again.
    pub persistent: bool,
    /// How it ended.
    pub status: Status,
    /// What is being done.
    pub work: Work,
}

impl Request {
    #[inline]
    fn new(generation: u8, work: Work) -> Request {
        Request {
            generation,
            used: true,
            complete: false,
            active: true,
            detached: false,
            persistent: false,
            status: Status::empty(),
            work,
        }
    }
}

/// The one request that all operations share which were complete when they were
/// started and have nothing to report: it is always complete and never goes.
pub const DONE: u32 = 0;

/// All requests of the process.
pub struct Slab {
    requests: Vec<Request>,
    free: Vec<u32>,
}

impl Default for Slab {
    fn default() -> Self {
        let mut done = Request::new(0, Work::Nothing);
        done.complete = true;
        Slab { requests: vec![done], free: Vec::new() }
    }
}

impl Slab {
    /// Adds a request for `work`, not complete, and returns its index.
    ///
    /// # Errors
    /// `Other` when four million requests are alive.
    #[inline]
    pub fn insert(&mut self, work: Work) -> Result<u32> {
        if let Some(index) = self.free.pop() {
            let request = &mut self.requests[index as usize];
            *request = Request::new(request.generation, work);
            return Ok(index);
        }
        self.grow(work)
    }

    #[cold]
    fn grow(&mut self, work: Work) -> Result<u32> {
        let index = self.requests.len() as u32;
        if index >= 1 << INDEX_BITS {
            let message =
                format!("{index} requests are alive at once, the most there can be; complete some of them");
            return Err(Error::new(Class::Other, message));
        }
        self.requests.push(Request::new(0, work));
        Ok(index)
    }

    /// Removes a request; its id is stale from now on ([`DONE`] stays).
    #[inline]
    pub fn remove(&mut self, index: u32) -> Status {
        if index == DONE {
            return Status::empty();
        }
        let request = &mut self.requests[index as usize];
        request.used = false;
        request.generation = ((request.generation as u32 + 1) % GENERATIONS) as u8;
        request.work = Work::Nothing;
        self.free.push(index);
        std::mem::replace(&mut request.status, Status::empty())
    }

    /// The id of a live request.
    pub fn id(&self, index: u32) -> RequestId {
        RequestId((self[index].generation as u32) << INDEX_BITS | index)
    }

    /// The index behind an id.
    ///
    /// # Errors
    /// `Request` when the id is stale or was never given out.
    #[inline]
    pub fn check(&self, id: RequestId) -> Result<u32> {
        match self.requests.get(id.index() as usize) {
            Some(request) if request.used && request.generation as u32 == id.generation() => Ok(id.index()),
            _ => Err(Error::new(
                Class::Request,
                "the request has already been completed or freed, or never was one; a completed request is MPI_REQUEST_NULL",
            )),
        }
    }

    /// Whether something is under way in one of these contexts.
    pub fn any_in(&self, contexts: &[u64]) -> bool {
        self.requests.iter().any(|request| match &request.work {
            Work::Send(send) => contexts.contains(&send.context),
            Work::Receive(receive) => contexts.contains(&receive.wanted.context),
            Work::Collective(collective) => contexts.contains(&collective.communicator.context()),
            _ => false,
        })
    }

    /// Whether an operation that nobody will ask for again is under way.
    pub fn any_detached(&self) -> bool {
        self.requests.iter().any(|request| request.used && request.detached && !request.complete)
    }
}

impl std::ops::Index<u32> for Slab {
    type Output = Request;
    #[inline]
    fn index(&self, index: u32) -> &Request {
        &self.requests[index as usize]
    }
}

impl std::ops::IndexMut<u32> for Slab {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Request {
        &mut self.requests[index as usize]
    }
}
