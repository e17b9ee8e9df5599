//! Processes that have failed, where the job goes on without them (ULFM: User Level Failure Mitigation).

use super::group;
use crate::arguments::OutValue;
use crate::entry::engine;
use crate::handle::COMMS;
use crate::handle_arguments::Out;
use crate::objects::{Comm, Group};
use crate::request::OutRequest;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The members of the local group that have failed up to a mark, in the order in which this process has learned of that.
fn first_failed(comm: &Comm, last: u64) -> Result<Group> {
    Ok(engine()?.failed_of(comm, last))
}

/// `MPIX_Comm_get_failed`: those that have failed so far.
pub fn mpix_comm_get_failed(comm: &Arc<Comm>, failedgrp: Out<Group>) -> Result<()> {
    engine()?.catch_up()?;
    group::put(&failedgrp, first_failed(comm, u64::MAX)?)
}

/// `MPIX_Comm_failure_ack`: receives from any source wait for those that are left from now on.
pub fn mpix_comm_failure_ack(comm: &Arc<Comm>) -> Result<()> {
    comm.acknowledged.store(engine()?.all_failures(), Relaxed);
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
    if let Some(last) = engine()?.mark_of_failed(&comm.group, count) {
        comm.acknowledged.fetch_max(last, Relaxed);
    }
    num_acked.set(first_failed(comm, comm.acknowledged.load(Relaxed))?.size() as c_int);
    Ok(())
}

/// `MPIX_Comm_agree`: the flag is set also when failures are told that are not acknowledged.
pub fn mpix_comm_agree(comm: &Arc<Comm>, flag: OutValue<c_int>) -> Result<()> {
    engine()?.agree_on(comm, flag.get() as u32, move |agreed| flag.set(agreed as c_int))
}

/// `MPIX_Comm_iagree`: as `MPIX_Comm_agree`, when the request is complete.
pub fn mpix_comm_iagree(comm: &Arc<Comm>, flag: OutValue<c_int>, request: OutRequest) -> Result<()> {
    let take = move |agreed| flag.set(agreed as c_int);
    request.put_plain(engine()?.start_agreeing_on(comm, flag.get() as u32, take)?);
    Ok(())
}

/// `MPIX_Comm_shrink`
pub fn mpix_comm_shrink(comm: &Arc<Comm>, newcomm: Out<Comm>) -> Result<()> {
    let mut made = None;
    engine()?.shrink(comm, |smaller| {
        made = Some(smaller);
        Ok(())
    })?;
    super::communicator::put(&newcomm, made)
}

/// `MPIX_Comm_ishrink`: the handle stands for a communicator that cannot be used, until the request is complete.
pub fn mpix_comm_ishrink(comm: &Arc<Comm>, newcomm: Out<Comm>, request: OutRequest) -> Result<()> {
    let unsettled = Arc::new(Comm::new(0, comm.group.clone(), comm.rank));
    let place = unsettled.clone();
    let take = move |smaller| {
        COMMS.replace(&place, Arc::new(smaller));
        Ok(())
    };
    newcomm.put(unsettled.clone())?;
    match engine()?.start_shrinking(comm, take) {
        Ok(id) => {
            request.put_plain(id);
            Ok(())
        }
        Err(error) => {
            newcomm.put_null();
            COMMS.handle_of(&unsettled).map_or(Ok(()), |handle| COMMS.take("newcomm", handle).map(drop))?;
            Err(error)
        }
    }
}

/// `MPIX_Comm_revoke`
pub fn mpix_comm_revoke(comm: &Arc<Comm>) -> Result<()> {
    engine()?.revoke(comm)
}

/// `MPIX_Comm_is_revoked`
pub fn mpix_comm_is_revoked(comm: &Arc<Comm>, flag: OutValue<c_int>) -> Result<()> {
    let engine = engine()?;
    engine.catch_up()?;
    flag.set_flag(engine.is_revoked(comm));
    Ok(())
}
