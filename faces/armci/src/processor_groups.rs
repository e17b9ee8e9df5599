//! Making groups of ranks, asking for them and freeing them.

use super::argument_checks::{not_negative, not_null};
use super::group_of_c::{given, GroupOfC};
use super::wall::ARMCI;
use super::world_of_armci::{all, change, world};
use crate::common::entry::Call;
use crate::functions::point_to_point::communicator_is_freed;
use crate::handle::{required, Handle as _, COMMS};
use crate::objects::Comm;
use serried_engine::engine::Engine;
use serried_engine::world::create::{self, Copied};
use serried_engine::world::Group;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// The tag of the messages by which groups are made.
const MADE: i32 = 0;

/// The communicator of a group.
///
/// # Errors
/// `Arg`; `Comm` when the process is not in the group, or it was freed.
///
/// # Safety
/// As [`given`].
pub unsafe fn communicator(call: &Call, group: *const GroupOfC) -> Result<&Arc<Comm>> {
    // SAFETY: by the caller.
    required(&COMMS, call, "group->comm", unsafe { given(group)? }.comm)
}

/// A rank of a group as an absolute one, and the other way round.
///
/// # Errors
/// `Arg`, `Rank`.
///
/// # Safety
/// As [`given`].
pub unsafe fn rank_of_absolute(group: *const GroupOfC, absolute: c_int) -> Result<u32> {
    // SAFETY: by the caller.
    let group = unsafe { given(group)? };
    let place = group.absolute().iter().position(|&one| one == absolute);
    place.map(|rank| rank as u32).ok_or_else(|| {
        Error::new(Class::Rank, format!("the process with the absolute rank {absolute} is not in the group"))
    })
}

/// `ARMCI_Absolute_id`.
///
/// # Safety
/// As [`given`].
pub unsafe fn absolute_id(_: &Call, group: *const GroupOfC, rank: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    let group = unsafe { given(group)? };
    let found = usize::try_from(rank).ok().and_then(|rank| group.absolute().get(rank)).copied();
    found.ok_or_else(|| {
        Error::new(
            Class::Rank,
            format!("argument group_rank is {rank}, but the group has {} ranks", group.size),
        )
    })
}

/// `ARMCI_Group_rank`: not 0 for who is not in it.
///
/// # Safety
/// As [`given`]; `rank` can be written.
pub unsafe fn rank(_: &Call, group: *const GroupOfC, rank: *mut c_int) -> Result<c_int> {
    not_null("rank", rank)?;
    // SAFETY: by the caller.
    unsafe {
        let group = given(group)?;
        rank.write(group.rank);
        Ok(c_int::from(group.rank < 0))
    }
}

/// `ARMCI_Group_size`.
///
/// # Safety
/// As [`given`]; `size` can be written.
pub unsafe fn size(_: &Call, group: *const GroupOfC, size: *mut c_int) -> Result<()> {
    not_null("size", size)?;
    // SAFETY: by the caller.
    unsafe { size.write(given(group)?.size) };
    Ok(())
}

/// `ARMCI_Group_get_world`, and `_get_default`.
///
/// # Safety
/// `group` can be written.
pub unsafe fn known(_: &Call, group: *mut GroupOfC, is_default: bool) -> Result<()> {
    not_null("group", group)?;
    let found = world(|world| if is_default { world.default } else { world.group })?;
    // SAFETY: by the caller.
    unsafe { group.write(found) };
    Ok(())
}

/// `ARMCI_Group_set_default`.
///
/// # Safety
/// As [`given`].
pub unsafe fn set_default(_: &Call, group: *const GroupOfC) -> Result<()> {
    // SAFETY: by the caller.
    let group = *unsafe { given(group)? };
    change(|world| world.default = group)
}

/// `ARMCI_Group_create`: the numbers are ranks of the default group.
///
/// # Safety
/// As [`create_child`].
pub unsafe fn create(call: &Call, number: c_int, ranks: *const c_int, out: *mut GroupOfC) -> Result<()> {
    let parent = world(|world| world.default)?;
    // SAFETY: by the caller.
    unsafe { create_child(call, number, ranks, out, &parent) }
}

/// `ARMCI_Group_create_child`: the numbers are ranks of the parent. Collective over those who are named; others may call
/// it too.
///
/// # Safety
/// There are so many ranks; `out` can be written; the parent is as for [`given`].
pub unsafe fn create_child(
    _: &Call,
    number: c_int,
    ranks: *const c_int,
    out: *mut GroupOfC,
    parent: *const GroupOfC,
) -> Result<()> {
    not_null("group_out", out)?;
    let number = not_negative("grp_size", number)? as usize;
    if number == 0 {
        // Global Arrays makes groups of nobody, where programs halve a single rank.
        // SAFETY: by the caller.
        return unsafe { put(out, None, Vec::new(), 0) };
    }
    not_null("pid_list", ranks)?;
    // SAFETY: by the caller.
    let (ranks, parent) = unsafe { (std::slice::from_raw_parts(ranks, number), given(parent)?) };
    let absolute = ranks.iter().map(|&rank| {
        let found = usize::try_from(rank).ok().and_then(|rank| parent.absolute().get(rank)).copied();
        found.ok_or_else(|| {
            let sentence =
                format!("pid_list has {rank}, but the ranks of the group are 0 to {}", parent.size - 1);
            Error::new(Class::Rank, sentence)
        })
    });
    let absolute = absolute.collect::<Result<Vec<_>>>()?;
    let (engine, all) = all()?;
    let members = Arc::new(all.group.incl(&absolute)?);
    let made = create::create_group(engine, &all, &members, MADE)?;
    // SAFETY: by the caller.
    unsafe { put(out, made, absolute, all.size()) }
}

/// Stores a new group.
///
/// # Safety
/// `out` can be written.
unsafe fn put(out: *mut GroupOfC, made: Option<Comm>, absolute: Vec<c_int>, of: u32) -> Result<()> {
    let group = match made {
        None => GroupOfC::nobody(),
        Some(made) => {
            let rank = made.rank;
            GroupOfC::new(COMMS.put(Arc::new(made))?, rank, absolute, of)?
        }
    };
    // SAFETY: by the caller.
    unsafe { out.write(group) };
    Ok(())
}

/// `ARMCI_Group_free`. Those who are not in the group may call it too.
///
/// # Safety
/// As [`given`]; it can be written.
pub unsafe fn free(_: &Call, group: *mut GroupOfC) -> Result<()> {
    // SAFETY: by the caller.
    let freed = *unsafe { given(group)? };
    let is_world = change(|world| {
        if world.default.comm == freed.comm {
            world.default = world.group;
        }
        world.group.comm == freed.comm
    })?;
    if is_world {
        return Err(Error::new(Class::Group, "the group of all ranks cannot be freed"));
    }
    forget(ARMCI.engine()?, freed)?;
    // SAFETY: by the caller.
    unsafe { group.write(GroupOfC::nobody()) };
    Ok(())
}

/// Gives back what a group has.
///
/// # Errors
/// `Comm` when it was freed already; what an attribute of its communicator says.
pub fn forget(engine: &Engine, group: GroupOfC) -> Result<()> {
    if group.comm == COMMS.null() {
        return Ok(());
    }
    let comm = COMMS.take("group->comm", group.comm)?;
    comm.attributes.delete_all(group.comm.word())?;
    comm.free();
    communicator_is_freed(&comm);
    comm.contexts().for_each(|context| engine.retire(context));
    // SAFETY: the program uses no copy of the group any more.
    unsafe { group.give_back() };
    Ok(())
}

/// `ARMCIX_Group_split`: as `MPI_Comm_split`. Collective over the parent.
///
/// # Safety
/// As [`create_child`].
pub unsafe fn split(
    call: &Call,
    parent: *const GroupOfC,
    color: c_int,
    key: c_int,
    out: *mut GroupOfC,
) -> Result<c_int> {
    not_null("new_group", out)?;
    // SAFETY: by the caller.
    let comm = unsafe { communicator(call, parent)? };
    let (engine, all) = all()?;
    let color = (color != crate::abi::MPI_UNDEFINED).then_some(color);
    let made = create::split(engine, comm, color, key)?;
    let absolute = made.as_ref().map_or(Ok(Vec::new()), |made| absolute_ranks(&all, &made.group))?;
    // SAFETY: by the caller.
    unsafe { put(out, made, absolute, all.size())? };
    Ok(0)
}

/// `ARMCIX_Group_dup`. Collective over the group.
///
/// # Safety
/// As [`split`].
pub unsafe fn duplicate(call: &Call, parent: *const GroupOfC, out: *mut GroupOfC) -> Result<c_int> {
    not_null("new_group", out)?;
    // SAFETY: by the caller.
    let comm = unsafe { communicator(call, parent)? };
    let (engine, all) = all()?;
    let made = create::dup(engine, comm, Copied::default())?;
    let absolute = absolute_ranks(&all, &made.group)?;
    let group = GroupOfC::new(COMMS.put(made)?, comm.rank, absolute, all.size())?;
    // SAFETY: by the caller.
    unsafe { out.write(group) };
    Ok(0)
}

fn absolute_ranks(all: &Comm, group: &Group) -> Result<Vec<c_int>> {
    let rank_of = |job_rank| all.group.rank_of(job_rank).map(|rank| rank as c_int);
    let ranks = group.iter().map(rank_of).collect::<Option<Vec<_>>>();
    ranks.ok_or_else(|| Error::new(Class::Group, "the group has a process that is no rank of ARMCI"))
}
