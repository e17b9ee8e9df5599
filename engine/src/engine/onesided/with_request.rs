//! The same operations with a request: complete when the origin may be used again, and
//! for what fetches when it is there. In passive epochs only (locks).

use super::lines::Message;
use crate::collective::Data;
use crate::engine::background::Master;
use crate::engine::Engine;
use crate::onesided::{Exposure, Target};
use crate::reduce::Operator;
use crate::request::{RequestId, DONE_ID};
use crate::world::BootstrapChannel;
use crate::Result;

impl Engine {
    /// `MPI_Rput`.
    ///
    /// # Errors
    /// As [`Engine::put`]; `RmaSync` outside of a passive epoch.
    pub fn start_put(&self, exposure: &Exposure, origin: &Data, target: &Target) -> Result<RequestId> {
        self.check_passive(exposure, target.rank)?;
        self.put(exposure, origin, target)?;
        self.request_of(exposure, target.rank, |message| message.lends)
    }

    /// `MPI_Rget`.
    ///
    /// # Errors
    /// As [`Engine::start_put`].
    pub fn start_get(&self, exposure: &Exposure, origin: &Data, target: &Target) -> Result<RequestId> {
        self.check_passive(exposure, target.rank)?;
        self.get(exposure, origin, target)?;
        self.request_of(exposure, target.rank, Message::uses_origin)
    }

    /// `MPI_Raccumulate`.
    ///
    /// # Errors
    /// As [`Engine::accumulate`]; `RmaSync` outside of a passive epoch.
    pub fn start_accumulate(
        &self,
        exposure: &Exposure,
        origin: &Data,
        target: &Target,
        operator: &Operator,
    ) -> Result<RequestId> {
        self.check_passive(exposure, target.rank)?;
        self.accumulate(exposure, origin, target, operator)?;
        Ok(DONE_ID)
    }

    /// `MPI_Rget_accumulate`.
    ///
    /// # Errors
    /// As [`Engine::start_accumulate`].
    pub fn start_get_accumulate(
        &self,
        exposure: &Exposure,
        origin: &Data,
        result: &Data,
        target: &Target,
        operator: &Operator,
    ) -> Result<RequestId> {
        self.check_passive(exposure, target.rank)?;
        self.get_accumulate(exposure, origin, result, target, operator)?;
        self.request_of(exposure, target.rank, Message::uses_origin)
    }

    /// A request that is complete when all messages of a kind to a member are over.
    fn request_of(
        &self,
        exposure: &Exposure,
        rank: u32,
        is_meant: impl Fn(&Message) -> bool,
    ) -> Result<RequestId> {
        let Some(awaited) = self.newest(exposure, rank, is_meant) else { return Ok(DONE_ID) };
        let master = Master::of(self);
        let poll = Box::new(move |_: &dyn BootstrapChannel| Ok(master.take_awaited(awaited)?.then_some(0)));
        self.lane(exposure.communicator.context()).lock().begin_background(poll, true)
    }

    fn check_passive(&self, exposure: &Exposure, rank: u32) -> Result<()> {
        exposure.check_rank(rank)?;
        exposure.epochs.check_passive(Some(rank))
    }
}
