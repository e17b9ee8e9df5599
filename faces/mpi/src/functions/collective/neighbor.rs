//! Neighbourhood operations (MPI-5.0 §8.6): arguments to operations. None of
//! them can be in place.

#![allow(clippy::too_many_arguments)] // they are MPI's own

use super::check::{members, RECEIVE, SEND};
use super::LateType;
use crate::arguments::Counts;
use crate::handle_arguments::Handles;
use crate::objects::{Comm, Datatype};
use serried_engine::collective::{self, Neighbourhood, Operation, Sent};
use serried_engine::engine::participants::neighbourhood;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// My edges, and how many of them are incoming and outgoing.
fn edges(comm: &Arc<Comm>) -> Result<(Neighbourhood, usize, usize)> {
    members(comm)?;
    let hood = neighbourhood(comm)?;
    let (incoming, outgoing) = (hood.sources.len(), hood.destinations.len());
    Ok((hood, incoming, outgoing))
}

/// `MPI_Neighbor_allgather` (§8.6.1).
pub fn neighbor_allgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (hood, ..) = edges(comm)?;
    let send = SEND.late_data(sendbuf, sendcount, sendtype)?;
    let receive = RECEIVE.late_data(recvbuf, recvcount, recvtype)?;
    collective::neighbour_allgather(hood, send, receive)
}

/// `MPI_Neighbor_allgatherv` (§8.6.1).
pub fn neighbor_allgatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (hood, incoming, _) = edges(comm)?;
    let send = SEND.late_data(sendbuf, sendcount, sendtype)?;
    let receive = RECEIVE.blocks(recvbuf, (recvcounts, displs), recvtype, incoming)?;
    Ok(Operation::Neighbours { hood, send: Sent::Same(send), receive })
}

/// `MPI_Neighbor_alltoall` (§8.6.2).
pub fn neighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: LateType,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: LateType,
    comm: &Arc<Comm>,
) -> Result<Operation> {
    let (hood, ..) = edges(comm)?;
    let send = SEND.late_data(sendbuf, sendcount, sendtype)?;
    let receive = RECEIVE.late_data(recvbuf, recvcount, recvtype)?;
    collective::neighbour_alltoall(hood, send, receive)
}

/// `MPI_Neighbor_alltoallv` (§8.6.2).
pub fn neighbor_alltoallv(
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
    let (hood, incoming, outgoing) = edges(comm)?;
    let send = SEND.blocks(sendbuf, (sendcounts, sdispls), sendtype, outgoing)?;
    let receive = RECEIVE.blocks(recvbuf, (recvcounts, rdispls), recvtype, incoming)?;
    Ok(Operation::Neighbours { hood, send: Sent::Each(send), receive })
}

/// `MPI_Neighbor_alltoallw` (§8.6.2); displacements are in bytes.
pub fn neighbor_alltoallw(
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
    let (hood, incoming, outgoing) = edges(comm)?;
    let send = SEND.typed_blocks(sendbuf, (sendcounts, sdispls), sendtypes, outgoing)?;
    let receive = RECEIVE.typed_blocks(recvbuf, (recvcounts, rdispls), recvtypes, incoming)?;
    Ok(Operation::Neighbours { hood, send: Sent::Each(send), receive })
}
