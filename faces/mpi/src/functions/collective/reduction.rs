//! Reductions (MPI-5.0 §6.9 to §6.11): checked arguments.

use super::check::{apart, in_place, members, members_and_root, members_of_one_group, OPERAND, RESULT};
use crate::arguments::Counts;
use crate::objects::{Comm, Datatype, Op};
use serried_engine::collective::{self, Data, Members, Operation, Role};
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// `MPI_Reduce` (§6.9.1).
#[inline]
pub fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (members, root) = members_and_root(comm, root)?;
    let role = members.role(root);
    let send = match role {
        Role::Absent => None,
        Role::Root if members.remote.is_some() || in_place(&members, sendbuf) => None,
        _ => Some(OPERAND.data(sendbuf, count, datatype)?),
    };
    let receive = match role {
        Role::Root => Some(RESULT.data(recvbuf, count, datatype)?),
        _ => None,
    };
    if let (Some(send), Some(receive)) = (&send, &receive) {
        apart(send, receive)?;
    }
    Ok(Operation::Reduce { root, send, receive, operator: op.into() })
}

/// Operand and result of a reduction to all.
#[inline(always)]
fn both(
    members: &Members,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
) -> Result<(Option<Data>, Data)> {
    let send = OPERAND.unless_in_place(members, sendbuf, count, datatype)?;
    let receive = RESULT.data(recvbuf, count, datatype)?;
    if let Some(send) = &send {
        apart(send, &receive)?;
    }
    Ok((send, receive))
}

/// `MPI_Allreduce` (§6.9.6).
#[inline]
pub fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let (send, receive) = both(&members, sendbuf, recvbuf, count, datatype)?;
    Ok(Operation::Allreduce { send, receive, operator: op.into() })
}

/// `MPI_Scan` (§6.11.1).
pub fn scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members_of_one_group(comm)?;
    let (send, receive) = both(&members, sendbuf, recvbuf, count, datatype)?;
    Ok(Operation::Scan { send, receive, operator: op.into() })
}

/// `MPI_Exscan` (§6.11.2).
pub fn exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members_of_one_group(comm)?;
    let (send, receive) = both(&members, sendbuf, recvbuf, count, datatype)?;
    Ok(Operation::Exscan { send, receive, operator: op.into() })
}

/// `MPI_Reduce_scatter_block` (§6.10.1).
pub fn reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let (send, receive) = both(&members, sendbuf, recvbuf, recvcount, datatype)?;
    Ok(Operation::ReduceScatter { send, receive, counts: collective::Counts::Equal, operator: op.into() })
}

/// `MPI_Reduce_scatter` (§6.10.2).
pub fn reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let counts = RESULT.counts(recvcounts, members.size)?;
    let total = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
    let total = total.and_then(|total| i64::try_from(total).ok()).unwrap_or(i64::MAX);
    let mine = counts[members.rank as usize] as i64;
    let send = OPERAND.unless_in_place(&members, sendbuf, total, datatype)?;
    let room = if send.is_some() { mine } else { total };
    let receive = RESULT.data(recvbuf, room, datatype)?;
    if let Some(send) = &send {
        apart(send, &receive)?;
    }
    let counts = collective::Counts::Each(counts);
    Ok(Operation::ReduceScatter { send, receive, counts, operator: op.into() })
}
