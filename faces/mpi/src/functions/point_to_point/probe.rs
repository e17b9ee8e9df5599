//! Probing and matched receives (MPI-5.0 §3.8).

use super::{data, report, wanted};
use crate::abi;
use crate::arguments::OutValue;
use crate::entry::engine;
use crate::handle::MESSAGES;
use crate::handle_arguments::{InOut, Out};
use crate::objects::Message;
use crate::objects::{Comm, Datatype};
use crate::request::OutRequest;
use crate::status::StatusOut;
use serried_engine::datatype::Use;
use serried_engine::request::Status;
use serried_engine::Result;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `MPI_Probe` (§3.8.1).
pub fn probe(source: i32, tag: i32, comm: &Arc<Comm>, status: StatusOut) -> Result<()> {
    let (wanted, null_process) = wanted(source, tag, 0, comm)?;
    let found = if null_process {
        Status::null_process()
    } else {
        engine()?.probe(wanted, comm.peers().find(source))?
    };
    status.set(&found);
    Ok(())
}

/// `MPI_Iprobe` (§3.8.1).
pub fn iprobe(
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    flag: OutValue<c_int>,
    status: StatusOut,
) -> Result<()> {
    let (wanted, null_process) = wanted(source, tag, 0, comm)?;
    let found = if null_process { Some(Status::null_process()) } else { engine()?.try_probe(wanted)? };
    flag.set_flag(found.is_some());
    if let Some(found) = found {
        status.set(&found);
    }
    Ok(())
}

/// `MPI_Mprobe` (§3.8.2).
pub fn mprobe(
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    message: Out<Message>,
    status: StatusOut,
) -> Result<()> {
    let (wanted, null_process) = wanted(source, tag, 0, comm)?;
    if null_process {
        message.put_handle(abi::MPI_MESSAGE_NO_PROC);
        status.set(&Status::null_process());
        return Ok(());
    }
    let taken = engine()?.take_message(wanted, comm.peers().find(source))?;
    status.set(&taken.status());
    message.put_alone(taken)
}

/// `MPI_Improbe` (§3.8.2).
pub fn improbe(
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    flag: OutValue<c_int>,
    message: Out<Message>,
    status: StatusOut,
) -> Result<()> {
    let (wanted, null_process) = wanted(source, tag, 0, comm)?;
    if null_process {
        flag.set_flag(true);
        message.put_handle(abi::MPI_MESSAGE_NO_PROC);
        status.set(&Status::null_process());
        return Ok(());
    }
    let taken = engine()?.try_take_message(wanted)?;
    flag.set_flag(taken.is_some());
    match taken {
        Some(taken) => {
            status.set(&taken.status());
            message.put_alone(taken)
        }
        None => Ok(()),
    }
}

/// Takes the message behind a handle; `None` for `MPI_MESSAGE_NO_PROC`.
fn take(message: &InOut<Message>) -> Result<Option<Message>> {
    if message.handle() == abi::MPI_MESSAGE_NO_PROC {
        message.put_handle(MESSAGES.null());
        return Ok(None);
    }
    let taken = message.take()?;
    Ok(Some(Arc::try_unwrap(taken).unwrap_or_else(|shared| (*shared).clone())))
}

/// `MPI_Mrecv` (§3.8.3).
pub fn mrecv(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    message: InOut<Message>,
    status: StatusOut,
) -> Result<()> {
    let buffer = data(buf, count, datatype, Use::Change)?;
    let Some(taken) = take(&message)? else { return report(Status::null_process(), status) };
    report(engine()?.receive_taken(taken, buffer)?, status)
}

/// `MPI_Imrecv` (§3.8.3).
pub fn imrecv(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    message: InOut<Message>,
    request: OutRequest,
) -> Result<()> {
    let buffer = data(buf, count, datatype, Use::Change)?;
    let engine = engine()?;
    let started = match take(&message)? {
        Some(taken) => engine.start_matched_receive(taken, buffer)?,
        None => engine.completed(Status::null_process())?,
    };
    request.put(started);
    Ok(())
}
