//! Mutexes: one set of all ranks, and sets of groups with handles.

use super::allocation::context_of;
use super::group_of_c::GroupOfC;
use super::processor_groups::communicator;
use super::wall::ARMCI;
use super::world_of_armci::{all, change, world};
use crate::common::entry::Call;
use serried_engine::onesided::Exposure;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// What an `armcix_mutex_hdl_t` points to.
pub type Set = *const Exposure;

fn number(argument: &str, value: c_int) -> Result<u32> {
    u32::try_from(value)
        .map_err(|_| Error::new(Class::Arg, format!("argument {argument} is {value}; it cannot be negative")))
}

/// The set of all ranks.
fn set_of_all() -> Result<Arc<Exposure>> {
    world(|world| world.mutexes.clone())?.ok_or_else(|| {
        Error::new(Class::Other, "there are no mutexes: all ranks must call ARMCI_Create_mutexes before")
    })
}

/// The set of a handle.
fn set_of(handle: Set) -> Result<Arc<Exposure>> {
    let found = world(|world| world.sets.iter().find(|set| Arc::as_ptr(set) == handle).cloned())?;
    found.ok_or_else(|| {
        let sentence = format!(
            "argument hdl ({handle:p}) is no set of mutexes: it was never made, or has been destroyed"
        );
        Error::new(Class::Arg, sentence)
    })
}

/// `ARMCI_Create_mutexes`. Collective; the numbers may differ.
pub fn create(_: &Call, count: c_int) -> Result<c_int> {
    let (engine, comm) = all()?;
    if world(|world| world.mutexes.is_some())? {
        let sentence =
            "there are mutexes already: all ranks must call ARMCI_Destroy_mutexes before they create others";
        return Err(Error::new(Class::Other, sentence));
    }
    let made = engine.make_mutexes(&comm, i64::from(count))?;
    change(|world| world.mutexes = Some(made))?;
    Ok(0)
}

/// `ARMCI_Destroy_mutexes`. Collective.
pub fn destroy(_: &Call) -> Result<c_int> {
    let set = set_of_all()?;
    ARMCI.engine()?.unexpose(&set)?;
    change(|world| world.mutexes = None)?;
    Ok(0)
}

/// `ARMCI_Lock`.
pub fn lock(_: &Call, mutex: c_int, proc: c_int) -> Result<()> {
    let set = set_of_all()?;
    let member = world(|world| world.check_rank("proc", proc))??;
    ARMCI.engine()?.lock_mutex(&set, member, number("mutex", mutex)?)
}

/// `ARMCI_Unlock`.
pub fn unlock(_: &Call, mutex: c_int, proc: c_int) -> Result<()> {
    let set = set_of_all()?;
    let member = world(|world| world.check_rank("proc", proc))??;
    ARMCI.engine()?.unlock_mutex(&set, member, number("mutex", mutex)?)
}

/// `ARMCIX_Create_mutexes_hdl`. Collective over the group; null when there is no memory.
///
/// # Safety
/// The group is null or one of ARMCI's.
pub unsafe fn create_set(call: &Call, count: c_int, group: *const GroupOfC) -> Result<Set> {
    // SAFETY: by the caller.
    let comm = unsafe { communicator(call, group)? };
    let made = match ARMCI.engine()?.make_mutexes(comm, i64::from(count)) {
        Ok(made) => made,
        Err(error) if error.class() == Class::NoMem => return Ok(std::ptr::null()),
        Err(error) => return Err(error),
    };
    let handle = Arc::as_ptr(&made);
    change(|world| world.sets.push(made))?;
    Ok(handle)
}

/// `ARMCIX_Destroy_mutexes_hdl`. Collective over the group.
pub fn destroy_set(_: &Call, handle: Set) -> Result<c_int> {
    let set = set_of(handle)?;
    ARMCI.engine()?.unexpose(&set)?;
    change(|world| world.sets.retain(|one| context_of(one) != context_of(&set)))?;
    Ok(0)
}

/// `ARMCIX_Lock_hdl`: the rank is one of the group.
pub fn lock_in(_: &Call, handle: Set, mutex: c_int, proc: c_int) -> Result<()> {
    ARMCI.engine()?.lock_mutex(&*set_of(handle)?, number("proc", proc)?, number("mutex", mutex)?)
}

/// `ARMCIX_Trylock_hdl`: 0 if it is held now.
pub fn try_in(_: &Call, handle: Set, mutex: c_int, proc: c_int) -> Result<c_int> {
    let got = ARMCI.engine()?.try_mutex(&*set_of(handle)?, number("proc", proc)?, number("mutex", mutex)?)?;
    Ok(c_int::from(!got))
}

/// `ARMCIX_Unlock_hdl`.
pub fn unlock_in(_: &Call, handle: Set, mutex: c_int, proc: c_int) -> Result<()> {
    ARMCI.engine()?.unlock_mutex(&*set_of(handle)?, number("proc", proc)?, number("mutex", mutex)?)
}
