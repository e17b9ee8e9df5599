//! Communicators of given groups.

use super::{agree, check_intra, check_members};
use crate::job::ProcessName;
use crate::world::bootstrap_channel::{garbled, read_words, words, Broadcast};
use crate::world::{complete, context, BootstrapChannel, Communicator, ErrorHandler, Group, Line};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// The part of [`super::create`] for parents with one group.
pub(super) fn create(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    group: &Arc<Group>,
) -> Result<Option<Communicator>> {
    check_members(group, &parent.group)?;
    over_line(exchange, parent, group, parent.collective_line(exchange)?)
}

/// `MPI_Comm_create_group`: as [`super::create`], but called by the members of `group`
/// alone; calls with different tags do not meet, nor do calls for different groups.
///
/// # Errors
/// `Group` as for [`super::create`], and when the members call for different groups, `Comm` when the parent is an intercommunicator,
/// `Tag` when the tag is negative.
pub fn create_group(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    group: &Arc<Group>,
    tag: i32,
) -> Result<Option<Communicator>> {
    check_intra(parent)?;
    check_members(group, &parent.group)?;
    check_tag(tag)?;
    exchange.all_go_on(group)?;
    over_line(exchange, parent, group, parent.making_line(tag))
}

/// `MPI_Comm_create_from_group`: a communicator without a parent. The members
/// of `group` call it with the same `string_tag`.
///
/// # Errors
/// `Group` when the calling process is not in `group`.
pub fn create_from_group(
    exchange: &dyn BootstrapChannel,
    group: &Arc<Group>,
    string_tag: &str,
    error_handler: Arc<ErrorHandler>,
) -> Result<Communicator> {
    exchange.all_go_on(group)?;
    let line = meeting_line(exchange, group, string_tag, &Group::empty())?;
    let rank = line.rank;
    let context = agree(exchange, line)?;
    Ok(Communicator::new(context, group.clone(), rank).with_error_handler(error_handler))
}

/// Between the names of two groups.
pub(super) const NOBODY: ProcessName = ProcessName(u64::MAX);

/// The line of a group that has no communicator yet, and makes one with the group `other`.
pub(super) fn meeting_line(
    exchange: &dyn BootstrapChannel,
    group: &Arc<Group>,
    string_tag: &str,
    other: &Group,
) -> Result<Line> {
    let job_rank = exchange.contexts().job_rank();
    let rank = group.rank_of(job_rank).ok_or_else(|| {
        Error::new(Class::Group, "the calling process is not in the group of which it makes a communicator")
    })?;
    let (contexts, is_full) = (exchange.contexts(), group.has_strangers() || other.has_strangers());
    let all = group.names(contexts, is_full).chain([NOBODY]).chain(other.names(contexts, is_full));
    let context = context::meeting(string_tag, all);
    Ok(Line { peers: group.clone(), rank, context, tag: 0 })
}

pub(super) fn check_tag(tag: i32) -> Result<()> {
    match tag {
        0.. => Ok(()),
        _ => Err(Error::new(Class::Tag, format!("tag {tag}: the tag must not be negative"))),
    }
}

/// A communicator of `group`, which agrees over a line of the parent. Messages there are told apart
/// by the ranks of the parent, for groups may share members, who call for one group after the other.
fn over_line(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    group: &Arc<Group>,
    line: Line,
) -> Result<Option<Communicator>> {
    let Some(rank) = group.rank_of(exchange.contexts().job_rank()) else { return Ok(None) };
    let members = group.iter().filter_map(|member| parent.group.rank_of(member)).collect();
    let mine = group.digest(exchange.contexts());
    let proposal = match rank {
        0 => words([exchange.contexts().propose()?, mine]),
        _ => Vec::new(),
    };
    let told = complete(exchange, Broadcast::among(line, members, rank, proposal))?;
    let [context, theirs] = read_words(&told)?.try_into().map_err(|_| garbled())?;
    if theirs != mine {
        return Err(of_another_group(group));
    }
    let made = Communicator::new(context, group.clone(), rank);
    Ok(Some(made.with_error_handler(parent.error_handler())))
}

fn of_another_group(group: &Group) -> Error {
    let first = group.job_rank(0);
    let message = format!(
        "the first process of the group (job rank {first}) makes a communicator of another group here: all members \
         must give the same group, and those that are in several groups must call for these in the same order"
    );
    Error::new(Class::Group, message)
}
