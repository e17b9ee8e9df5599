//! Making communicators (MPI-5.0 §7.4.2, §7.6.2).
//!
//! Every constructor comes down to this: know the group, agree on a context.
//! The error handler is that of the parent; name and hints are not taken over.

pub mod dup;
pub mod inter;
pub mod intra;
mod meeting;
pub mod split;
#[cfg(test)]
mod tests;

pub(super) use dup::start_copy;
pub use dup::{dup, start_dup, Copied, Duplication};
pub use inter::{intercomm_create, intercomm_create_from_groups, intercomm_merge, join_by, Bridge};
pub use intra::{create_from_group, create_group};
pub use split::{split, split_type, SplitType};

use super::bootstrap_channel::{read_words, words, BootstrapChannel, Broadcast, Line};
use super::{complete, Communicator, Group};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// `MPI_Comm_create`: a communicator of `group`, a part of the parent's group;
/// collective over the parent, but only members wait for each other. `None`
/// for those who are not in `group`. Over an intercommunicator, an
/// intercommunicator of the groups given on both sides.
///
/// # Errors
/// `Group` when a member of `group` is not in the parent.
pub fn create(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    group: &Arc<Group>,
) -> Result<Option<Communicator>> {
    match parent.is_inter() {
        true => inter::create(exchange, parent, group),
        false => intra::create(exchange, parent, group),
    }
}

/// One context for all ranks of a line: the proposal of its first rank.
fn start_agreement(exchange: &dyn BootstrapChannel, line: Line) -> Result<Broadcast> {
    let proposal = if line.rank == 0 { words([exchange.contexts().propose()?]) } else { Vec::new() };
    Ok(Broadcast::new(line, 0, proposal))
}

fn agree(exchange: &dyn BootstrapChannel, line: Line) -> Result<u64> {
    let broadcast = start_agreement(exchange, line)?;
    one_word(&complete(exchange, broadcast)?)
}

fn one_word(bytes: &[u8]) -> Result<u64> {
    match read_words(bytes)?[..] {
        [word] => Ok(word),
        _ => Err(super::bootstrap_channel::garbled()),
    }
}

pub(crate) fn check_intra(communicator: &Communicator) -> Result<()> {
    match communicator.is_inter() {
        true => Err(Error::new(
            Class::Comm,
            "an intercommunicator is given where only an intracommunicator can be used",
        )),
        false => Ok(()),
    }
}

fn check_inter(communicator: &Communicator) -> Result<()> {
    match communicator.is_inter() {
        true => Ok(()),
        false => Err(Error::new(
            Class::Comm,
            "an intracommunicator is given where only an intercommunicator can be used",
        )),
    }
}

fn check_members(group: &Group, of: &Group) -> Result<()> {
    match group.iter().find(|&member| of.rank_of(member).is_none()) {
        Some(member) => Err(Error::new(
            Class::Group,
            format!("the group has a process (job rank {member}) that is not in the communicator's group"),
        )),
        None => Ok(()),
    }
}
