//! Operations of an intercommunicator (MPI-5.0 §6.2.3).
//!
//! Messages go between the groups only, so what one group has to tell its own
//! members goes by way of rank 0 of the other group.

use super::members::Role;
use super::partial::Partial;
use super::selection::WINDOW;
use super::{Data, Members, Root, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// The rank of each group that acts for it.
const LEADER: u32 = 0;

/// Nobody leaves before everybody of the other group has come: my leader hears
/// it from all of them and tells theirs, which tells all of us.
pub(super) fn barrier(schedule: &mut Schedule, members: Members, remote: u32) {
    schedule.send(LEADER, Data::nothing());
    if members.rank == LEADER {
        for peer in 0..remote {
            schedule.receive(peer, Data::nothing());
        }
        schedule.wait();
        schedule.send(LEADER, Data::nothing());
        schedule.receive(LEADER, Data::nothing());
        schedule.wait();
        for peer in 0..remote {
            schedule.send(peer, Data::nothing());
        }
    }
    schedule.receive(LEADER, Data::nothing());
}

/// The root speaks with each rank of the other group.
pub(super) fn broadcast(schedule: &mut Schedule, members: Members, root: Root, data: Data) {
    match members.role(root) {
        _ if data.bytes() == 0 => {}
        Role::Absent => {}
        Role::Leaf(root) => schedule.receive(root, data),
        Role::Root => to_all(schedule, members, 0, &data),
    }
}

/// Sends to all peers from `first` on, some at a time.
fn to_all(schedule: &mut Schedule, members: Members, first: u32, data: &Data) {
    for peer in first..members.peers() {
        schedule.send(peer, data.clone());
        if peer % WINDOW == WINDOW - 1 {
            schedule.wait();
        }
    }
}

/// The root combines what the ranks of the other group send, in their order.
pub(super) fn reduce(
    schedule: &mut Schedule,
    members: Members,
    root: Root,
    send: Option<Data>,
    receive: Option<Data>,
    operator: &Arc<Operator>,
) -> Result<()> {
    match (members.role(root), send, receive) {
        (Role::Leaf(root), Some(send), _) if send.bytes() > 0 => {
            operator.check(&send.datatype)?;
            schedule.send(root, send);
        }
        (Role::Root, _, Some(receive)) if receive.bytes() > 0 => {
            operator.check(&receive.datatype)?;
            combine_all(schedule, members.peers(), &receive, operator)?;
        }
        _ => {}
    }
    Ok(())
}

/// Receives a vector from each of `peers` ranks and combines them in `result`.
fn combine_all(schedule: &mut Schedule, peers: u32, result: &Data, operator: &Arc<Operator>) -> Result<()> {
    if let Some(exact) = operator.exact(&result.datatype) {
        return super::exact::combine(schedule, &(0..peers).collect::<Vec<_>>(), None, result, exact);
    }
    schedule.receive(0, result.clone());
    schedule.wait();
    let Some(mut partial) = Partial::new(operator, None, Some(result)) else { return Ok(()) };
    for peer in 1..peers {
        partial.fold_from(schedule, peer, false)?;
    }
    partial.settle(schedule, result, (0, result.count));
    Ok(())
}

/// Everybody gets in `result` the combination of what the ranks of the other
/// group send. My leader combines theirs, theirs ours; the leaders exchange
/// results, and each gives the other group what it waits for.
pub(super) fn exchange_reduced(
    schedule: &mut Schedule,
    members: Members,
    remote: u32,
    send: Data,
    result: &Data,
    operator: &Arc<Operator>,
) -> Result<()> {
    if result.bytes() == 0 {
        return Ok(());
    }
    schedule.send(LEADER, send);
    if members.rank != LEADER {
        schedule.receive(LEADER, result.clone());
        return Ok(());
    }
    combine_all(schedule, remote, result, operator)?;
    if remote == 1 && members.size == 1 {
        return Ok(());
    }
    let ours = schedule.temporary(result.count, &result.datatype)?;
    schedule.exchange(LEADER, result.clone(), ours.clone());
    to_all(schedule, members, LEADER + 1, &ours);
    Ok(())
}
