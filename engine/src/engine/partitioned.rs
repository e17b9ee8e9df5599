//! Partitioned operations, as the faces start them.

use super::reason::Reason;
use super::Engine;
use crate::message::partitioned::Data;
use crate::message::Envelope;
use crate::request::RequestId;
use crate::world::context;
use crate::{JobRank, Result};

/// Partitioned operations (MPI-5.0 chapter 4). They are persistent requests.
impl Engine {
    /// Makes a partitioned send; `peer` is `None` for the null process.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn partitioned_send(
        &self,
        data: Data,
        peer: Option<JobRank>,
        envelope: Envelope,
    ) -> Result<RequestId> {
        let channel = self.contexts.propose_beside(envelope.context)?;
        let mut core = self.lane(envelope.context).lock();
        let request = core.add_partitioned_send(data, peer, announced(envelope), channel)?;
        Ok(core.requests.id(request))
    }

    /// Makes a partitioned receive; `wanted` is `None` for the null process.
    ///
    /// # Errors
    /// When no request can be made.
    pub fn partitioned_receive(&self, data: Data, wanted: Option<Envelope>) -> Result<RequestId> {
        let mut core = self.lane(wanted.map_or(0, |wanted| wanted.context)).lock();
        let request = core.add_partitioned_receive(data, wanted.map(announced))?;
        Ok(core.requests.id(request))
    }

    /// Sends partitions of an active send; none, if one of them cannot be.
    ///
    /// # Errors
    /// `Request` for another request or one that is not active, `Arg` for what
    /// is no partition or has been sent.
    pub fn ready(&self, id: RequestId, partitions: impl Iterator<Item = i64> + Clone) -> Result<()> {
        let mut core = self.lane_of(id).lock();
        let request = core.requests.check(id)?;
        core.ready(request, partitions)?;
        self.rouse(&core);
        Ok(())
    }

    /// Whether a partition of a receive has come.
    ///
    /// # Errors
    /// `Request` for another request, `Arg` for what is no partition.
    pub fn arrived_partition(&self, id: RequestId, partition: i64) -> Result<bool> {
        let lane = self.lane_of(id);
        let request = lane.lock().requests.check(id)?;
        let arrived = self.look(lane, |core| core.arrived_partition(request, partition))??;
        if !arrived {
            self.polled(Reason::Id(id))?;
        }
        Ok(arrived)
    }
}

fn announced(envelope: Envelope) -> Envelope {
    Envelope { context: context::announcing(envelope.context), ..envelope }
}
