//! Collectives with buffers in the memory of devices, where a rank cannot fetch its own: nobody waits for it for ever.
//!
//! One rule is for all of them, blocking or not, over whatever way. The rank tells those whose results have data of it, and waits
//! until they have heard. Then it takes part, with zeros (`HostCopies`), so everybody goes on. Who was told reports it where the operation
//! ends. Others are right, and hear nothing.

use super::reason::Reason;
use super::Engine;
use crate::collective::{Members, Operation};
use crate::message::turn::Turn;
use crate::message::unfetched;
use crate::request::RequestId;
use crate::world::Communicator;
use crate::{JobRank, Result};
use std::sync::Arc;

/// An operation with host memory in the place of its buffers on devices.
pub struct OnHost {
    /// It.
    pub operation: Operation,
    /// Some of its buffers could not be fetched: they are zeros.
    pub is_unfetched: bool,
}

impl Engine {
    /// Starts a collective whose buffers may lie in the memory of devices.
    ///
    /// # Errors
    /// As [`Engine::start_collective`].
    #[cold]
    pub fn start_collective_with_devices(
        &self,
        communicator: &Arc<Communicator>,
        on_host: OnHost,
    ) -> Result<RequestId> {
        let OnHost { operation, is_unfetched } = on_host;
        if is_unfetched {
            let members = Members::from(&**communicator);
            operation.check(&members)?;
            // It is the next one.
            let mut turn = Turn::latest(communicator, 0);
            turn.call.number += 1;
            self.tell_readers(communicator, &operation.readers(&members), turn)?;
        }
        self.start_collective(communicator, operation)
    }

    /// Tells those who read this rank's buffer in an operation that it is not to be had; they have heard when it returns.
    #[cold]
    pub(super) fn tell_readers(
        &self,
        communicator: &Arc<Communicator>,
        readers: &[u32],
        turn: Turn,
    ) -> Result<()> {
        let there = |&peer: &JobRank| self.failure_of(peer).is_none();
        let peers = communicator.peers();
        let peers: Vec<JobRank> =
            readers.iter().map(|&reader| peers.job_rank(reader)).filter(there).collect();
        let lane = self.lane(communicator.context());
        lane.lock().tell_unfetched(communicator, turn, &peers)?;
        self.wait_until(lane, Reason::Flush, |core| {
            let has_failed = |peer| self.failure_of(peer).is_some();
            core.unfetched.have_heard(communicator.context(), has_failed).then_some(())
        })
    }

    /// What was told of a collective that has run here.
    ///
    /// # Errors
    /// `Other` if a rank could not fetch its buffer.
    #[inline]
    pub(super) fn all_were_fetched(
        &self,
        communicator: &Communicator,
        turn: impl FnOnce() -> Turn,
    ) -> Result<()> {
        match unfetched::any() {
            true => self.lane(communicator.context()).lock().all_were_fetched(communicator, turn()),
            false => Ok(()),
        }
    }
}
