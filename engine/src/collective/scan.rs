//! Scan and exscan (MPI-5.0 §6.11).

use super::{Data, Members, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// Rank `r` gets the combination of the parts of ranks 0 to `r`; without `send`
/// its part is in place.
///
/// # Errors
/// `Op` when the operator does not take the type; `NoMem`.
pub fn scan(
    members: Members,
    send: Option<Data>,
    receive: Data,
    operator: &Arc<Operator>,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    operator.check(&receive.datatype)?;
    if receive.bytes() == 0 {
        return Ok(schedule);
    }
    if let Some(exact) = operator.exact(&receive.datatype) {
        super::exact::prefixes(
            &mut schedule,
            members,
            true,
            send.as_ref().unwrap_or(&receive),
            &receive,
            exact,
        )?;
        return Ok(schedule);
    }
    if let Some(send) = send {
        schedule.copy(send, receive.clone());
    }
    prefixes(&mut schedule, members, 0, &receive, operator)?;
    Ok(schedule)
}

/// Rank `r` gets the combination of the parts of the ranks below `r`; rank 0
/// gets nothing.
///
/// # Errors
/// As [`scan`].
pub fn exscan(
    members: Members,
    send: Option<Data>,
    receive: Data,
    operator: &Arc<Operator>,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    let Members { rank, size, .. } = members;
    operator.check(&receive.datatype)?;
    if receive.bytes() == 0 {
        return Ok(schedule);
    }
    if let Some(exact) = operator.exact(&receive.datatype) {
        let mine = send.as_ref().unwrap_or(&receive);
        super::exact::prefixes(&mut schedule, members, false, mine, &receive, exact)?;
        return Ok(schedule);
    }
    // Every part moves one rank up; then it is a scan without rank 0.
    let staged = if send.is_none() && rank > 0 {
        Some(schedule.temporary(receive.count, &receive.datatype)?)
    } else {
        None
    };
    if rank > 0 {
        schedule.receive(rank - 1, staged.as_ref().unwrap_or(&receive).clone());
    }
    if rank + 1 < size {
        schedule.send(rank + 1, send.unwrap_or_else(|| receive.clone()));
    }
    schedule.wait();
    if let Some(staged) = staged {
        schedule.copy(staged, receive.clone());
    }
    if rank > 0 {
        prefixes(&mut schedule, members, 1, &receive, operator)?;
    }
    Ok(schedule)
}

/// Makes of the values of the ranks from `first` on their prefixes, in place. In
/// each round a value comes to cover twice as many ranks.
fn prefixes(
    schedule: &mut Schedule,
    members: Members,
    first: u32,
    value: &Data,
    operator: &Arc<Operator>,
) -> Result<()> {
    let position = members.rank - first;
    let length = members.size - first;
    let mut incoming = None;
    let mut distance = 1;
    while distance < length {
        let lower = position.checked_sub(distance);
        if let Some(lower) = lower {
            if incoming.is_none() {
                incoming = Some(schedule.temporary(value.count, &value.datatype)?);
            }
            schedule.receive(first + lower, incoming.clone().unwrap_or_else(Data::nothing));
        }
        if length - distance > position {
            schedule.send(members.rank + distance, value.clone());
        }
        schedule.wait();
        if let (Some(_), Some(incoming)) = (lower, &incoming) {
            schedule.reduce(operator, incoming, value);
        }
        distance = distance.saturating_mul(2);
    }
    Ok(())
}
