//! The buffers of a call that lie in the memory of a GPU.
//!
//! A face asks [`host`] where it checks a buffer, and goes on with the address that it gets: that of
//! host memory which stands for the buffer, if this lies in the memory of a device. So everything
//! below works on memory of the host, whatever the call is. When the call ends, what it may have
//! written is stored ([`end`], at the entry wall); where it leaves a request, the request takes what
//! stands for its buffers with it ([`keep`]).
//!
//! A call within a call (a function of the program that MPI has called) has buffers of its own. It is
//! never a usual one, so it begins with [`begin`].

use super::{engine, page};
use serried_engine::datatype::{Basic, Datatype, HostCopies, Use};
use serried_engine::device::stand_ins::Side;
use serried_engine::device::{self, DeviceMemory};
use serried_engine::message::EAGER_FAR_BYTES;
use serried_engine::request::RequestId;
use serried_engine::{Class, Error, Result};
use std::cell::RefCell;
use std::sync::Arc;

/// The calls of a thread that are under way and not usual, and the innermost.
#[derive(Default)]
struct Calls {
    now: Buffers,
    around: Vec<Buffers>,
}

/// What stands for the buffers of one call.
#[derive(Default)]
struct Buffers {
    copies: HostCopies,
    /// Why a request could not take them.
    failure: Option<Error>,
}

thread_local! {
    static CALLS: RefCell<Calls> = RefCell::default();
}

/// Where the engine finds a buffer that a call reads, or may change: at its address, or at that of
/// host memory that stands for it.
///
/// # Errors
/// What the driver of a device says; `NoMem`.
#[inline(always)]
pub fn host(address: *mut u8, count: u64, datatype: &Arc<Datatype>, used: Use) -> Result<*mut u8> {
    match device::is_on() {
        true => find(address, count, datatype, used),
        false => Ok(address),
    }
}

/// Whether a block may lie in memory of a device, so that the short way of a call is not for it.
#[inline(always)]
pub fn may_be_of_device(address: *const u8) -> bool {
    device::is_on() && !device::is_surely_host(address)
}

/// Works on the calls of this thread; `None` where it is ending, and has none.
fn of_thread<T>(work: impl FnOnce(&mut Calls) -> T) -> Option<T> {
    CALLS.try_with(|calls| work(&mut calls.borrow_mut())).ok()
}

/// Takes only memory of the host.
///
/// # Errors
/// `UnsupportedOperation` for memory of a device, naming the argument, the kind of memory and what
/// else can be done; what the driver says.
pub fn refuse(name: &str, address: *const u8, instead: &str) -> Result<()> {
    let Some(memory) = device::find(address)? else { return Ok(()) };
    let sentence = format!(
        "argument {name} lies in {} memory, which this call does not take; {instead}",
        memory.kind.name()
    );
    Err(Error::new(Class::UnsupportedOperation, sentence))
}

/// The device whose memory so many bytes are; `None` for memory of the host.
///
/// # Errors
/// `Buffer` for bytes of which not all are of one kind of memory; what the driver says.
pub fn whose(name: &str, address: *const u8, bytes: i64) -> Result<Option<DeviceMemory>> {
    if !device::is_on() || bytes <= 0 || address.is_null() {
        return Ok(None);
    }
    let first = device::find(address)?;
    let last = match first {
        Some(memory) if memory.contains(address.wrapping_add(bytes as usize - 1)) => first,
        _ => device::find(address.wrapping_add(bytes as usize - 1))?,
    };
    let of = |found: &Option<DeviceMemory>| found.map(|memory| (memory.kind, memory.device, memory.context));
    match of(&first) == of(&last) {
        true => Ok(first),
        false => Err(Error::new(
            Class::Buffer,
            format!(
                "argument {name}: of {bytes} bytes at {address:p} the first is {} and the last is {}; they must be of one \
                 device, or of the host",
                place_of(first),
                place_of(last)
            ),
        )),
    }
}

fn place_of(found: Option<DeviceMemory>) -> String {
    match found {
        Some(memory) => format!("{} memory of device {}", memory.kind.name(), memory.device),
        None => "memory of the host".to_owned(),
    }
}

/// Bytes, as [`host`].
///
/// # Errors
/// As there.
#[inline(always)]
pub fn host_bytes(address: *mut u8, bytes: usize, used: Use) -> Result<*mut u8> {
    match device::is_on() {
        true => find(address, bytes as u64, Datatype::shared(Basic::Packed), used),
        false => Ok(address),
    }
}

/// Blocks of so many bytes, each so many bytes behind the one before, as [`host`].
///
/// # Errors
/// As there.
#[inline(always)]
pub fn host_blocks(
    address: *mut u8,
    (blocks, bytes, stride): (usize, usize, usize),
    used: Use,
) -> Result<*mut u8> {
    match device::is_on() {
        true => find_blocks(address, (blocks, bytes, stride), used),
        false => Ok(address),
    }
}

#[cold]
fn find_blocks(
    address: *mut u8,
    (blocks, bytes, stride): (usize, usize, usize),
    used: Use,
) -> Result<*mut u8> {
    let datatype =
        Datatype::hvector(blocks as i64, bytes as i64, stride as i64, Datatype::shared(Basic::Packed))?;
    find(address, 1, &datatype, used)
}

/// The same for the buffer of messages, each of which sends or fills a part of it: a peer that maps the memory of a large one
/// passes the host memory by.
///
/// # Errors
/// As [`host`].
#[inline(always)]
pub fn host_of_message(address: *mut u8, count: u64, datatype: &Arc<Datatype>, used: Use) -> Result<*mut u8> {
    match device::is_on() {
        true => find_for_message(address, count, datatype, (used, true)),
        false => Ok(address),
    }
}

/// The same for a buffer that is sent at the same time: what comes must not go straight to the device.
///
/// # Errors
/// As [`host`].
#[inline(always)]
pub fn host_beside_device(address: *mut u8, count: u64, datatype: &Arc<Datatype>) -> Result<*mut u8> {
    match device::is_on() {
        true => find_for_message(address, count, datatype, (Use::Change, false)),
        false => Ok(address),
    }
}

#[cold]
fn find_for_message(
    address: *mut u8,
    count: u64,
    datatype: &Arc<Datatype>,
    (used, is_direct): (Use, bool),
) -> Result<*mut u8> {
    let bytes = datatype.size().saturating_mul(count);
    let engine = engine::running().filter(|_| bytes > EAGER_FAR_BYTES);
    let Some(engine) = engine else { return find(address, count, datatype, used) };
    with_found(address, count, datatype, |memory, copies| {
        let side = match used {
            Use::Read => Side::Sent(match datatype.dense(count) {
                Some((offset, bytes)) => {
                    let first = address.wrapping_offset(offset as isize) as usize;
                    engine.lend_for_messages(&memory, (first, bytes as usize))
                }
                None => 0,
            }),
            Use::Change => Side::Received { is_direct },
        };
        // SAFETY: as in `find`.
        unsafe { copies.add_of_message(memory, (address, count), datatype, side) }
    })
}

/// As [`host`] for the buffer of a collective, in which other ranks wait for this one: what cannot be fetched is zeros, and the
/// call, or its request, fails when it ends ([`are_unfetched`]).
///
/// # Errors
/// `NoMem`.
#[cold]
pub fn host_in_any_case(
    address: *mut u8,
    count: u64,
    datatype: &Arc<Datatype>,
    used: Use,
) -> Result<*mut u8> {
    let found = datatype.find_device(address, count);
    if let Ok(None) = found {
        return Ok(address);
    }
    in_call(|copies| {
        // SAFETY: as in `find`.
        unsafe { copies.add_in_any_case(found, (address, count), datatype, used) }
    })
}

/// Whether buffers of the call that goes on could not be fetched.
pub fn are_unfetched() -> bool {
    of_thread(|calls| calls.now.copies.are_unfetched()).unwrap_or(false)
}

#[cold]
fn find(address: *mut u8, count: u64, datatype: &Arc<Datatype>, used: Use) -> Result<*mut u8> {
    with_found(address, count, datatype, |memory, copies| {
        // SAFETY: MPI says that the program lends the buffer until the call, or its request, is complete.
        unsafe { copies.add(memory, (address, count), datatype, used) }
    })
}

fn with_found(
    address: *mut u8,
    count: u64,
    datatype: &Arc<Datatype>,
    add: impl FnOnce(DeviceMemory, &mut HostCopies) -> Result<*mut u8>,
) -> Result<*mut u8> {
    let Some(memory) = datatype.find_device(address, count)? else { return Ok(address) };
    in_call(|copies| add(memory, copies))
}

/// Adds to what stands for the buffers of the call.
fn in_call(add: impl FnOnce(&mut HostCopies) -> Result<*mut u8>) -> Result<*mut u8> {
    // The call shall end where its buffers are looked at.
    page::own().hold_up();
    let added = of_thread(|calls| add(&mut calls.now.copies));
    added.unwrap_or_else(|| {
        let sentence = "a buffer in the memory of a GPU cannot be used by a thread that is ending";
        Err(Error::new(Class::Buffer, sentence))
    })
}

/// A request that has just been made takes the buffers of its call; the request that the program gets.
#[inline(always)]
pub fn keep(request: RequestId) -> RequestId {
    match device::is_on() {
        true => keep_found(request),
        false => request,
    }
}

#[cold]
fn keep_found(request: RequestId) -> RequestId {
    let keep = |calls: &mut Calls| {
        let copies = std::mem::take(&mut calls.now.copies);
        let Some(engine) = engine::running().filter(|_| !copies.is_empty()) else { return request };
        // SAFETY: as in `find`.
        let kept = unsafe { engine.with_host_copies(request, copies) };
        kept.unwrap_or_else(|error| {
            calls.now.failure = Some(error);
            request
        })
    };
    of_thread(keep).unwrap_or(request)
}

/// A call begins that is not usual.
#[cold]
pub fn begin() {
    if device::is_on() {
        of_thread(|calls| {
            let around = std::mem::take(&mut calls.now);
            calls.around.push(around);
        });
    }
}

/// A call ends: what it has written to its buffers is stored. Whether it has begun as a usual one.
///
/// # Errors
/// What the driver of a device says.
#[cold]
pub fn end(usual: bool) -> Result<()> {
    if !device::is_on() {
        return Ok(());
    }
    let ended = of_thread(|calls| {
        let around = if usual { None } else { calls.around.pop() };
        std::mem::replace(&mut calls.now, around.unwrap_or_default())
    });
    let ended = ended.unwrap_or_default();
    if let Some(engine) = engine::running().filter(|_| !ended.copies.is_empty()) {
        // What a server of another node still brings goes to the copies.
        engine.order_accesses()?;
    }
    // SAFETY: the call is over.
    let stored = unsafe { ended.copies.store() };
    ended.failure.map_or(stored, Err)
}
