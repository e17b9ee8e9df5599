//! CUDA's functions for memory, copies and streams.

use crate::memory::Sort;
use crate::state::{call, give};
use crate::{Address, Answer, Handle, INVALID_VALUE};
use std::ffi::{c_uint, c_void};

const NON_BLOCKING: c_uint = 1;

/// # Safety
/// `place` is null or can be written.
unsafe fn allocate(name: &'static str, place: *mut Address, bytes: usize, sort: Sort) -> Answer {
    call(name, |state| {
        let context = state.contexts.current()?;
        let context = if sort == Sort::Pool { 0 } else { context };
        let first = state.memory.allocate(bytes, sort, context)?;
        // SAFETY: by the caller.
        unsafe { give(place, first as Address) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemAlloc_v2(place: *mut Address, bytes: usize) -> Answer {
    // SAFETY: by the caller.
    unsafe { allocate("cuMemAlloc", place, bytes, Sort::Device) }
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemAllocAsync(place: *mut Address, bytes: usize, _stream: Handle) -> Answer {
    // SAFETY: by the caller.
    unsafe { allocate("cuMemAllocAsync", place, bytes, Sort::Pool) }
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemAllocManaged(place: *mut Address, bytes: usize, _flags: c_uint) -> Answer {
    // SAFETY: by the caller.
    unsafe { allocate("cuMemAllocManaged", place, bytes, Sort::Managed) }
}

#[no_mangle]
pub extern "C" fn cuMemFree_v2(address: Address) -> Answer {
    call("cuMemFree", |state| {
        state.streams.finish_all(&state.memory)?;
        state.memory.free(address as usize)
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: Address, from: *const c_void, bytes: usize) -> Answer {
    call("cuMemcpyHtoD", |state| {
        let is_ordered = state.contexts.is_ordered(state.contexts.current()?);
        let piece = (to as usize, from as usize, bytes);
        // SAFETY: by the caller.
        unsafe { state.streams.copy_for_program(piece, &state.memory, is_ordered) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: Address, bytes: usize) -> Answer {
    // SAFETY: by the caller.
    call("cuMemcpyDtoH", |state| unsafe {
        state.streams.finish_program(&state.memory)?;
        state.memory.copy(to as usize, from as usize, bytes)
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuStreamCreate(place: *mut Handle, flags: c_uint) -> Answer {
    call("cuStreamCreate", |state| {
        let context = state.contexts.current()?;
        if flags != NON_BLOCKING {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the caller.
        unsafe { give(place, state.streams.create(context)) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle) -> Answer {
    call("cuMemcpyAsync", |state| {
        let context = state.contexts.current()?;
        let piece = (to as usize, from as usize, bytes);
        // SAFETY: by the caller.
        unsafe { state.streams.start((stream, context), piece, &state.memory) }
    })
}

#[no_mangle]
pub extern "C" fn cuStreamSynchronize(stream: Handle) -> Answer {
    call("cuStreamSynchronize", |state| {
        state.contexts.current()?;
        match stream {
            // That of copies which name none.
            0 => state.streams.finish_program(&state.memory),
            _ => state.streams.finish(stream, &state.memory),
        }
    })
}
