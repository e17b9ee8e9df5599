//! Duplicates, blocking or not.

use super::meeting::Meeting;
use super::{one_word, start_agreement};
use crate::world::bootstrap_channel::Broadcast;
use crate::world::{complete, Attributes, BootstrapChannel, Communicator, Info, Pending, Topology};
use crate::Result;
use std::sync::Arc;

/// What a duplicate gets beside group, topology and error handler.
#[derive(Debug, Default)]
pub struct Copied {
    /// Attributes, as [`Attributes::copy_all`] of the parent's made them.
    pub attributes: Attributes,
    /// Hints, for `MPI_Comm_dup_with_info`.
    pub hints: Info,
}

/// `MPI_Comm_dup`: the same groups and topology in a new context.
///
/// # Errors
/// `Intern` when no context ids are left.
pub fn dup(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    copied: Copied,
) -> Result<Arc<Communicator>> {
    let duplication = start_dup(exchange, parent, copied)?;
    let made = duplication.made();
    complete(exchange, duplication)?;
    Ok(made)
}

/// `MPI_Comm_idup`: [`Duplication::made`] may be used when the duplication,
/// which is pending, is done.
///
/// # Errors
/// `Intern` when no context ids are left.
pub fn start_dup(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    copied: Copied,
) -> Result<Duplication> {
    let topology = parent.topology().cloned();
    start_copy(exchange, parent, copied, topology)
}

/// As [`start_dup`], with a topology of its own.
pub(in crate::world) fn start_copy(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    copied: Copied,
    topology: Option<Topology>,
) -> Result<Duplication> {
    let talk = match parent.local() {
        None => Talk::Within(start_agreement(exchange, parent.collective_line(exchange)?)?),
        Some(local) => Talk::Between(Meeting::of_intercommunicator(exchange, parent, local, Vec::new())?),
    };
    let mut made = Communicator::new(0, parent.group.clone(), parent.rank)
        .with_attributes(copied.attributes)
        .with_error_handler(parent.error_handler());
    if let Some(remote) = &parent.remote {
        made = made.with_remote(remote.clone(), 0);
    }
    if let Some(topology) = topology {
        made = made.with_topology(topology);
    }
    made.set_hints(&copied.hints);
    Ok(Duplication { made: Arc::new(made), talk })
}

/// A duplicate under way.
pub struct Duplication {
    made: Arc<Communicator>,
    talk: Talk,
}

enum Talk {
    Within(Broadcast),
    Between(Meeting),
}

impl Duplication {
    /// The duplicate, whose context is not settled yet.
    pub fn made(&self) -> Arc<Communicator> {
        self.made.clone()
    }
}

impl Pending<()> for Duplication {
    fn poll(&mut self, exchange: &dyn BootstrapChannel) -> Result<Option<()>> {
        let settled = match &mut self.talk {
            Talk::Within(broadcast) => match broadcast.poll(exchange)? {
                Some(bytes) => (one_word(&bytes)?, 0),
                None => return Ok(None),
            },
            Talk::Between(meeting) => match meeting.poll(exchange)? {
                Some(met) => (met.context(), met.local_context()),
                None => return Ok(None),
            },
        };
        self.made.settle(settled.0, settled.1);
        Ok(Some(()))
    }
}
