//! Notifications: a rank tells another one that all is there which it has put there before. Each is an empty message.

use super::two_sided::NOTIFICATION;
use super::world_of_armci::{all, change, world};
use crate::common::entry::Call;
use serried_engine::message::{Buffer, Envelope, Mode};
use serried_engine::Result;
use std::ffi::c_int;

const NOTHING: Buffer = Buffer::Dense { address: std::ptr::null_mut(), bytes: 0 };

/// `armci_notify`: what this rank has put before is there when the other one has waited for this. Returns how many it has
/// sent to it.
pub fn notify(_: &Call, proc: c_int) -> Result<c_int> {
    let (engine, comm) = all()?;
    let to = world(|world| world.check_rank("proc", proc))??;
    engine.order_accesses()?;
    let envelope = Envelope { context: comm.context(), source: comm.rank as i32, tag: NOTIFICATION };
    engine.send(comm.group.job_rank(to), envelope, NOTHING, Mode::Standard)?;
    change(|world| {
        let counts = world.notifications.entry(to).or_default();
        counts.sent += 1;
        counts.sent
    })
}

/// `armci_notify_wait`: waits for the next notification of a rank. Returns how many of it were waited for, and stores that.
///
/// # Safety
/// `value` is null or can be written.
pub unsafe fn wait(_: &Call, proc: c_int, value: *mut c_int) -> Result<c_int> {
    let (engine, comm) = all()?;
    let from = world(|world| world.check_rank("proc", proc))??;
    let envelope = Envelope { context: comm.context(), source: from as i32, tag: NOTIFICATION };
    let status = engine.receive(envelope, comm.peers().find(from as i32), NOTHING)?;
    if let Some(error) = status.error {
        return Err(error);
    }
    engine.order_accesses()?;
    let waited_for = change(|world| {
        let counts = world.notifications.entry(from).or_default();
        counts.waited_for += 1;
        counts.waited_for
    })?;
    if !value.is_null() {
        // SAFETY: by the caller.
        unsafe { value.write(waited_for) };
    }
    Ok(waited_for)
}
