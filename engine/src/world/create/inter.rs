//! Intercommunicators (MPI-5.0 §7.6.2).

use super::intra::{check_tag, meeting_line, NOBODY};
use super::meeting::{Meeting, Met};
use super::{check_inter, check_intra, check_members};
use crate::job::{Contact, ProcessName};
use crate::world::bootstrap_channel::{
    garbled, group_of, group_words, join, read_words, split, words, Allgather,
};
use crate::world::{complete, context, BootstrapChannel, Communicator, ErrorHandler, Group, Line};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// How the leader of one group reaches the leader of the other: through a
/// communicator that both are in. Others pass `None`.
#[derive(Clone, Copy, Debug)]
pub struct Bridge<'a> {
    /// The peer communicator.
    pub peer: &'a Communicator,
    /// The rank of the other leader in it.
    pub remote_leader: i32,
}

/// `MPI_Intercomm_create`: joins the group of `local` with another.
///
/// # Errors
/// `Comm` when `local` is an intercommunicator or the groups overlap, `Rank`
/// when a leader is not there, `Tag` when the tag is negative.
pub fn intercomm_create(
    exchange: &dyn BootstrapChannel,
    local: &Communicator,
    local_leader: i32,
    bridge: Option<Bridge>,
    tag: i32,
) -> Result<Communicator> {
    check_intra(local)?;
    let leader = local.group.check_rank(local_leader)?;
    check_tag(tag)?;
    join_by(exchange, local, leader, || way_over(bridge, tag))
}

/// Joins the group of `local` with another, over a line between the leaders that the leader of `local` finds: where
/// that fails, all members of `local` have an error.
///
/// # Errors
/// What finding it says; `Comm` when the groups overlap.
pub fn join_by(
    exchange: &dyn BootstrapChannel,
    local: &Communicator,
    leader: u32,
    find: impl FnOnce() -> Result<(Line, u32)>,
) -> Result<Communicator> {
    let local_line = local.collective_line(exchange)?;
    let mut way = None;
    if local.rank == leader {
        match find() {
            Ok(found) => way = Some(found),
            Err(error) => {
                Meeting::call_off(exchange, local_line, leader, &error)?;
                return Err(error);
            }
        }
    }
    let note = group_words(exchange, &local.group, exchange.contexts().strangers().is_some());
    let met = meet(exchange, local_line, leader, way.clone(), note)?;
    if are_apart(&met)? {
        introduce(exchange, local, leader, way)?;
    }
    let made = join_groups(&met, &local.group, local.rank, group_of(exchange, &met.their_note)?)?;
    Ok(made.with_error_handler(local.error_handler()))
}

/// Two groups meet that do not know each other yet. The leader alone depends on the other group, and tells its own where it cannot
/// go on.
fn meet(
    exchange: &dyn BootstrapChannel,
    local: Line,
    leader: u32,
    way: Option<(Line, u32)>,
    note: Vec<u8>,
) -> Result<Met> {
    let is_leader = way.is_some();
    if is_leader {
        exchange.others_take_part();
    }
    let meeting = Meeting::start(exchange, local.clone(), leader, way, note);
    let met = meeting.and_then(|meeting| complete(exchange, meeting));
    if let (Err(error), true) = (&met, is_leader) {
        Meeting::call_off(exchange, local, leader, error)?;
    }
    met
}

/// Whether some members of the two groups were started apart from each other. A leader that knows no strangers gives
/// names without marks, and is of the same universe as the other one.
fn are_apart(met: &Met) -> Result<bool> {
    let names = [read_words(&met.my_note)?, read_words(&met.their_note)?].concat();
    let mut marks = names.into_iter().map(|name| ProcessName(name).mark()).filter(|&mark| mark != 0);
    let first = marks.next();
    Ok(marks.any(|mark| Some(mark) != first))
}

/// The members of each group learn how to connect to those of the other, over the way between the leaders.
fn introduce(
    exchange: &dyn BootstrapChannel,
    local: &Communicator,
    leader: u32,
    way: Option<(Line, u32)>,
) -> Result<()> {
    exchange.reach_strangers()?;
    let strangers = exchange.contexts().strangers().ok_or_else(garbled)?;
    let own = strangers.own_contact().to_bytes();
    let ours = complete(exchange, Allgather::new(local.collective_line(exchange)?, own))?;
    let line = local.collective_line(exchange)?;
    let met = meet(exchange, line, leader, way, join(&ours))?;
    for contact in split(&met.their_note)? {
        let contact = Contact::from_bytes(&contact)?;
        if contact.name.mark() != strangers.own().mark() {
            strangers.keep(contact);
        }
    }
    Ok(())
}

fn way_over(bridge: Option<Bridge>, tag: i32) -> Result<(Line, u32)> {
    let Some(Bridge { peer, remote_leader }) = bridge else {
        return Err(Error::new(Class::Comm, "the leader of the local group passes no peer communicator"));
    };
    let remote_leader = peer.peers().check_rank(remote_leader)?;
    Ok((peer.joining_line(tag), remote_leader))
}

/// `MPI_Intercomm_create_from_groups`: joins two groups that have no
/// communicator; all members of both call it with the same `string_tag`.
///
/// # Errors
/// `Group` when the calling process is not in `local`, `Rank` when a leader is
/// not in its group, `Comm` when the groups overlap.
pub fn intercomm_create_from_groups(
    exchange: &dyn BootstrapChannel,
    local: (&Arc<Group>, i32),
    remote: (&Arc<Group>, i32),
    string_tag: &str,
    error_handler: Arc<ErrorHandler>,
) -> Result<Communicator> {
    let (local, local_leader) = local;
    let (remote, remote_leader) = remote;
    let (leader, other) = (local.check_rank(local_leader)?, remote.check_rank(remote_leader)?);
    check_disjoint(local, remote)?;
    let local_line = meeting_line(exchange, local, string_tag, remote)?;
    let is_full = local.has_strangers() || remote.has_strangers();
    let named = |member| exchange.contexts().named(member, is_full);
    let sides = [(named(local.job_rank(leader)), local), (named(remote.job_rank(other)), remote)];
    let [low, high] = if sides[0].0 < sides[1].0 { sides } else { [sides[1], sides[0]] };
    let both = [low.1, high.1].into_iter().flat_map(|group| group.iter().map(named).chain([NOBODY]));
    let between = context::meeting(string_tag, [NOBODY, low.0, high.0].into_iter().chain(both));
    let bridge = Line { peers: remote.clone(), rank: leader, context: between, tag: 0 };
    let rank = local_line.rank;
    let bridge = (rank == leader).then_some((bridge, other));
    let met = meet(exchange, local_line, leader, bridge, Vec::new())?;
    let made = join_groups(&met, local, rank, (**remote).clone())?;
    Ok(made.with_error_handler(error_handler))
}

/// `MPI_Intercomm_merge`: one intracommunicator of both groups; a group that
/// says `high` comes after one that does not.
///
/// # Errors
/// `Comm` when it is an intracommunicator.
pub fn intercomm_merge(
    exchange: &dyn BootstrapChannel,
    inter: &Communicator,
    high: bool,
) -> Result<Communicator> {
    check_inter(inter)?;
    let met = meet_over(exchange, inter, words([u64::from(high)]))?;
    let (mine, theirs) = (read_words(&met.my_note)?, read_words(&met.their_note)?);
    let first = if mine == theirs { met.first() } else { mine < theirs };
    let (local, remote) = (&inter.group, inter.peers());
    let group = if first { local.union(remote) } else { remote.union(local) };
    let rank = if first { inter.rank } else { inter.rank + remote.size() };
    let made = Communicator::new(met.context(), Arc::new(group), rank);
    Ok(made.with_error_handler(inter.error_handler()))
}

/// `MPI_Comm_create` over an intercommunicator.
pub(super) fn create(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    group: &Arc<Group>,
) -> Result<Option<Communicator>> {
    check_members(group, &parent.group)?;
    let is_full = parent.groups().any(|group| group.has_strangers());
    let met = meet_over(exchange, parent, group_words(exchange, group, is_full))?;
    let remote = group_of(exchange, &met.their_note)?;
    let rank = group.rank_of(exchange.contexts().job_rank());
    match rank {
        Some(rank) if remote.size() > 0 => {
            let made = join_groups(&met, group, rank, remote)?;
            Ok(Some(made.with_error_handler(parent.error_handler())))
        }
        _ => Ok(None),
    }
}

/// A meeting over an intercommunicator, waited for.
pub(super) fn meet_over(exchange: &dyn BootstrapChannel, inter: &Communicator, note: Vec<u8>) -> Result<Met> {
    let Some(local) = inter.local() else {
        check_inter(inter)?;
        return Err(Error::new(Class::Intern, "an intercommunicator has no local part"));
    };
    complete(exchange, Meeting::of_intercommunicator(exchange, inter, local, note)?)
}

fn join_groups(met: &Met, local: &Arc<Group>, rank: u32, remote: Group) -> Result<Communicator> {
    check_disjoint(local, &remote)?;
    let made = Communicator::new(met.context(), local.clone(), rank);
    Ok(made.with_remote(Arc::new(remote), met.local_context()))
}

fn check_disjoint(local: &Group, remote: &Group) -> Result<()> {
    match remote.iter().find(|&member| local.rank_of(member).is_some()) {
        None => Ok(()),
        Some(member) => Err(Error::new(
            Class::Comm,
            format!("the two groups of an intercommunicator have a process in common (job rank {member})"),
        )),
    }
}
