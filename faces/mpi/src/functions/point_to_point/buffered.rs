//! Buffered sends and the buffers that programs attach (MPI-5.0 §3.6).
//!
//! The engine copies a buffered message into memory of its own, whatever is
//! attached: an attached buffer is a promise of the program that so much is
//! enough, and is never written. A message larger than the whole buffer is an
//! error, as it would be for any library.

use super::outgoing;
use crate::abi;
use crate::arguments::OutCount;
use crate::entry::engine;
use crate::objects::{Comm, Datatype, Session};
use crate::request::OutRequest;
use serried_engine::message::Mode;
use serried_engine::request::Status;
use serried_engine::{Class, Error, Result};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a buffer is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Process,
    /// By context.
    Communicator(u64),
    /// By address.
    Session(usize),
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    address: usize,
    bytes: i64,
}

impl Attached {
    fn is_automatic(&self) -> bool {
        self.address == abi::MPI_BUFFER_AUTOMATIC as usize
    }
}

static ATTACHED: Mutex<Option<HashMap<Owner, Attached>>> = Mutex::new(None);

fn attached() -> MutexGuard<'static, Option<HashMap<Owner, Attached>>> {
    ATTACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn attach(owner: Owner, buffer: *mut c_void, bytes: i64) -> Result<()> {
    if bytes < 0 {
        return Err(Error::new(Class::Arg, format!("argument size is {bytes}; it cannot be negative")));
    }
    if buffer.is_null() && bytes > 0 {
        let message = format!("argument buffer is a null pointer, but size is {bytes}");
        return Err(Error::new(Class::Buffer, message));
    }
    let mut attached = attached();
    let buffers = attached.get_or_insert_default();
    if buffers.contains_key(&owner) {
        let message = "a buffer is attached already; detach it with MPI_Buffer_detach first";
        return Err(Error::new(Class::Buffer, message));
    }
    buffers.insert(owner, Attached { address: buffer as usize, bytes });
    Ok(())
}

fn detach(owner: Owner, place: *mut c_void, size: OutCount) -> Result<()> {
    if place.is_null() {
        return Err(Error::new(Class::Arg, "argument buffer_addr is a null pointer"));
    }
    let removed = attached().get_or_insert_default().remove(&owner);
    let Some(buffer) = removed else {
        return Err(Error::new(Class::Buffer, "no buffer is attached"));
    };
    // SAFETY: the argument is the address of a pointer (§3.6.1).
    unsafe { place.cast::<*mut c_void>().write(buffer.address as *mut c_void) };
    size.set(if buffer.is_automatic() { 0 } else { buffer.bytes });
    Ok(())
}

/// Forgets the buffer of a communicator that is freed.
pub fn communicator_is_freed(comm: &Comm) {
    attached().get_or_insert_default().remove(&Owner::Communicator(comm.context()));
}

/// Forgets the buffer of a session that is finalized.
pub fn session_is_finalized(session: &Arc<Session>) {
    attached().get_or_insert_default().remove(&Owner::Session(Arc::as_ptr(session) as usize));
}

/// The buffer that a buffered send on `comm` uses.
fn check_room(comm: &Comm, bytes: u64) -> Result<()> {
    let attached = attached();
    let find = |owner| attached.as_ref().and_then(|buffers| buffers.get(&owner)).copied();
    // A communicator does not know its session: any session's buffer will do.
    let of_session = || {
        let mut buffers = attached.as_ref()?.iter();
        buffers.find(|(owner, _)| matches!(owner, Owner::Session(_))).map(|(_, &buffer)| buffer)
    };
    let own = find(Owner::Communicator(comm.context()));
    let Some(buffer) = own.or_else(|| find(Owner::Process)).or_else(of_session) else {
        let message = "no buffer is attached for buffered sends; attach one with MPI_Buffer_attach";
        return Err(Error::new(Class::Buffer, message));
    };
    if !buffer.is_automatic() && (buffer.bytes as u64) < bytes {
        let message = format!("the message has {bytes} bytes, but the attached buffer only {}", buffer.bytes);
        return Err(Error::new(Class::Buffer, message));
    }
    Ok(())
}

/// `MPI_Bsend` (§3.4).
pub fn bsend(
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let outgoing = outgoing(buf, count, datatype, dest, tag, comm)?;
    check_room(comm, outgoing.buffer.bytes())?;
    outgoing.send(Mode::Buffered)
}

/// `MPI_Ibsend` (§3.7.2).
pub fn ibsend(
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: OutRequest,
) -> Result<()> {
    let outgoing = outgoing(buf, count, datatype, dest, tag, comm)?;
    check_room(comm, outgoing.buffer.bytes())?;
    request.put(outgoing.start(Mode::Buffered)?);
    Ok(())
}

/// `MPI_Bsend_init` (§3.9).
pub fn bsend_init(
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: OutRequest,
) -> Result<()> {
    let outgoing = outgoing(buf, count, datatype, dest, tag, comm)?;
    check_room(comm, outgoing.buffer.bytes())?;
    outgoing.persistent(Mode::Buffered, request)
}

/// `MPI_Buffer_attach` (§3.6.1).
pub fn buffer_attach(buffer: *mut c_void, size: i64) -> Result<()> {
    attach(Owner::Process, buffer, size)
}

/// `MPI_Buffer_detach` (§3.6.1).
pub fn buffer_detach(buffer_addr: *mut c_void, size: OutCount) -> Result<()> {
    detach(Owner::Process, buffer_addr, size)
}

/// `MPI_Comm_attach_buffer` (§3.6.1).
pub fn comm_attach_buffer(comm: &Arc<Comm>, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(Owner::Communicator(comm.context()), buffer, size)
}

/// `MPI_Comm_detach_buffer` (§3.6.1).
pub fn comm_detach_buffer(comm: &Arc<Comm>, buffer_addr: *mut c_void, size: OutCount) -> Result<()> {
    detach(Owner::Communicator(comm.context()), buffer_addr, size)
}

/// `MPI_Session_attach_buffer` (§3.6.1).
pub fn session_attach_buffer(session: &Arc<Session>, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(Owner::Session(Arc::as_ptr(session) as usize), buffer, size)
}

/// `MPI_Session_detach_buffer` (§3.6.1).
pub fn session_detach_buffer(session: &Arc<Session>, buffer_addr: *mut c_void, size: OutCount) -> Result<()> {
    detach(Owner::Session(Arc::as_ptr(session) as usize), buffer_addr, size)
}

/// `MPI_Buffer_flush` (§3.6.2): when it returns, buffered messages have left.
pub fn buffer_flush() -> Result<()> {
    engine()?.flush()
}

/// `MPI_Buffer_iflush` (§3.6.2). No attached buffer is ever in use, so it is
/// complete at once.
pub fn buffer_iflush(request: OutRequest) -> Result<()> {
    request.put(engine()?.completed(Status::empty())?);
    Ok(())
}

/// `MPI_Comm_flush_buffer` (§3.6.2).
pub fn comm_flush_buffer(_comm: &Arc<Comm>) -> Result<()> {
    buffer_flush()
}

/// `MPI_Comm_iflush_buffer` (§3.6.2).
pub fn comm_iflush_buffer(_comm: &Arc<Comm>, request: OutRequest) -> Result<()> {
    buffer_iflush(request)
}

/// `MPI_Session_flush_buffer` (§3.6.2).
pub fn session_flush_buffer(_session: &Arc<Session>) -> Result<()> {
    buffer_flush()
}

/// `MPI_Session_iflush_buffer` (§3.6.2).
pub fn session_iflush_buffer(_session: &Arc<Session>, request: OutRequest) -> Result<()> {
    buffer_iflush(request)
}
