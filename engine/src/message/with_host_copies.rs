//! Requests whose buffers lie in device memory: host memory stands for them ([`HostCopies`]), and what the
//! operation has written is stored when the program asks whether it is complete.
//!
//! A request that the program gives up leaves its host copies to the operation (`Slab::left`): they are
//! stored when that ends.

use super::turn::Turn;
use super::work::{Left, Recipe, WithHostCopies, Work};
use crate::core::Core;
use crate::datatype::HostCopies;
use crate::request::Status;
use crate::world::Communicator;
use crate::Result;
use std::sync::Arc;

impl Core {
    /// Gives host copies to a request that has just been made; the request that the program gets.
    ///
    /// # Errors
    /// When no request can be made.
    ///
    /// # Safety
    /// The program lends the buffers until the request is complete.
    pub(crate) unsafe fn add_host_copies(&mut self, index: u32, mut copies: HostCopies) -> Result<u32> {
        if let Work::Persistent(persistent) = &mut self.requests[index].work {
            if let Recipe::Partitioned(partitioned) = &persistent.recipe {
                copies.divide(partitioned.partition_bytes());
            }
            persistent.copies = copies;
            return Ok(index);
        }
        // What there is to store or to say is so where the request is completed.
        if self.settled(index) && !copies.are_needed_at_the_end() {
            return Ok(index);
        }
        match self.requests.insert(Work::Nothing) {
            Ok(outer) => {
                self.requests[outer].work =
                    Work::WithHostCopies(Box::new(WithHostCopies { request: index, copies }));
                Ok(outer)
            }
            Err(error) => {
                // The operation goes on, and needs them.
                std::mem::forget(copies);
                Err(error)
            }
        }
    }

    /// Fetches the buffers of a persistent collective that is about to start. Where that fails, it starts with zeros: who has to
    /// be told before, and of which operation.
    pub(crate) fn fetch_again(&mut self, index: u32) -> Option<(Arc<Communicator>, Vec<u32>, Turn)> {
        if self.requests[index].active {
            return None;
        }
        let Work::Persistent(persistent) = &mut self.requests[index].work else { return None };
        let Recipe::Collective { communicator, turn, readers, starts, .. } = &persistent.recipe else {
            return None;
        };
        // SAFETY: the program lends the buffers from the start on.
        match persistent.copies.is_empty() || unsafe { persistent.copies.begin_in_any_case() } {
            true => None,
            false => Some((Arc::clone(communicator), readers.clone(), turn.of_round(starts + 1))),
        }
    }

    /// Takes the status of a settled request with host copies; it goes.
    #[cold]
    pub(crate) fn collect_with_host_copies(&mut self, index: u32) -> Status {
        let Some(WithHostCopies { request, copies }) = self.take_host_copies(index) else {
            return Status::empty();
        };
        let status = self.collect(request);
        stored(&copies, status)
    }

    /// Takes a request with host copies apart.
    fn take_host_copies(&mut self, index: u32) -> Option<WithHostCopies> {
        match std::mem::replace(&mut self.requests[index].work, Work::Nothing) {
            Work::WithHostCopies(with) => {
                self.requests.remove(index);
                Some(*with)
            }
            other => {
                self.requests[index].work = other;
                None
            }
        }
    }

    /// Leaves the host copies of a request that is given up to its operation; the request within it, if it
    /// was one with host copies.
    pub(super) fn leave_host_copies(&mut self, index: u32) -> Option<u32> {
        if let Work::Persistent(persistent) = &mut self.requests[index].work {
            let (copies, running) = (std::mem::take(&mut persistent.copies), persistent.running);
            if !copies.is_empty() {
                self.requests.leave(running.into_iter().collect(), Left(copies));
            }
            return None;
        }
        let WithHostCopies { request, copies } = self.take_host_copies(index)?;
        let working = match self.requests[request].work {
            Work::Both { receive, send } => vec![receive, send],
            _ => vec![request],
        };
        self.requests.leave(working, Left(copies));
        Some(request)
    }
}

/// The status of an operation that has ended, once its host copies are stored.
pub(super) fn stored(copies: &HostCopies, status: Status) -> Status {
    // SAFETY: the operation has ended, and the program has lent the buffers until it hears of that.
    match unsafe { copies.store() } {
        Ok(()) => status,
        Err(error) => Status { error: status.error.or(Some(error)), ..status },
    }
}
