//! Operations that move data (MPI-5.0 §6.3 to §6.8): checked arguments.

#![allow(clippy::too_many_arguments)] // they are MPI's own

use super::check::{apart, fits, in_place, members, members_and_root, BUFFER, RECEIVE, SEND};
use super::LateType;
use crate::arguments::Counts;
use crate::handle_arguments::Handles;
use crate::objects::{Comm, Datatype};
use serried_engine::collective::{Blocks, Data, Members, Operation, Role, Root};
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// `MPI_Barrier` (§6.3).
pub fn barrier(comm: &Arc<Comm>) -> Result<Operation> {
    members(comm)?;
    Ok(Operation::Barrier)
}

/// `MPI_Bcast` (§6.4).
#[inline]
pub fn bcast(
    buffer: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (_, root) = members_and_root(comm, root)?;
    let data = match root {
        Root::Nobody => Data::nothing(),
        _ => BUFFER.data(buffer, count, datatype)?,
    };
    Ok(Operation::Broadcast { root, data })
}

/// What a rank sends to all, unless that is in place.
fn unless_in_place(
    members: &Members,
    (buffer, count, datatype): (*const c_void, i64, LateType),
) -> Result<Option<Data>> {
    match in_place(members, buffer) {
        true => Ok(None),
        false => SEND.late_data(buffer, count, datatype).map(Some),
    }
}

/// What a rank sends to a root, if anything; at the root it may be in place.
fn to_root(
    members: &Members,
    role: Role,
    (buffer, count, datatype): (*const c_void, i64, LateType),
) -> Result<Option<Data>> {
    match role {
        Role::Absent => Ok(None),
        Role::Root if members.remote.is_some() || in_place(members, buffer) => Ok(None),
        _ => SEND.late_data(buffer, count, datatype).map(Some),
    }
}

/// What a rank receives from a root, if anything; at the root it may be in place.
fn from_root(
    members: &Members,
    role: Role,
    (buffer, count, datatype): (*mut c_void, i64, LateType),
) -> Result<Option<Data>> {
    match role {
        Role::Absent => Ok(None),
        Role::Root if members.remote.is_some() || in_place(members, buffer) => Ok(None),
        _ => RECEIVE.late_data(buffer, count, datatype).map(Some),
    }
}

/// Checks what is sent to oneself; `send` and `receive` are whole blocks.
fn own(send: Option<&Data>, receive: Option<&Data>) -> Result<()> {
    if let (Some(send), Some(receive)) = (send, receive) {
        fits(send, receive)?;
        apart(send, receive)?;
    }
    Ok(())
}

/// `MPI_Gather` (§6.5).
pub fn gather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (members, root) = members_and_root(comm, root)?;
    let role = members.role(root);
    let send = to_root(&members, role, (sendbuf, sendcount, sendtype))?;
    let receive = match role {
        Role::Root => Some(RECEIVE.late_data(recvbuf, recvcount, recvtype)?),
        _ => None,
    };
    let block = receive.as_ref().map(|receive| receive.block(members.rank, members.peers())).transpose()?;
    own(send.as_ref(), block.as_ref())?;
    Ok(Operation::Gather { root, send, receive })
}

/// `MPI_Gatherv` (§6.5).
pub fn gatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: LateType,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (members, root) = members_and_root(comm, root)?;
    let role = members.role(root);
    let send = to_root(&members, role, (sendbuf, sendcount, sendtype))?;
    let receive = match role {
        Role::Root => RECEIVE.blocks(recvbuf, (recvcounts, displs), recvtype, members.peers() as usize)?,
        _ => Blocks::new(),
    };
    own(send.as_ref(), receive.get(members.rank as usize))?;
    Ok(Operation::Gatherv { root, send, receive })
}

/// `MPI_Scatter` (§6.6).
pub fn scatter(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (members, root) = members_and_root(comm, root)?;
    let role = members.role(root);
    let send = match role {
        Role::Root => Some(SEND.late_data(sendbuf, sendcount, sendtype)?),
        _ => None,
    };
    let receive = from_root(&members, role, (recvbuf, recvcount, recvtype))?;
    let block = send.as_ref().map(|send| send.block(members.rank, members.peers())).transpose()?;
    own(block.as_ref(), receive.as_ref())?;
    Ok(Operation::Scatter { root, send, receive })
}

/// `MPI_Scatterv` (§6.6).
pub fn scatterv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    displs: Counts,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    root: i32,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (members, root) = members_and_root(comm, root)?;
    let role = members.role(root);
    let send = match role {
        Role::Root => SEND.blocks(sendbuf, (sendcounts, displs), sendtype, members.peers() as usize)?,
        _ => Blocks::new(),
    };
    let receive = from_root(&members, role, (recvbuf, recvcount, recvtype))?;
    own(send.get(members.rank as usize), receive.as_ref())?;
    Ok(Operation::Scatterv { root, send, receive })
}

/// `MPI_Allgather` (§6.7).
pub fn allgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let send = unless_in_place(&members, (sendbuf, sendcount, sendtype))?;
    let receive = RECEIVE.late_data(recvbuf, recvcount, recvtype)?;
    if let Some(send) = &send {
        apart(send, &receive.times(members.peers())?)?;
        if members.remote.is_none() {
            fits(send, &receive)?;
        }
    }
    Ok(Operation::Allgather { send, receive })
}

/// `MPI_Allgatherv` (§6.7).
pub fn allgatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let send = unless_in_place(&members, (sendbuf, sendcount, sendtype))?;
    let receive = RECEIVE.blocks(recvbuf, (recvcounts, displs), recvtype, members.peers() as usize)?;
    if members.remote.is_none() {
        own(send.as_ref(), receive.get(members.rank as usize))?;
    }
    Ok(Operation::Allgatherv { send, receive })
}

/// `MPI_Alltoall` (§6.8).
pub fn alltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let send = unless_in_place(&members, (sendbuf, sendcount, sendtype))?;
    let receive = RECEIVE.late_data(recvbuf, recvcount, recvtype)?;
    if let Some(send) = &send {
        apart(&send.times(members.peers())?, &receive.times(members.peers())?)?;
        if members.remote.is_none() {
            fits(send, &receive)?;
        }
    }
    Ok(Operation::Alltoall { send, receive })
}

/// Checks blocks sent and received.
fn exchange(members: Members, send: Option<Blocks>, receive: Blocks) -> Result<Operation> {
    if let (Some(send), None) = (&send, members.remote) {
        let me = members.rank as usize;
        fits(&send[me], &receive[me])?;
        send.iter().zip(&receive).try_for_each(|(send, receive)| apart(send, receive))?;
    }
    Ok(Operation::Alltoallw { send, receive })
}

/// `MPI_Alltoallv` (§6.8).
pub fn alltoallv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let number = members.peers() as usize;
    let send = match in_place(&members, sendbuf) {
        true => None,
        false => Some(SEND.blocks(sendbuf, (sendcounts, sdispls), sendtype, number)?),
    };
    let receive = RECEIVE.blocks(recvbuf, (recvcounts, rdispls), recvtype, number)?;
    exchange(members, send, receive)
}

/// `MPI_Alltoallw` (§6.8).
pub fn alltoallw(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: Handles<Datatype>,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: Handles<Datatype>,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let members = members(comm)?;
    let number = members.peers() as usize;
    let send = match in_place(&members, sendbuf) {
        true => None,
        false => Some(SEND.typed_blocks(sendbuf, (sendcounts, sdispls), sendtypes, number)?),
    };
    let receive = RECEIVE.typed_blocks(recvbuf, (recvcounts, rdispls), recvtypes, number)?;
    exchange(members, send, receive)
}
