//! Barrier (MPI-5.0 §6.3).

use super::inter;
use super::{Data, Members, Schedule};
use crate::Result;

/// Nobody leaves before everybody (of the other group, in an
/// intercommunicator) has come.
///
/// # Errors
/// None today.
pub fn barrier(members: Members) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    match members.remote {
        None => dissemination(&mut schedule, members),
        Some(remote) => inter::barrier(&mut schedule, members, remote),
    }
    Ok(schedule)
}

/// In round k every rank hears from the one 2^k before it, and so of twice as
/// many ranks as before.
fn dissemination(schedule: &mut Schedule, members: Members) {
    let Members { rank, size, .. } = members;
    let mut distance = 1;
    while distance < size {
        schedule.receive(members.absolute(rank, size - distance), Data::nothing());
        schedule.send(members.absolute(rank, distance), Data::nothing());
        schedule.wait();
        distance = distance.saturating_mul(2);
    }
}
