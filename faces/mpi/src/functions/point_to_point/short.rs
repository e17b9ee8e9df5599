//! The short way of a call: right arguments, one block of memory, a message that fits a packet.
//! Everything else, right or wrong, goes the long way, which also says what is wrong.

use crate::arguments::is_special;
use crate::common::buffers::may_be_of_device;
use crate::common::page;
use crate::entry::engine_of_call;
use crate::objects::{Comm, Datatype};
use crate::status::StatusOut;
use serried_engine::message::{Envelope, ANY_SOURCE, ANY_TAG};
use serried_engine::request::RequestId;
use serried_engine::transport::LONG_LETTER_BYTES;
use serried_engine::{JobRank, Result};
use std::ffi::c_void;

/// Address and bytes of what a call names, if that is one block of memory.
#[inline(always)]
fn block(buf: *mut c_void, count: i64, datatype: &Datatype) -> Option<(*mut u8, u64)> {
    if is_special(buf) || count < 0 || !datatype.is_committed() {
        return None;
    }
    let (offset, bytes) = datatype.dense(count as u64)?;
    let address = buf.cast::<u8>().wrapping_offset(offset as isize);
    match may_be_of_device(address) {
        true => None,
        false => Some((address, bytes)),
    }
}

/// Sends; `false`, and nothing is done, if this is not the way.
///
/// # Errors
/// What went wrong on the way.
#[inline(always)]
pub fn sent(
    buf: *const c_void,
    count: i64,
    datatype: &Datatype,
    dest: i32,
    tag: i32,
    comm: &Comm,
) -> Result<bool> {
    let Some((address, bytes)) = block(buf.cast_mut(), count, datatype) else { return Ok(false) };
    let Some(peer) = comm.peers().find(dest) else { return Ok(false) };
    if comm.is_revoked() || bytes > LONG_LETTER_BYTES as u64 || tag < 0 {
        return Ok(false);
    }
    let engine = engine_of_call()?;
    let envelope = Envelope { context: comm.context(), source: comm.rank as i32, tag };
    let sent = engine.send_letter(peer, envelope, address, bytes as usize)?;
    // The message is on its way: now there is time. A message that has not gone notes it on the
    // long way.
    if sent {
        page::own().about_first(comm.context(), dest, tag, bytes);
    }
    Ok(sent)
}

/// Starts receiving into a block; `None`, and nothing is done, if this is not the
/// way.
///
/// # Errors
/// When no request can be made.
#[inline(always)]
pub fn receiving(
    buf: *mut c_void,
    count: i64,
    datatype: &Datatype,
    source: i32,
    tag: i32,
    comm: &Comm,
) -> Result<Option<RequestId>> {
    let Some((address, room)) = block(buf, count, datatype) else { return Ok(None) };
    let engine = engine_of_call()?;
    let Some((wanted, peer)) = matched(source, tag, comm) else { return Ok(None) };
    page::own().about_first(comm.context(), source, tag, room);
    engine.start_block_receive(wanted, peer, address, room).map(Some)
}

/// What a receive with right arguments matches, and who sends that, if it is one.
#[inline(always)]
fn matched(source: i32, tag: i32, comm: &Comm) -> Option<(Envelope, Option<JobRank>)> {
    let peer = comm.peers().find(source);
    if comm.is_revoked() || (peer.is_none() && source != ANY_SOURCE) || (tag < 0 && tag != ANY_TAG) {
        return None;
    }
    Some((Envelope { context: comm.context(), source, tag }, peer))
}

/// Whether a receive has right arguments for this way.
#[inline(always)]
pub fn may_receive(
    buf: *mut c_void,
    count: i64,
    datatype: &Datatype,
    source: i32,
    tag: i32,
    comm: &Comm,
) -> bool {
    block(buf, count, datatype).is_some() && matched(source, tag, comm).is_some()
}

/// Receives and fills the status; `false`, and nothing is done, if this is not
/// the way. Whether it is the `first` thing that the call does.
///
/// # Errors
/// None but a library that is not running.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "those of MPI, and one")]
pub fn received(
    buf: *mut c_void,
    count: i64,
    datatype: &Datatype,
    source: i32,
    tag: i32,
    comm: &Comm,
    status: StatusOut,
    first: bool,
) -> Result<bool> {
    let Some((address, room)) = block(buf, count, datatype) else { return Ok(false) };
    let engine = engine_of_call()?;
    let Some((wanted, peer)) = matched(source, tag, comm) else { return Ok(false) };
    match first {
        true => page::own().about_first(comm.context(), source, tag, room),
        false => page::own().about(comm.context(), source, tag, room),
    };
    let Some(taken) = engine.receive_letter(wanted, peer, address, room) else {
        return Ok(false);
    };
    status.set_message(taken.source, taken.tag, taken.bytes);
    Ok(true)
}
