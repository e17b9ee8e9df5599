//! CUDA's functions for programs on the device, and pinned memory of the host.

use crate::kernels::Launch;
use crate::state::{call, give};
use crate::{Answer, Handle, INVALID_VALUE};
use std::ffi::{c_char, c_uint, c_void, CStr};

/// Threads of a block at most.
const MOST_THREADS: c_uint = 1024;

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuModuleLoadData(place: *mut Handle, image: *const c_void) -> Answer {
    call("cuModuleLoadData", |state| {
        let context = state.contexts.current()?;
        // SAFETY: by the caller: a text with a zero at its end.
        unsafe { give(place, state.modules.load(CStr::from_ptr(image.cast()), context)?) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuModuleGetFunction(
    place: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Answer {
    call("cuModuleGetFunction", |state| {
        let context = state.contexts.current()?;
        // SAFETY: by the caller.
        unsafe { give(place, state.modules.function(module, CStr::from_ptr(name), context)?) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
#[allow(clippy::too_many_arguments, reason = "CUDA's interface")]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    blocks: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    _shared: c_uint,
    stream: Handle,
    parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Answer {
    call("cuLaunchKernel", |state| {
        let context = state.contexts.current()?;
        let known = state.modules.known(function, context)?;
        if blocks == 0 || threads == 0 || threads > MOST_THREADS {
            return Err(INVALID_VALUE);
        }
        if [blocks_y, blocks_z, threads_y, threads_z] != [1; 4] {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the caller.
        unsafe {
            let launch = Launch::new(known, (blocks.into(), threads.into()), parameters);
            state.streams.launch((stream, context), launch, &state.memory)
        }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemHostAlloc(place: *mut *mut c_void, bytes: usize, _flags: c_uint) -> Answer {
    call("cuMemHostAlloc", |state| {
        state.contexts.current()?;
        // SAFETY: by the caller.
        unsafe { give(place, state.memory.allocate_pinned(bytes) as *mut c_void) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuMemHostRegister_v2(first: *mut c_void, bytes: usize, _flags: c_uint) -> Answer {
    call("cuMemHostRegister", |state| {
        state.contexts.current()?;
        state.memory.pin(first as usize, bytes)
    })
}
