//! Persistent requests (MPI-5.0 §3.9, §6.12): a recipe that can be started again
//! and again, and what completes or frees any request.

use super::with_host_copies::stored;
use super::work::{Persistent, Recipe, Work};
use crate::core::Core;
use crate::datatype::HostCopies;
use crate::request::{Slab, Status};
use crate::{Class, Error, JobRank, Result};
use std::sync::Arc;

impl Core {
    /// Adds an inactive persistent request.
    pub(crate) fn add_persistent(&mut self, recipe: Recipe) -> Result<u32> {
        let persistent = Persistent { recipe, copies: HostCopies::default(), running: None };
        let index = self.requests.insert(Work::Persistent(Box::new(persistent)))?;
        self.requests[index].persistent = true;
        self.requests[index].active = false;
        Ok(index)
    }

    /// Starts a persistent request.
    pub(crate) fn start_persistent(&mut self, index: u32) -> Result<()> {
        let request = &mut self.requests[index];
        if !request.persistent {
            return Err(Error::new(Class::Request, "only a persistent request can be started"));
        }
        if request.active {
            return Err(Error::new(
                Class::Request,
                "the persistent request is active already; complete it first",
            ));
        }
        request.active = true;
        match self.run_recipe(index) {
            Ok(running) => {
                if let Work::Persistent(persistent) = &mut self.requests[index].work {
                    persistent.running = running;
                }
            }
            Err(error) => {
                self.requests[index].active = false;
                return Err(error);
            }
        }
        self.epoch += 1;
        self.advance_collectives();
        Ok(())
    }

    fn run_recipe(&mut self, index: u32) -> Result<Option<u32>> {
        let request = &mut self.requests[index];
        request.status = Status::empty();
        let Work::Persistent(persistent) = &mut request.work else {
            return Err(Error::new(Class::Request, "the request has no recipe to start"));
        };
        // Those of a collective have been fetched (`Core::fetch_again`).
        if !persistent.copies.is_empty() && !matches!(persistent.recipe, Recipe::Collective { .. }) {
            // SAFETY: the program lends the buffers from the start on.
            unsafe { persistent.copies.begin_again()? };
        }
        match &mut persistent.recipe {
            Recipe::Send { buffer, mode, envelope, peer } => {
                let (buffer, mode, envelope, peer) = (buffer.clone(), *mode, *envelope, *peer);
                self.start_send(peer, envelope, buffer, mode)
            }
            Recipe::Receive { buffer, wanted, peer } => {
                let (buffer, wanted, peer) = (buffer.clone(), *wanted, *peer);
                let running = self.start_receive(wanted, buffer)?;
                self.requests[running].sender = peer;
                Ok(Some(running))
            }
            Recipe::NullProcess { receive } => {
                if *receive {
                    request.status = Status::null_process();
                }
                Ok(None)
            }
            Recipe::Partitioned(_) => self.start_partitioned(index).map(|()| None),
            Recipe::Collective { schedule, placed, communicator, turn, starts, .. } => {
                *starts += 1;
                let (communicator, turn) = (Arc::clone(communicator), turn.of_round(*starts));
                if let Some(placed) = placed.clone() {
                    return self.start_placed(communicator, placed, turn, Some(index)).map(Some);
                }
                let Some(schedule) = schedule.take() else {
                    return Err(Error::new(Class::Request, "the persistent collective has not ended yet"));
                };
                self.start_collective(communicator, schedule, turn, Some(index)).map(Some)
            }
        }
    }

    /// Whether a request is complete (an inactive persistent one is).
    #[inline]
    pub(crate) fn settled(&self, index: u32) -> bool {
        let request = &self.requests[index];
        match &request.work {
            Work::Persistent(persistent) => match persistent.running {
                Some(running) if request.active => self.requests[running].complete,
                _ => !request.active || persistent.recipe.settled(&self.requests),
            },
            Work::Both { receive, send } => self.requests[*receive].complete && self.requests[*send].complete,
            Work::WithHostCopies(with) => self.settled_behind(with.request),
            _ => request.complete,
        }
    }

    /// The same of a request behind another one. Apart, so that all else is inlined.
    #[cold]
    fn settled_behind(&self, index: u32) -> bool {
        self.settled(index)
    }

    /// The one rank that a request waits for, if that is known.
    pub(crate) fn peer_of(&self, index: u32) -> Option<JobRank> {
        let request = &self.requests[index];
        match &request.work {
            Work::Send(send) => Some(send.peer),
            Work::Persistent(persistent) => self.peer_of(persistent.running?),
            Work::Both { receive, send } => {
                self.peer_of(if self.requests[*receive].complete { *send } else { *receive })
            }
            Work::WithHostCopies(with) => self.peer_of(with.request),
            _ => request.sender,
        }
    }

    /// Ends a run of a persistent message that is complete and has nothing special about it, whose status it shows to
    /// `end`: the request is inactive then. Whether it has.
    #[inline]
    pub(crate) fn end_plain_run(&mut self, index: u32, end: &mut impl FnMut(&Status)) -> bool {
        let request = &self.requests[index];
        let Work::Persistent(persistent) = &request.work else { return false };
        let is_message = matches!(persistent.recipe, Recipe::Send { .. } | Recipe::Receive { .. });
        if !request.active || !is_message || !persistent.copies.is_empty() {
            return false;
        }
        let running = persistent.running;
        let status = match running {
            Some(running) if !self.requests[running].is_plain() => return false,
            Some(running) => &self.requests[running].status,
            // It was complete when it was started.
            None if request.status.error.is_some() => return false,
            None => &request.status,
        };
        end(status);
        running.into_iter().for_each(|running| self.requests.free(running));
        let request = &mut self.requests[index];
        request.active = false;
        if let Work::Persistent(persistent) = &mut request.work {
            persistent.running = None;
        }
        true
    }

    /// Takes the status of a settled request. The request goes, or becomes
    /// inactive if it is persistent.
    #[inline]
    pub(crate) fn collect(&mut self, index: u32) -> Status {
        match self.requests[index].work {
            Work::Both { receive, send } => {
                self.requests.remove(index);
                let sent = self.requests.remove(send);
                return both(self.requests.remove(receive), sent.error);
            }
            Work::WithHostCopies(_) => return self.collect_with_host_copies(index),
            _ => {}
        }
        if !self.requests[index].persistent {
            return self.requests.remove(index);
        }
        let request = &mut self.requests[index];
        if !request.active {
            return Status::empty();
        }
        request.active = false;
        let status = std::mem::replace(&mut request.status, Status::empty());
        let Work::Persistent(persistent) = &mut request.work else { return status };
        let status = match persistent.running.take() {
            Some(running) => self.requests.remove(running),
            None if matches!(persistent.recipe, Recipe::Partitioned(_)) => self.end_round(index),
            None => status,
        };
        match &self.requests[index].work {
            Work::Persistent(persistent) if !persistent.copies.is_empty() => {
                stored(&persistent.copies, status)
            }
            _ => status,
        }
    }

    /// Ends a round of a partitioned operation.
    #[cold]
    fn end_round(&mut self, index: u32) -> Status {
        let mut work = std::mem::replace(&mut self.requests[index].work, Work::Nothing);
        let status = match &mut work {
            Work::Persistent(persistent) => match &mut persistent.recipe {
                Recipe::Partitioned(partitioned) => partitioned.end_round(&mut self.requests),
                _ => Status::empty(),
            },
            _ => Status::empty(),
        };
        self.requests[index].work = work;
        status
    }

    /// The status of a settled request, which stays as it is.
    pub(crate) fn look(&self, index: u32) -> Status {
        let request = &self.requests[index];
        match &request.work {
            Work::Persistent(_) if !request.active => Status::empty(),
            Work::Persistent(persistent) => {
                let status = match (persistent.running, &persistent.recipe) {
                    (Some(running), _) => self.requests[running].status.clone(),
                    (None, Recipe::Partitioned(partitioned)) => partitioned.status(&self.requests),
                    (None, _) => request.status.clone(),
                };
                stored(&persistent.copies, status)
            }
            Work::WithHostCopies(with) => stored(&with.copies, self.look(with.request)),
            Work::Both { receive, send } => {
                both(self.requests[*receive].status.clone(), self.requests[*send].status.error.clone())
            }
            _ => request.status.clone(),
        }
    }

    /// Gives a request up: what it does goes on, and it goes when that is done.
    ///
    /// # Errors
    /// `Request` for an active partitioned operation.
    pub(crate) fn release(&mut self, index: u32) -> Result<()> {
        if let Work::Both { receive, send } = self.requests[index].work {
            self.requests.remove(index);
            self.release(send)?;
            return self.release(receive);
        }
        if self.is_partitioned(index) {
            return self.release_partitioned(index);
        }
        if let Some(request) = self.leave_host_copies(index) {
            return self.release(request);
        }
        let running = match &self.requests[index].work {
            Work::Persistent(persistent) => persistent.running,
            _ => Some(index),
        };
        if let Some(running) = running {
            if self.requests[running].complete {
                self.requests.remove(running);
            } else {
                self.requests[running].detached = true;
            }
        }
        if running != Some(index) {
            self.requests.remove(index);
        }
        Ok(())
    }

    pub(super) fn is_partitioned(&self, index: u32) -> bool {
        matches!(&self.requests[index].work,
            Work::Persistent(persistent) if matches!(persistent.recipe, Recipe::Partitioned(_)))
    }
}

/// The status of a receive and a send in one: what was received, and the error
/// of either.
fn both(received: Status, not_sent: Option<Error>) -> Status {
    Status { error: received.error.or(not_sent), ..received }
}

impl Recipe {
    /// Whether what was started without a request of its own is complete.
    fn settled(&self, requests: &Slab) -> bool {
        match self {
            Recipe::Partitioned(partitioned) => partitioned.settled(requests),
            _ => true,
        }
    }
}
