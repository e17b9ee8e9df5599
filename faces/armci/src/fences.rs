//! Fences, barriers, and handles of nonblocking operations. On a node these are done when they have been begun. What other
//! nodes' servers bring is waited for, whatever the handle.

use super::argument_checks::not_null;
use super::wall::ARMCI;
use super::world_of_armci::{all, world};
use crate::common::entry::Call;
use crate::common::page;
use serried_engine::collective::Operation;
use serried_engine::observe::page::NONE;
use serried_engine::Result;
use std::ffi::{c_int, c_void};

/// `armci_hdl_t`. Zeros: idle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleOfC {
    unused: c_int,
    /// Whether it stands for several operations.
    aggregate: c_int,
}

/// `ARMCI_Fence`: what this rank has put and added at `proc` is done there.
pub fn fence(_: &Call, proc: c_int) -> Result<()> {
    world(|world| {
        page::own().about(world.comm.context(), proc, NONE, 0);
        world.check_rank("proc", proc)
    })??;
    ARMCI.engine()?.order_accesses()
}

/// `ARMCI_AllFence`: the same everywhere.
pub fn fence_all(_: &Call) -> Result<()> {
    ARMCI.engine()?.order_accesses()
}

/// `ARMCI_Barrier`: a fence and a barrier of all ranks.
pub fn barrier(_: &Call) -> Result<()> {
    let (engine, world) = all()?;
    engine.order_accesses()?;
    engine.run_collective(&world, &Operation::Barrier)
}

/// `ARMCI_Access_begin` and `ARMCI_Access_end`: loads and stores of one's own memory are ordered with what others do.
pub fn access(_: &Call, _: *mut c_void) -> Result<()> {
    ARMCI.engine()?.order_accesses()
}

/// `ARMCI_INIT_HANDLE`, `ARMCI_SET_AGGREGATE_HANDLE`, `ARMCI_UNSET_AGGREGATE_HANDLE`.
///
/// # Safety
/// The handle is null or can be written.
pub unsafe fn set_handle(_: &Call, handle: *mut HandleOfC, aggregate: bool) -> Result<()> {
    not_null("handle", handle)?;
    // SAFETY: by the caller.
    unsafe { handle.write(HandleOfC { unused: 0, aggregate: c_int::from(aggregate) }) };
    Ok(())
}

/// `ARMCI_Wait`, `ARMCI_Test`: 0, for it is done then.
pub fn wait(call: &Call, handle: *mut HandleOfC) -> Result<c_int> {
    not_null("handle", handle)?;
    wait_for_all(call)
}

/// `ARMCI_WaitAll`.
pub fn wait_for_all(_: &Call) -> Result<c_int> {
    ARMCI.engine()?.have_all_answers()?;
    Ok(0)
}

/// `ARMCI_WaitProc`.
pub fn wait_for_rank(call: &Call, proc: c_int) -> Result<c_int> {
    world(|world| world.check_rank("proc", proc))??;
    wait_for_all(call)
}
