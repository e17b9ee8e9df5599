//! Requests whose work goes on by polling: nonblocking making of communicators, and access to files.
//!
//! The work is polled with no lock held, once for every change of the epoch,
//! by whoever waits or tests for anything.

use super::describe::swap_wanted;
use super::Engine;
use crate::core::Background;
use crate::request::RequestId;
use crate::world::Pending;
use crate::Result;
use std::ops::Deref;

/// The engine, as work finds it that its lanes hold.
pub(super) struct Master(*const Engine);

// SAFETY: the engine lives longer than its lanes, which hold the work, and stays where it is; it is made
// for several threads.
unsafe impl Send for Master {}

impl Master {
    pub(super) fn of(engine: &Engine) -> Master {
        Master(engine)
    }
}

impl Deref for Master {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        // SAFETY: lanes of this engine hold the work that asks, which ends before the engine does.
        unsafe { &*self.0 }
    }
}

impl Engine {
    /// Starts something pending, whose byte strings go in contexts of the lane of `context`;
    /// the request is complete when it is done.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn start_pending(&self, context: u64, mut pending: impl Pending<()> + 'static) -> Result<RequestId> {
        let lane = self.lane(context);
        let poll = Box::new(move |exchange: &dyn crate::world::BootstrapChannel| {
            Ok(pending.poll(exchange)?.map(|()| 0))
        });
        let id = lane.lock().begin_background(poll, false)?;
        self.look(lane, |_| ())?;
        Ok(id)
    }

    /// Polls once; puts the work back if it is not done.
    pub(super) fn run_background(&self, mut work: Background) {
        let others = swap_wanted(None);
        let polled = (work.poll)(self);
        work.wanted = swap_wanted(others);
        let mut core = self.lane_at(work.request).lock();
        match polled {
            Ok(None) => {
                core.background.push(work);
                return;
            }
            Ok(Some(bytes)) => core.requests[work.request].status.bytes = bytes,
            Err(error) => core.requests[work.request].status.error = Some(error),
        }
        core.complete(work.request);
        self.rouse(&core);
    }
}
