//! Send and receive in one call (MPI-5.0 §3.10).

use super::{
    data_beside_device, incoming, incoming_to, outgoing, receive, report, short, Incoming, Outgoing,
};
use crate::entry::engine;
use crate::objects::{Comm, Datatype};
use crate::request::OutRequest;
use crate::status::StatusOut;
use serried_engine::message::{Buffer, Mode};
use serried_engine::request::{RequestId, Status};
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// Both at once; waits for both whatever becomes of one.
fn exchange(outgoing: Outgoing, incoming: Incoming) -> Result<Status> {
    let (receive, send) = start_both(outgoing, incoming)?;
    let engine = engine()?;
    let sent = engine.wait(send).map(|(done, _)| done);
    let (received, _) = engine.wait(receive)?;
    match sent?.error {
        Some(error) => Err(error),
        None => Ok(received),
    }
}

/// Starts both; a receive whose send cannot start is taken back.
fn start_both(outgoing: Outgoing, incoming: Incoming) -> Result<(RequestId, RequestId)> {
    let receive = incoming.start()?;
    match outgoing.start(Mode::Standard) {
        Ok(send) => Ok((receive, send)),
        Err(error) => {
            let engine = engine()?;
            engine.cancel(receive)?;
            engine.wait(receive)?;
            Err(error)
        }
    }
}

/// `MPI_Sendrecv` (§3.10).
#[allow(clippy::too_many_arguments)]
pub fn sendrecv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    status: StatusOut,
) -> Result<()> {
    // A send that goes at once needs no request, and the receive can be a blocking one.
    if short::may_receive(recvbuf, recvcount, recvtype, source, recvtag, comm)
        && short::sent(sendbuf, sendcount, sendtype, dest, sendtag, comm)?
    {
        return receive(recvbuf, recvcount, recvtype, source, recvtag, comm, status, false);
    }
    let incoming = incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let outgoing = outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    report(exchange(outgoing, incoming)?, status)
}

/// `MPI_Isendrecv` (§3.10).
#[allow(clippy::too_many_arguments)]
pub fn isendrecv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &Arc<Datatype>,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    request: OutRequest,
) -> Result<()> {
    let incoming = incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let outgoing = outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    let (receive, send) = start_both(outgoing, incoming)?;
    request.put(engine()?.both(receive, send)?);
    Ok(())
}

/// `MPI_Sendrecv_replace` (§3.10).
#[allow(clippy::too_many_arguments)]
pub fn sendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    status: StatusOut,
) -> Result<()> {
    // Data that have gone at once are not in the buffer any more.
    if short::may_receive(buf, count, datatype, source, recvtag, comm)
        && short::sent(buf, count, datatype, dest, sendtag, comm)?
    {
        return receive(buf, count, datatype, source, recvtag, comm, status, false);
    }
    let incoming = replacing(buf, count, datatype, source, recvtag, comm)?;
    let mut outgoing = outgoing(buf, count, datatype, dest, sendtag, comm)?;
    let mut copy = Vec::new();
    if is_replaced(&outgoing, &incoming) {
        copy.resize(outgoing.buffer.bytes() as usize, 0);
        replace_buffer(&mut outgoing, &mut copy);
    }
    report(exchange(outgoing, incoming)?, status)
}

/// `MPI_Isendrecv_replace` (§3.10).
#[allow(clippy::too_many_arguments)]
pub fn isendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
    request: OutRequest,
) -> Result<()> {
    let incoming = replacing(buf, count, datatype, source, recvtag, comm)?;
    let outgoing = outgoing(buf, count, datatype, dest, sendtag, comm)?;
    // A buffered send copies the data before the receive may overwrite them.
    let mode = if is_replaced(&outgoing, &incoming) { Mode::Buffered } else { Mode::Standard };
    let send = outgoing.start(mode)?;
    let receive = incoming.start()?;
    request.put(engine()?.both(receive, send)?);
    Ok(())
}

/// Checks a receive into memory that is sent meanwhile.
fn replacing(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Comm,
) -> Result<Incoming> {
    incoming_to(data_beside_device(buf, count, datatype)?, source, tag, comm)
}

/// Whether what comes would overwrite what is sent. Memory of a device has a host copy for each of both.
fn is_replaced(outgoing: &Outgoing, incoming: &Incoming) -> bool {
    outgoing.buffer.address() == incoming.buffer.address()
}

/// Sends from a copy of the data instead of the data.
fn replace_buffer(outgoing: &mut Outgoing, copy: &mut [u8]) {
    // SAFETY: the program lends the buffer; the copy has its length.
    unsafe { outgoing.buffer.pack(0, copy.as_mut_ptr(), copy.len()) };
    outgoing.buffer = Buffer::Dense { address: copy.as_mut_ptr(), bytes: copy.len() as u64 };
}
