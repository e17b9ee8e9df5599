//! Point-to-point communication (MPI-5.0 chapter 3): blocking sends and
//! receives, and what all forms share: the checks of their arguments.

mod buffered;
mod probe;
mod sendrecv;
mod short;

pub use buffered::*;
pub use probe::*;
pub use sendrecv::*;

use crate::arguments::{self, is_in_place, is_special, rank_text};
use crate::common::{buffers, page};
use crate::entry::engine;
use crate::objects::{Comm, Datatype};
use crate::request::OutRequest;
use crate::status::StatusOut;
use serried_engine::datatype::Use;
use serried_engine::device;
use serried_engine::message::failed;
use serried_engine::message::work::Recipe;
use serried_engine::message::{Buffer, Envelope, Mode};
use serried_engine::message::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use serried_engine::request::{RequestId, Status, DONE_ID};
use serried_engine::{Class, Error, JobRank, Result};
use std::ffi::c_void;
use std::sync::Arc;

/// No data lie in the first page of memory: a null buffer with a datatype whose
/// addresses are there is a mistake, and not `MPI_BOTTOM`.
const FIRST_PAGE: u64 = 4096;

/// What is sent, checked: the buffer, how it is addressed, and to which job
/// rank; `None` for the null process.
pub struct Outgoing {
    /// The data.
    pub buffer: Buffer,
    /// As whom, with what tag.
    pub envelope: Envelope,
    /// To whom.
    pub peer: Option<JobRank>,
}

/// What is received, checked.
pub struct Incoming {
    /// Where it goes.
    pub buffer: Buffer,
    /// What it matches.
    pub wanted: Envelope,
    /// Who sends, if it is one rank.
    peer: Option<JobRank>,
    /// The source is the null process.
    pub null_process: bool,
}

/// Checks the data of a message, which is read or received.
#[inline(always)]
pub fn data(buf: *mut c_void, count: i64, datatype: &Arc<Datatype>, used: Use) -> Result<Buffer> {
    let buffer = check_data(buf, count, datatype)?;
    match device::is_on() {
        true => {
            let host = buffers::host_of_message(buf.cast(), count as u64, datatype, used)?;
            Ok(Buffer::new(host, count as u64, datatype))
        }
        false => Ok(buffer),
    }
}

/// The same of data that are received while the same memory is sent.
#[inline(always)]
fn data_beside_device(buf: *mut c_void, count: i64, datatype: &Arc<Datatype>) -> Result<Buffer> {
    let buffer = check_data(buf, count, datatype)?;
    match device::is_on() {
        true => {
            let host = buffers::host_beside_device(buf.cast(), count as u64, datatype)?;
            Ok(Buffer::new(host, count as u64, datatype))
        }
        false => Ok(buffer),
    }
}

/// Checks data; the buffer as the program has it, which may lie in the memory of a device.
#[inline(always)]
pub fn check_data(buf: *mut c_void, count: i64, datatype: &Arc<Datatype>) -> Result<Buffer> {
    if count < 0 {
        return Err(bad_count(count));
    }
    if !datatype.is_committed() {
        return Err(arguments::uncommitted("datatype", datatype));
    }
    let buffer = Buffer::new(buf.cast(), count as u64, datatype);
    if is_special(buf) || buffer.bytes() > i64::MAX as u64 {
        check_odd(buf, count, datatype, buffer.bytes())?;
    }
    Ok(buffer)
}

/// Checks an address that is seldom one, and a size that no memory has.
#[cold]
fn check_odd(buf: *mut c_void, count: i64, datatype: &Datatype, bytes: u64) -> Result<()> {
    if bytes > i64::MAX as u64 {
        let size = datatype.size();
        let message = format!("argument count is {count}, of items of {size} bytes; no memory has so many");
        return Err(Error::new(Class::Count, message));
    }
    if is_in_place(buf) {
        let message = "argument buf is MPI_IN_PLACE, which only collective operations take";
        return Err(Error::new(Class::Buffer, message));
    }
    if buf.is_null() && bytes > 0 && datatype.true_lower_bound().unsigned_abs() < FIRST_PAGE {
        let message = format!("argument buf is a null pointer, but count is {count}");
        return Err(Error::new(Class::Buffer, message));
    }
    Ok(())
}

#[cold]
fn bad_count(count: i64) -> Error {
    Error::new(Class::Count, format!("argument count is {count}; a count cannot be negative"))
}

/// Checks a destination.
#[inline(always)]
fn destination(comm: &Comm, dest: i32) -> Result<Option<JobRank>> {
    if dest == PROC_NULL {
        return Ok(None);
    }
    let peers = comm.peers();
    if dest < 0 || dest as u32 >= peers.size() {
        return Err(bad_rank("dest", dest, peers.size()));
    }
    Ok(Some(peers.job_rank(dest as u32)))
}

/// Refuses a communicator that was revoked.
#[inline(always)]
fn check_revoked(comm: &Comm) -> Result<()> {
    match comm.is_revoked() {
        true => Err(failed::revoked(comm.context())),
        false => Ok(()),
    }
}

#[cold]
fn bad_rank(argument: &str, rank: i32, size: u32) -> Error {
    let value = rank_text(rank);
    Error::new(
        Class::Rank,
        format!("argument {argument} is {value}, but the ranks of this communicator are 0 to {}", size - 1),
    )
}

#[cold]
fn bad_tag(tag: i32, receiving: bool) -> Error {
    let value = if tag == ANY_TAG { "MPI_ANY_TAG".to_owned() } else { tag.to_string() };
    let wildcard = if receiving { " or MPI_ANY_TAG" } else { "; MPI_ANY_TAG is for receives only" };
    Error::new(Class::Tag, format!("argument tag is {value}; it must be 0 or more{wildcard}"))
}

/// Checks a send.
#[inline(always)]
pub fn outgoing(
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Comm,
) -> Result<Outgoing> {
    outgoing_from(data(buf.cast_mut(), count, datatype, Use::Read)?, dest, tag, comm)
}

/// Checks a send from a buffer that has been checked.
#[inline(always)]
fn outgoing_from(buffer: Buffer, dest: i32, tag: i32, comm: &Comm) -> Result<Outgoing> {
    check_revoked(comm)?;
    let peer = destination(comm, dest)?;
    if tag < 0 {
        return Err(bad_tag(tag, false));
    }
    let envelope = Envelope { context: comm.context(), source: comm.rank as i32, tag };
    page::own().about(comm.context(), dest, tag, buffer.bytes());
    Ok(Outgoing { buffer, envelope, peer })
}

/// Checks the source and tag of a receive (into `room` bytes) or probe.
#[inline(always)]
pub fn wanted(source: i32, tag: i32, room: u64, comm: &Comm) -> Result<(Envelope, bool)> {
    let size = comm.peers().size();
    let null_process = source == PROC_NULL;
    if !null_process && source != ANY_SOURCE && (source < 0 || source as u32 >= size) {
        return Err(bad_rank("source", source, size));
    }
    if tag < 0 && tag != ANY_TAG {
        return Err(bad_tag(tag, true));
    }
    check_revoked(comm)?;
    page::own().about(comm.context(), source, tag, room);
    Ok((Envelope { context: comm.context(), source, tag }, null_process))
}

/// Checks a receive.
#[inline(always)]
pub fn incoming(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Comm,
) -> Result<Incoming> {
    incoming_to(data(buf, count, datatype, Use::Change)?, source, tag, comm)
}

/// Checks a receive into a buffer that has been checked.
#[inline(always)]
fn incoming_to(buffer: Buffer, source: i32, tag: i32, comm: &Comm) -> Result<Incoming> {
    let (wanted, null_process) = wanted(source, tag, buffer.bytes(), comm)?;
    Ok(Incoming { buffer, wanted, peer: comm.peers().find(source), null_process })
}

impl Outgoing {
    /// Sends and waits.
    #[inline(always)]
    fn send(self, mode: Mode) -> Result<()> {
        match self.peer {
            Some(peer) => engine()?.send(peer, self.envelope, self.buffer, mode),
            None => Ok(()),
        }
    }

    /// Starts sending.
    #[inline(always)]
    pub fn start(self, mode: Mode) -> Result<RequestId> {
        let engine = engine()?;
        match self.peer {
            Some(peer) => engine.start_send(peer, self.envelope, self.buffer, mode),
            None => engine.completed(Status::empty()),
        }
    }

    fn persistent(self, mode: Mode, request: OutRequest) -> Result<()> {
        let recipe = match self.peer {
            Some(peer) => Recipe::Send { buffer: self.buffer, mode, envelope: self.envelope, peer },
            None => Recipe::NullProcess { receive: false },
        };
        request.put(engine()?.persistent(recipe)?);
        Ok(())
    }
}

impl Incoming {
    /// Receives and waits.
    #[inline(always)]
    fn receive(self) -> Result<Status> {
        if self.null_process {
            return Ok(Status::null_process());
        }
        engine()?.receive(self.wanted, self.peer, self.buffer)
    }

    /// Starts receiving.
    #[inline(always)]
    pub fn start(self) -> Result<RequestId> {
        let engine = engine()?;
        if self.null_process {
            return engine.completed(Status::null_process());
        }
        engine.start_receive(self.wanted, self.peer, self.buffer)
    }
}

/// Reports a completed receive: the status, and the failure as the call's.
#[inline]
pub fn report(done: Status, status: StatusOut) -> Result<()> {
    status.set(&done);
    match done.error {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// A blocking send the long way.
#[inline(never)]
fn send_any(
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Comm,
    mode: Mode,
) -> Result<()> {
    let buffer = data(buf.cast_mut(), count, datatype, Use::Read)?;
    outgoing_from(buffer, dest, tag, comm)?.send(mode)
}

/// A nonblocking send the long way.
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "those of MPI")]
fn start_any(
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Comm,
    request: OutRequest,
    mode: Mode,
) -> Result<()> {
    let buffer = data(buf.cast_mut(), count, datatype, Use::Read)?;
    request.put(outgoing_from(buffer, dest, tag, comm)?.start(mode)?);
    Ok(())
}

/// A blocking receive; whether it is the `first` thing that the call does.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "those of MPI, and one")]
fn receive(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Comm,
    status: StatusOut,
    first: bool,
) -> Result<()> {
    match short::received(buf, count, datatype, source, tag, comm, status, first)? {
        true => Ok(()),
        false => receive_any(buf, count, datatype, source, tag, comm, status),
    }
}

/// A blocking receive the long way.
#[inline(never)]
fn receive_any(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Comm,
    status: StatusOut,
) -> Result<()> {
    let buffer = data(buf, count, datatype, Use::Change)?;
    report(incoming_to(buffer, source, tag, comm)?.receive()?, status)
}

macro_rules! sends {
    ($($blocking:ident $starting:ident $persistent:ident $mode:ident $name:literal $section:literal;)*) => {$(
        #[doc = concat!("`MPI_", $name, "` (§", $section, ").")]
        #[inline(always)]
        pub fn $blocking(
            buf: *const c_void, count: i64, datatype: &Arc<Datatype>, dest: i32, tag: i32, comm: &Arc<Comm>,
        ) -> Result<()> {
            if !matches!(Mode::$mode, Mode::Synchronous) && short::sent(buf, count, datatype, dest, tag, comm)? {
                return Ok(());
            }
            send_any(buf, count, datatype, dest, tag, comm, Mode::$mode)
        }

        #[doc = concat!("The nonblocking form of `MPI_", $name, "` (§3.7.2).")]
        #[inline(always)]
        pub fn $starting(
            buf: *const c_void, count: i64, datatype: &Arc<Datatype>, dest: i32, tag: i32, comm: &Arc<Comm>,
            request: OutRequest,
        ) -> Result<()> {
            if !matches!(Mode::$mode, Mode::Synchronous) && short::sent(buf, count, datatype, dest, tag, comm)? {
                request.put_plain(DONE_ID);
                return Ok(());
            }
            start_any(buf, count, datatype, dest, tag, comm, request, Mode::$mode)
        }

        #[doc = concat!("The persistent form of `MPI_", $name, "` (§3.9).")]
        pub fn $persistent(
            buf: *const c_void, count: i64, datatype: &Arc<Datatype>, dest: i32, tag: i32, comm: &Arc<Comm>,
            request: OutRequest,
        ) -> Result<()> {
            outgoing(buf, count, datatype, dest, tag, comm)?.persistent(Mode::$mode, request)
        }
    )*};
}

sends! {
    send isend send_init Standard "Send" "3.2.1";
    ssend issend ssend_init Synchronous "Ssend" "3.4";
    rsend irsend rsend_init Ready "Rsend" "3.4";
}

/// `MPI_Recv` (§3.2.4).
#[inline(always)]
pub fn recv(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    status: StatusOut,
) -> Result<()> {
    receive(buf, count, datatype, source, tag, comm, status, true)
}

/// `MPI_Irecv` (§3.7.2).
#[inline(always)]
pub fn irecv(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: OutRequest,
) -> Result<()> {
    match short::receiving(buf, count, datatype, source, tag, comm)? {
        Some(started) => request.put_plain(started),
        None => request.put(start_receive_any(buf, count, datatype, source, tag, comm)?),
    }
    Ok(())
}

/// A nonblocking receive the long way.
#[inline(never)]
fn start_receive_any(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Comm,
) -> Result<RequestId> {
    let buffer = data(buf, count, datatype, Use::Change)?;
    incoming_to(buffer, source, tag, comm)?.start()
}

/// `MPI_Recv_init` (§3.9).
pub fn recv_init(
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    request: OutRequest,
) -> Result<()> {
    let incoming = incoming(buf, count, datatype, source, tag, comm)?;
    let recipe = if incoming.null_process {
        Recipe::NullProcess { receive: true }
    } else {
        Recipe::Receive { buffer: incoming.buffer, wanted: incoming.wanted, peer: incoming.peer }
    };
    request.put(engine()?.persistent(recipe)?);
    Ok(())
}
