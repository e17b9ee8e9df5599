//! CUDA's functions for memory that a program maps by itself, and a use of them for tests.

use crate::state::{call, give};
use crate::virtual_memory::GRANULARITY;
use crate::{Address, Answer, INVALID_VALUE, SUCCESS};
use std::ffi::{c_int, c_ulonglong, c_void};

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const DESCRIPTOR: c_int = 1;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`, `CU_MEM_LOCATION_TYPE_DEVICE`, `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const PINNED: c_int = 1;
const DEVICE: c_int = 1;
const READ_AND_WRITE: c_int = 3;

/// `CUmemAllocationProp`.
#[repr(C)]
pub struct Properties {
    sort: c_int,
    handles: c_int,
    location: [c_int; 2],
    spare: [u64; 2],
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub struct AccessOf {
    location: [c_int; 2],
    flags: c_int,
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemAddressReserve(
    place: *mut Address,
    bytes: usize,
    _alignment: usize,
    _wanted: Address,
    _flags: c_ulonglong,
) -> Answer {
    call("cuMemAddressReserve", |state| {
        let first = state.memory.virtual_memory.reserve(bytes)?;
        // SAFETY: by the caller.
        unsafe { give(place, first as Address) }
    })
}

#[no_mangle]
pub extern "C" fn cuMemAddressFree(first: Address, _bytes: usize) -> Answer {
    call("cuMemAddressFree", |state| state.memory.virtual_memory.unreserve(first as usize))
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemCreate(
    place: *mut u64,
    bytes: usize,
    properties: *const Properties,
    _flags: c_ulonglong,
) -> Answer {
    call("cuMemCreate", |state| {
        // SAFETY: by the caller.
        let Properties { sort, handles, location, .. } = unsafe { properties.read() };
        if sort != PINNED || location != [DEVICE, 0] {
            return Err(INVALID_VALUE);
        }
        let handle = state.memory.virtual_memory.create(bytes, handles & DESCRIPTOR != 0)?;
        // SAFETY: by the caller.
        unsafe { give(place, handle) }
    })
}

#[no_mangle]
pub extern "C" fn cuMemRelease(handle: u64) -> Answer {
    call("cuMemRelease", |state| state.memory.virtual_memory.release(handle))
}

#[no_mangle]
pub extern "C" fn cuMemMap(
    first: Address,
    bytes: usize,
    offset: usize,
    handle: u64,
    _flags: c_ulonglong,
) -> Answer {
    call("cuMemMap", |state| match offset {
        0 => state.memory.map_piece(first as usize, bytes, handle),
        _ => Err(INVALID_VALUE),
    })
}

#[no_mangle]
pub extern "C" fn cuMemUnmap(first: Address, bytes: usize) -> Answer {
    call("cuMemUnmap", |state| {
        state.streams.finish_all(&state.memory)?;
        state.memory.unmap_pieces(first as usize, bytes)
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemSetAccess(
    first: Address,
    bytes: usize,
    access: *const AccessOf,
    number: usize,
) -> Answer {
    call("cuMemSetAccess", |state| {
        // SAFETY: by the caller.
        let AccessOf { location, flags } = unsafe { access.read() };
        match number == 1 && location == [DEVICE, 0] && flags == READ_AND_WRITE {
            true => state.memory.give_access(first as usize, bytes),
            false => Err(INVALID_VALUE),
        }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemExportToShareableHandle(
    place: *mut c_void,
    handle: u64,
    sort: c_int,
    _flags: c_ulonglong,
) -> Answer {
    call("cuMemExportToShareableHandle", |state| match sort {
        // SAFETY: by the caller.
        DESCRIPTOR => unsafe { give(place.cast::<c_int>(), state.memory.virtual_memory.export(handle)?) },
        _ => Err(INVALID_VALUE),
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemImportFromShareableHandle(
    place: *mut u64,
    shareable: *mut c_void,
    sort: c_int,
) -> Answer {
    call("cuMemImportFromShareableHandle", |state| match sort {
        // SAFETY: by the caller.
        DESCRIPTOR => unsafe {
            give(place, state.memory.virtual_memory.import(shareable as usize as c_int)?)
        },
        _ => Err(INVALID_VALUE),
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemRetainAllocationHandle(place: *mut u64, address: *mut c_void) -> Answer {
    call("cuMemRetainAllocationHandle", |state| {
        // SAFETY: by the caller.
        unsafe { give(place, state.memory.virtual_memory.retain(address as usize)?) }
    })
}

/// A buffer over several pieces, as a pool of a program has it: it begins within the first one.
#[no_mangle]
pub extern "C" fn fake_cuda_virtual(bytes: usize) -> Address {
    let before = ((bytes / 3).min(GRANULARITY / 2) / 16 * 16).max(16);
    let all = (GRANULARITY + bytes).next_multiple_of(GRANULARITY);
    let mut first: Address = 0;
    let properties = Properties { sort: PINNED, handles: DESCRIPTOR, location: [DEVICE, 0], spare: [0; 2] };
    let access = AccessOf { location: [DEVICE, 0], flags: READ_AND_WRITE };
    // SAFETY: all places are here.
    unsafe {
        let mut answer = cuMemAddressReserve(&raw mut first, all, 0, 0, 0);
        let (mut done, mut handle) = (0, 0);
        // The first piece is a short one; those after it get longer.
        let mut piece = GRANULARITY;
        while answer == SUCCESS && done < all {
            let length = piece.min(all - done);
            answer = cuMemCreate(&raw mut handle, length, &raw const properties, 0);
            answer = answer.max(cuMemMap(first + done as Address, length, 0, handle, 0));
            answer = answer.max(cuMemRelease(handle));
            done += length;
            piece *= 2;
        }
        match answer.max(cuMemSetAccess(first, all, &raw const access, 1)) {
            SUCCESS => first + (GRANULARITY - before) as Address,
            _ => 0,
        }
    }
}

/// It is not needed any more.
#[no_mangle]
pub extern "C" fn fake_cuda_virtual_free(address: Address, bytes: usize) -> Answer {
    let first = address as usize / GRANULARITY * GRANULARITY;
    let all = (GRANULARITY + bytes).next_multiple_of(GRANULARITY);
    // SAFETY of addresses: the driver checks them.
    cuMemUnmap(first as Address, all).max(cuMemAddressFree(first as Address, all))
}
