//! Duplicates, blocking or not.

use super::meeting::Meeting;
use super::{one_word, start_agreement};
use crate::world::exchange::Broadcast;
use crate::world::{complete, Attributes, Communicator, Exchange, Info, Pending};
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
pub fn dup(exchange: &dyn Exchange, parent: &Arc<Communicator>, copied: Copied) -> Result<Communicator> {
    complete(exchange, start_dup(exchange, parent, copied)?)
}

/// `MPI_Comm_idup`: the duplicate is there when the pending part is done.
///
/// # Errors
/// `Intern` when no context ids are left.
pub fn start_dup(exchange: &dyn Exchange, parent: &Arc<Communicator>, copied: Copied) -> Result<Duplication> {
    let talk = match parent.local() {
        None => Talk::Within(start_agreement(exchange, parent.collective_line())?),
        Some(local) => Talk::Between(Meeting::of_intercommunicator(exchange, parent, local, Vec::new())?),
    };
    Ok(Duplication { parent: parent.clone(), copied, talk })
}

/// A duplicate under way.
pub struct Duplication {
    parent: Arc<Communicator>,
    copied: Copied,
    talk: Talk,
}

enum Talk {
    Within(Broadcast),
    Between(Meeting),
}

impl Pending<Communicator> for Duplication {
    fn poll(&mut self, exchange: &dyn Exchange) -> Result<Option<Communicator>> {
        let (context, local_context) = match &mut self.talk {
            Talk::Within(broadcast) => match broadcast.poll(exchange)? {
                Some(bytes) => (one_word(&bytes)?, 0),
                None => return Ok(None),
            },
            Talk::Between(meeting) => match meeting.poll(exchange)? {
                Some(met) => (met.context(), met.local_context()),
                None => return Ok(None),
            },
        };
        let parent = &self.parent;
        let copied = std::mem::take(&mut self.copied);
        let mut made = Communicator::new(context, parent.group.clone(), parent.rank)
            .with_attributes(copied.attributes)
            .with_error_handler(parent.error_handler());
        if let Some(remote) = &parent.remote {
            made = made.with_remote(remote.clone(), local_context);
        }
        if let Some(topology) = parent.topology() {
            made = made.with_topology(topology.clone());
        }
        made.set_hints(&copied.hints);
        Ok(Some(made))
    }
}
