//! Communicators of given groups.

use super::{agree, check_intra, check_members, inter};
use crate::world::{context, Communicator, ErrorHandler, Exchange, Group, Line};
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
    exchange: &dyn Exchange,
    parent: &Communicator,
    group: &Arc<Group>,
) -> Result<Option<Communicator>> {
    if parent.is_inter() {
        return inter::create(exchange, parent, group);
    }
    check_members(group, &parent.group)?;
    over_line(exchange, parent, group, parent.collective_line(exchange)?)
}

/// `MPI_Comm_create_group`: as [`create`], but called by the members of `group`
/// alone; calls with different tags do not meet.
///
/// # Errors
/// `Group` as for [`create`], `Comm` when the parent is an intercommunicator,
/// `Tag` when the tag is negative.
pub fn create_group(
    exchange: &dyn Exchange,
    parent: &Communicator,
    group: &Arc<Group>,
    tag: i32,
) -> Result<Option<Communicator>> {
    check_intra(parent)?;
    check_members(group, &parent.group)?;
    check_tag(tag)?;
    over_line(exchange, parent, group, parent.making_line(tag))
}

/// `MPI_Comm_create_from_group`: a communicator without a parent. The members
/// of `group` call it with the same `string_tag`.
///
/// # Errors
/// `Group` when the calling process is not in `group`.
pub fn create_from_group(
    exchange: &dyn Exchange,
    group: &Arc<Group>,
    string_tag: &str,
    error_handler: Arc<ErrorHandler>,
) -> Result<Communicator> {
    let line = meeting_line(exchange, group, string_tag)?;
    let rank = line.rank;
    let context = agree(exchange, line)?;
    Ok(Communicator::new(context, group.clone(), rank).with_error_handler(error_handler))
}

/// The line of a group that has no communicator yet.
pub(super) fn meeting_line(exchange: &dyn Exchange, group: &Arc<Group>, string_tag: &str) -> Result<Line> {
    let job_rank = exchange.contexts().job_rank();
    let rank = group.rank_of(job_rank).ok_or_else(|| {
        Error::new(Class::Group, "the calling process is not in the group of which it makes a communicator")
    })?;
    let context = context::meeting(string_tag, group.iter());
    Ok(Line { peers: group.clone(), rank, context, tag: 0 })
}

pub(super) fn check_tag(tag: i32) -> Result<()> {
    match tag {
        0.. => Ok(()),
        _ => Err(Error::new(Class::Tag, format!("tag {tag}: the tag must not be negative"))),
    }
}

/// A communicator of `group`, which agrees in the context and with the tag of
/// `line`.
fn over_line(
    exchange: &dyn Exchange,
    parent: &Communicator,
    group: &Arc<Group>,
    line: Line,
) -> Result<Option<Communicator>> {
    let job_rank = exchange.contexts().job_rank();
    let Some(rank) = group.rank_of(job_rank) else { return Ok(None) };
    let context = agree(exchange, Line { peers: group.clone(), rank, ..line })?;
    let made = Communicator::new(context, group.clone(), rank);
    Ok(Some(made.with_error_handler(parent.error_handler())))
}
