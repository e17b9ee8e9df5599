//! Collectives whose buffers may lie in the memory of devices: done by the devices together where they can, else with host
//! memory in the place of the buffers.

use super::device_moves::Moves;
use super::device_reductions::Reduction;
use super::failed_fetches::OnHost;
use super::Engine;
use crate::collective::{Members, Operation};
use crate::message::turn::Turn;
use crate::world::Communicator;
use crate::Result;
use std::sync::Arc;

impl Engine {
    /// Runs a collective whose buffers may lie in the memory of devices. `on_host` puts host memory in their place, where that
    /// is needed.
    ///
    /// # Errors
    /// The failure of the operation, or of `on_host`.
    #[cold]
    pub fn run_collective_with_devices(
        &self,
        communicator: &Arc<Communicator>,
        operation: Operation,
        on_host: impl FnOnce(Operation) -> Result<OnHost>,
    ) -> Result<()> {
        let members = Members::from(&**communicator);
        operation.check(&members)?;
        let is_one_node = members.remote.is_none() && !self.nodes.are_several();
        self.begin(communicator, &operation)?;
        if is_one_node && self.is_done_by_devices(communicator, &operation, &members)? {
            return Ok(());
        }
        let turn = Turn::latest(communicator, 0);
        let OnHost { operation, is_unfetched } = on_host(operation)?;
        if is_unfetched {
            self.tell_readers(communicator, &operation.readers(&members), turn)?;
        }
        match self.nodes.are_several() {
            true => self.run_over_nodes(communicator, &operation, members)?,
            false => self.run_as_one(communicator, &operation, members)?,
        }
        self.all_were_fetched(communicator, || turn)
    }

    /// Whether devices have done it: all members come to the same answer.
    fn is_done_by_devices(
        &self,
        communicator: &Arc<Communicator>,
        operation: &Operation,
        members: &Members,
    ) -> Result<bool> {
        let (rank, size) = (members.rank, members.size);
        let reduction = Reduction::of(operation, rank, size);
        let moves = Moves::of(operation, rank, size);
        if reduction.is_none() && moves.is_none() {
            return Ok(false);
        }
        let Some(me) = self.member_of(communicator)?.filter(|me| me.have_devices()) else { return Ok(false) };
        match (reduction, moves) {
            (Some(reduction), _) => self.reduce_on_devices(me, &reduction),
            (_, Some(moves)) => self.move_by_devices(me, &moves),
            (None, None) => Ok(false),
        }
    }
}
