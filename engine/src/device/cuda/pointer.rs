//! Whose memory an address is.
//!
//! Nothing is remembered by address alone, because addresses are used again: one question for each
//! buffer that nobody else knows.

use super::driver_errors::{DEINITIALIZED, INVALID_VALUE, NOT_INITIALIZED, SUCCESS};
use super::entry_points::{Address, Answer, EntryPoints};
use crate::device::interface::DeviceMemory;
use crate::device::kind::MemoryKind;
use crate::Result;
use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

// Of `CUpointer_attribute`.
const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const BUFFER_ID: c_int = 7;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;
const RANGE_START: c_int = 11;
const RANGE_SIZE: c_int = 12;
const MAPPING_SIZE: c_int = 18;
const MAPPING_START: c_int = 19;
/// How many of them any driver knows: all but the last two.
const OF_ANY_DRIVER: usize = 7;
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
    mapping: u64,
    mapping_bytes: usize,
}

impl Said {
    /// Asks for the first so many attributes.
    fn of(entry: &EntryPoints, address: *const u8, number: usize) -> (Answer, Said) {
        let mut said = Said::default();
        let what = [
            CONTEXT,
            MEMORY_TYPE,
            BUFFER_ID,
            IS_MANAGED,
            DEVICE_ORDINAL,
            RANGE_START,
            RANGE_SIZE,
            MAPPING_START,
            MAPPING_SIZE,
        ];
        let places: [*mut c_void; 9] = [
            (&raw mut said.context).cast(),
            (&raw mut said.memory_type).cast(),
            (&raw mut said.number).cast(),
            (&raw mut said.is_managed).cast(),
            (&raw mut said.device).cast(),
            (&raw mut said.first).cast(),
            (&raw mut said.bytes).cast(),
            (&raw mut said.mapping).cast(),
            (&raw mut said.mapping_bytes).cast(),
        ];
        // SAFETY: as many places of the types of these attributes.
        let answer = unsafe {
            (entry.pointer_attributes)(number as c_uint, what.as_ptr(), places.as_ptr(), address as Address)
        };
        (answer, said)
    }

    /// The allocation. A program that maps memory by itself has one range of addresses for many of them; then a mapping is
    /// the smaller one. Short allocations of `cudaMalloc` share a mapping; then the range is.
    fn allocation(&self) -> Range<u64> {
        let range = self.first..self.first + self.bytes as u64;
        match self.mapping_bytes {
            0 => range,
            bytes => self.mapping.max(range.start)..(self.mapping + bytes as u64).min(range.end),
        }
    }
}

/// What the driver says of an address, with mappings where it knows of them.
fn ask(entry: &EntryPoints, address: *const u8) -> (Answer, Said) {
    /// An old driver answers `INVALID_VALUE` to attributes that it does not know, and for memory that it does not know.
    static KNOWS_MAPPINGS: AtomicBool = AtomicBool::new(false);
    let (answer, said) = Said::of(entry, address, 9);
    match answer {
        SUCCESS => KNOWS_MAPPINGS.store(true, Ordering::Relaxed),
        INVALID_VALUE if !KNOWS_MAPPINGS.load(Ordering::Relaxed) => {
            return Said::of(entry, address, OF_ANY_DRIVER)
        }
        _ => {}
    }
    (answer, said)
}

/// The device memory in which an address lies.
pub(super) fn find(entry: &EntryPoints, address: *const u8) -> Result<Option<DeviceMemory>> {
    let (answer, said) = ask(entry, address);
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
    let allocation = said.allocation();
    Ok(Some(DeviceMemory {
        kind,
        first: allocation.start as usize,
        bytes: (allocation.end - allocation.start) as usize,
        number: said.number,
        device: said.device,
        context: said.context,
    }))
}
