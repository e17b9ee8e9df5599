//! Messages of two ranks, and who is who.

use super::argument_checks::{not_negative, of_host};
use super::wall::ARMCI;
use super::world_of_armci::{all, world};
use crate::common::engine;
use crate::common::entry::Call;
use serried_engine::message::{Buffer, Envelope, Mode, ANY_SOURCE};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void, CStr};

/// The tag of notifications, which no message of a program has.
pub const NOTIFICATION: c_int = c_int::MAX;

/// `armci_msg_me`.
pub fn me(_: &Call) -> Result<c_int> {
    world(|world| world.comm.rank as c_int)
}

/// `armci_msg_nproc`.
pub fn ranks(_: &Call) -> Result<c_int> {
    world(|world| world.comm.size() as c_int)
}

fn buffer(buffer: *const c_void, len: c_int) -> Result<Buffer> {
    let bytes = not_negative("len", len)?;
    if bytes > 0 {
        of_host("buffer", buffer)?;
    }
    Ok(Buffer::Dense { address: buffer.cast_mut().cast(), bytes })
}

fn check_tag(tag: c_int) -> Result<()> {
    match tag {
        0..NOTIFICATION => Ok(()),
        NOTIFICATION => {
            Err(Error::new(Class::Tag, format!("argument tag is {tag}, which ARMCI has for notifications")))
        }
        _ => Err(Error::new(Class::Tag, format!("argument tag is {tag}; it must be 0 or more"))),
    }
}

/// `armci_msg_snd`.
///
/// # Safety
/// The buffer can be read for `len` bytes.
pub unsafe fn send(_: &Call, tag: c_int, data: *const c_void, len: c_int, to: c_int) -> Result<()> {
    let (engine, comm) = all()?;
    let to = world(|world| world.check_rank("to", to))??;
    check_tag(tag)?;
    let envelope = Envelope { context: comm.context(), source: comm.rank as i32, tag };
    engine.send(comm.group.job_rank(to), envelope, buffer(data, len)?, Mode::Standard)
}

/// `armci_msg_rcv`, and `armci_msg_rcvany` without a source: who has sent it.
///
/// # Safety
/// The buffer can be written for `room` bytes, and `length` for a number, unless it is null.
pub unsafe fn receive(
    _: &Call,
    tag: c_int,
    (data, room): (*mut c_void, c_int),
    length: *mut c_int,
    from: Option<c_int>,
) -> Result<c_int> {
    let (engine, comm) = all()?;
    let source = match from {
        Some(from) => world(|world| world.check_rank("from", from))?? as i32,
        None => ANY_SOURCE,
    };
    check_tag(tag)?;
    let wanted = Envelope { context: comm.context(), source, tag };
    let status = engine.receive(wanted, comm.peers().find(source), buffer(data, room)?)?;
    if let Some(error) = status.error {
        return Err(error);
    }
    if !length.is_null() {
        // SAFETY: by the caller.
        unsafe { length.write(status.bytes as c_int) };
    }
    Ok(status.source)
}

/// `ARMCI_Error`: says something and ends the job, at any time.
///
/// # Safety
/// The message is null or a string.
pub unsafe fn error(_: &Call, message: *const c_char, code: c_int) -> Result<()> {
    let text = match message.is_null() {
        true => "no message".into(),
        // SAFETY: by the caller.
        false => unsafe { CStr::from_ptr(message) }.to_string_lossy(),
    };
    end(code, &text)
}

/// `armci_msg_abort`.
pub fn abort(_: &Call, code: c_int) -> Result<()> {
    match engine::running() {
        Some(engine) => engine.abort(code, ""),
        None => end(code, "armci_msg_abort was called"),
    }
}

fn end(code: c_int, text: &str) -> ! {
    match engine::running() {
        Some(engine) => {
            let rank = world(|world| world.comm.rank).unwrap_or(engine.rank());
            engine.abort(code, &format!("serried: rank {rank}: ARMCI_Error: {text} (code {code})"))
        }
        None => {
            eprintln!("serried: ARMCI_Error: {text} (code {code})");
            std::process::exit(serried_engine::job::exit_status(code))
        }
    }
}

/// `ARMCIX_Progress`: lets things go on, and waits for nothing.
pub fn progress(_: &Call) -> Result<()> {
    ARMCI.engine()?;
    let (engine, comm) = all()?;
    // It is only looked for.
    let wanted = Envelope { context: comm.context(), source: comm.rank as i32, tag: NOTIFICATION };
    engine.try_probe(wanted).map(drop)
}
