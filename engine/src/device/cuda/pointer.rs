//! Whose memory an address is.
//!
//! Nothing is remembered by address alone, because addresses are used again: one question for each
//! buffer that nobody else knows.

use super::copy_streams::{primary, succeed, Current, Done};
use super::driver_errors::{DEINITIALIZED, INVALID_VALUE, NOT_INITIALIZED, NOT_SUPPORTED, SUCCESS};
use super::entry_points::{self, Address, ContextEntryPoints, EntryPoints};
use crate::device::interface::DeviceMemory;
use crate::device::kind::MemoryKind;
use crate::Result;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

// Of `CUpointer_attribute`.
const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const SYNC_MEMOPS: c_int = 6;
const BUFFER_ID: c_int = 7;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;
const RANGE_START: c_int = 11;
const RANGE_SIZE: c_int = 12;
/// `CU_CTX_SYNC_MEMOPS`.
const SYNC_MEMOPS_OF_CONTEXT: c_uint = 0x80;
/// `CU_MEMORYTYPE_DEVICE`.
const TYPE_DEVICE: c_uint = 2;

/// What the driver says of an address.
#[derive(Default)]
struct Said {
    context: usize,
    memory_type: c_uint,
    number: u64,
    is_managed: c_uint,
    device: c_int,
    first: u64,
    bytes: usize,
}

/// The device memory in which an address lies.
pub(super) fn find(entry: &EntryPoints, address: *const u8) -> Result<Option<DeviceMemory>> {
    let mut said = Said::default();
    let what = [CONTEXT, MEMORY_TYPE, BUFFER_ID, IS_MANAGED, DEVICE_ORDINAL, RANGE_START, RANGE_SIZE];
    let places: [*mut c_void; 7] = [
        (&raw mut said.context).cast(),
        (&raw mut said.memory_type).cast(),
        (&raw mut said.number).cast(),
        (&raw mut said.is_managed).cast(),
        (&raw mut said.device).cast(),
        (&raw mut said.first).cast(),
        (&raw mut said.bytes).cast(),
    ];
    // SAFETY: as many places of the types of these attributes.
    let answer = unsafe {
        (entry.pointer_attributes)(what.len() as c_uint, what.as_ptr(), places.as_ptr(), address as Address)
    };
    match answer {
        SUCCESS => {}
        // An old driver answers so for memory that it does not know.
        NOT_INITIALIZED | DEINITIALIZED | INVALID_VALUE => return Ok(None),
        other => entry.check("cuPointerGetAttributes", other)?,
    }
    let kind = match (said.is_managed != 0, said.memory_type) {
        (true, _) => MemoryKind::CUDA_MANAGED,
        (false, TYPE_DEVICE) => MemoryKind::CUDA,
        _ => return Ok(None),
    };
    let memory = DeviceMemory {
        kind,
        first: said.first as usize,
        bytes: said.bytes,
        number: said.number,
        device: said.device,
        context: said.context,
    };
    order_program_copies(entry, &memory)?;
    Ok(Some(memory))
}

/// Copies of the program that the driver calls synchronous may end before the bytes are there.
/// At the first sight of an allocation the driver is told to wait for them.
fn order_program_copies(entry: &EntryPoints, memory: &DeviceMemory) -> Result<()> {
    /// The allocation that was seen last: most programs send from one or two.
    static LAST: AtomicU64 = AtomicU64::new(0);
    if memory.kind != MemoryKind::CUDA || LAST.swap(memory.number, Ordering::Relaxed) == memory.number {
        return Ok(());
    }
    let yes: c_uint = 1;
    // SAFETY: the attribute takes an unsigned int.
    let answer = unsafe {
        (entry.set_pointer_attribute)((&raw const yes).cast(), SYNC_MEMOPS, memory.first as Address)
    };
    let told = match answer {
        SUCCESS => Ok(()),
        // Pools and mapped memory do not take it: then it is said for the context in which they are used.
        NOT_SUPPORTED | INVALID_VALUE => order_copies_of_context(entry, memory.device),
        other => Err(("cuPointerSetAttribute", other)),
    };
    told.map_err(|(function, answer)| {
        LAST.store(0, Ordering::Relaxed);
        entry.failure(function, answer)
    })
}

/// Has all copies of the program in the primary context of a device end when they say so. It is said once; an old driver
/// cannot be told.
fn order_copies_of_context(entry: &EntryPoints, device: c_int) -> Done<()> {
    /// Devices of which it has been said, a bit for each; those from 64 on are told every time.
    static TOLD: AtomicU64 = AtomicU64::new(0);
    static CONTEXTS: OnceLock<Option<ContextEntryPoints>> = OnceLock::new();
    let contexts = CONTEXTS.get_or_init(|| entry_points::library().and_then(ContextEntryPoints::of));
    let bit = 1u64.checked_shl(device as u32).unwrap_or(0);
    let Some(contexts) = contexts.as_ref().filter(|_| TOLD.load(Ordering::Relaxed) & bit == 0) else {
        return Ok(());
    };
    let _current = Current::new(entry, primary(entry, device)?)?;
    let mut flags = 0;
    // SAFETY: stores an unsigned int.
    succeed("cuCtxGetFlags", unsafe { (contexts.flags)(&raw mut flags) })?;
    // SAFETY: takes an unsigned int, for the context of this thread.
    succeed("cuCtxSetFlags", unsafe { (contexts.set_flags)(flags | SYNC_MEMOPS_OF_CONTEXT) })?;
    TOLD.fetch_or(bit, Ordering::Relaxed);
    Ok(())
}
