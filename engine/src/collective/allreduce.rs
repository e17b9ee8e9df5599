//! Allreduce (MPI-5.0 §6.9.6).

use super::halving::{self, Shares};
use super::partial::Partial;
use super::selection::{self, Reduction};
use super::tree::Folded;
use super::{inter, Data, Members, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// Everybody gets the combination of everybody's `send` (`None`: in place), bit
/// for bit the same. In an intercommunicator: of the other group's.
///
/// # Errors
/// `Op` when the operator does not take the type; `NoMem`.
pub fn allreduce(
    members: Members,
    send: Option<Data>,
    receive: Data,
    operator: &Arc<Operator>,
) -> Result<Schedule> {
    if let (Some(exact), None) = (operator.exact(&receive.datatype), members.remote) {
        let mut schedule = Schedule::new();
        super::exact::allreduce(&mut schedule, members, send.as_ref().unwrap_or(&receive), &receive, exact)?;
        return Ok(schedule);
    }
    let algorithm = selection::choose(&selection::REDUCTION, members.size, receive.bytes());
    build(members, send, receive, operator, algorithm)
}

pub(super) fn build(
    members: Members,
    send: Option<Data>,
    receive: Data,
    operator: &Arc<Operator>,
    algorithm: Reduction,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    operator.check(&receive.datatype)?;
    if let Some(remote) = members.remote {
        let send = send.unwrap_or_else(Data::nothing);
        inter::exchange_reduced(&mut schedule, members, remote, send, &receive, operator)?;
        return Ok(schedule);
    }
    let Some(mut partial) = Partial::new(operator, send.as_ref(), Some(&receive)) else {
        return Ok(schedule);
    };
    if receive.bytes() == 0 {
        return Ok(schedule);
    }
    let folded = Folded::new(members.size, 0);
    let seat = folded.seat(members.rank);
    let host = folded.host(seat);
    if host != members.rank {
        schedule.send(host, partial.value);
        schedule.wait();
        schedule.receive(host, receive);
        return Ok(schedule);
    }
    let guest = folded.guest(seat);
    if let Some(guest) = guest {
        partial.fold_from(&mut schedule, guest, false)?;
    }
    match algorithm {
        Reduction::Tree => doubling(&mut schedule, &folded, seat, partial, &receive)?,
        Reduction::Halving => halves(&mut schedule, &folded, seat, partial, &receive)?,
    }
    if let Some(guest) = guest {
        schedule.send(guest, receive);
    }
    Ok(schedule)
}

/// Both halves of each block exchange all they have, level by level.
fn doubling(
    schedule: &mut Schedule,
    folded: &Folded,
    seat: u32,
    mut partial: Partial,
    receive: &Data,
) -> Result<()> {
    for level in 0..folded.levels() {
        let partner = seat ^ (1 << level);
        let from_lower = partner < seat;
        let incoming = partial.incoming(schedule, from_lower)?;
        schedule.exchange(folded.host(partner), partial.value.clone(), incoming.clone());
        partial.fold(schedule, incoming, from_lower, (0, receive.count))?;
    }
    partial.settle(schedule, receive, (0, receive.count));
    Ok(())
}

fn halves(
    schedule: &mut Schedule,
    folded: &Folded,
    seat: u32,
    mut partial: Partial,
    receive: &Data,
) -> Result<()> {
    let shares = Shares::even(folded.seats(), receive.count);
    halving::reduce(schedule, folded, seat, &shares, &mut partial)?;
    partial.settle(schedule, receive, shares.share(folded, seat));
    halving::spread(schedule, folded, seat, &shares, receive);
    Ok(())
}
