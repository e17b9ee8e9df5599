//! Processes that have failed, where the job goes on without them (ULFM: User Level Failure Mitigation).

use super::group;
use crate::arguments::OutValue;
use crate::entry::engine;
use crate::handle_arguments::Out;
use crate::objects::{Comm, Group};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The members of the local group that are among the first so many that have failed, in the order in which they have.
fn first_failed(comm: &Comm, first: u32) -> Result<Group> {
    Ok(engine()?.failed_of(&comm.group, first))
}

/// `MPIX_Comm_get_failed`: those that have failed so far.
pub fn mpix_comm_get_failed(comm: &Arc<Comm>, failedgrp: Out<Group>) -> Result<()> {
    group::put(&failedgrp, first_failed(comm, u32::MAX)?)
}

/// `MPIX_Comm_failure_ack`: receives from any source wait for those that are left from now on.
pub fn mpix_comm_failure_ack(comm: &Arc<Comm>) -> Result<()> {
    comm.acknowledged.store(engine()?.failures(), Relaxed);
    Ok(())
}

/// `MPIX_Comm_failure_get_acked`: those that were acknowledged.
pub fn mpix_comm_failure_get_acked(comm: &Arc<Comm>, failedgrp: Out<Group>) -> Result<()> {
    group::put(&failedgrp, first_failed(comm, comm.acknowledged.load(Relaxed))?)
}

/// `MPIX_Comm_ack_failed`: acknowledges the first so many; how many are, of the local group.
pub fn mpix_comm_ack_failed(comm: &Arc<Comm>, num_to_ack: c_int, num_acked: OutValue<c_int>) -> Result<()> {
    let count = usize::try_from(num_to_ack).map_err(|_| {
        Error::new(Class::Arg, format!("argument num_to_ack is {num_to_ack}; it must not be negative"))
    })?;
    if let Some(last) = engine()?.number_of_failed(&comm.group, count) {
        comm.acknowledged.fetch_max(last, Relaxed);
    }
    num_acked.set(first_failed(comm, comm.acknowledged.load(Relaxed))?.size() as c_int);
    Ok(())
}

/// `MPIX_Comm_agree`: the flag is set also when failures are told that are not acknowledged.
pub fn mpix_comm_agree(comm: &Arc<Comm>, flag: OutValue<c_int>) -> Result<()> {
    let (agreed, all_known) = engine()?.agree_on(comm, flag.get() as u32)?;
    flag.set(agreed as c_int);
    all_known
}

/// `MPIX_Comm_shrink`
pub fn mpix_comm_shrink(comm: &Arc<Comm>, newcomm: Out<Comm>) -> Result<()> {
    newcomm.put(Arc::new(engine()?.shrink(comm)?))
}

/// `MPIX_Comm_revoke`
pub fn mpix_comm_revoke(comm: &Arc<Comm>) -> Result<()> {
    engine()?.revoke(comm)
}

/// `MPIX_Comm_is_revoked`
pub fn mpix_comm_is_revoked(comm: &Arc<Comm>, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(engine()?.is_revoked(comm));
    Ok(())
}
