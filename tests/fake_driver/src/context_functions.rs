//! CUDA's functions for contexts.

use crate::state::{call, give};
use crate::{Answer, Handle, INVALID_VALUE, NOT_SUPPORTED};
use std::ffi::{c_int, c_uint};

/// `CU_CTX_SYNC_MEMOPS`.
const SYNC_MEMOPS: c_uint = 0x80;

#[no_mangle]
pub extern "C" fn cuInit(_flags: c_uint) -> Answer {
    call("cuInit", |state| {
        state.is_initialised = true;
        Ok(())
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(place: *mut Handle, device: c_int) -> Answer {
    call("cuDevicePrimaryCtxRetain", |state| match device {
        // SAFETY: by the caller.
        0 => unsafe { give(place, state.contexts.retain_primary()) },
        _ => Err(INVALID_VALUE),
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuCtxCreate_v2(place: *mut Handle, _flags: c_uint, device: c_int) -> Answer {
    call("cuCtxCreate", |state| {
        if device != 0 {
            return Err(INVALID_VALUE);
        }
        let context = state.contexts.create();
        state.contexts.push(context)?;
        // SAFETY: by the caller.
        unsafe { give(place, context) }
    })
}

#[no_mangle]
pub extern "C" fn cuCtxDestroy_v2(context: Handle) -> Answer {
    call("cuCtxDestroy", |state| {
        state.contexts.destroy(context)?;
        state.streams.context_goes(context);
        state.modules.context_goes(context);
        state.memory.context_goes(context);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> Answer {
    call("cuCtxPushCurrent", |state| state.contexts.push(context))
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(place: *mut Handle) -> Answer {
    call("cuCtxPopCurrent", |state| {
        let popped = state.contexts.pop()?;
        // SAFETY: by the caller.
        unsafe { give(place, popped) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuCtxGetCurrent(place: *mut Handle) -> Answer {
    call("cuCtxGetCurrent", |state| {
        let context = state.contexts.current().unwrap_or(0);
        // SAFETY: by the caller.
        unsafe { give(place, context) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuCtxGetFlags(place: *mut c_uint) -> Answer {
    call("cuCtxGetFlags", |state| {
        let is_ordered = state.contexts.is_ordered(state.contexts.current()?);
        // SAFETY: by the caller.
        unsafe { give(place, if is_ordered { SYNC_MEMOPS } else { 0 }) }
    })
}

/// That copies of the program are ordered, and no more; an old driver (`FAKE_CUDA_FLAGS`) cannot do it.
#[no_mangle]
pub extern "C" fn cuCtxSetFlags(flags: c_uint) -> Answer {
    call("cuCtxSetFlags", |state| {
        if std::env::var_os("FAKE_CUDA_FLAGS").is_some() {
            return Err(NOT_SUPPORTED);
        }
        let context = state.contexts.current()?;
        state.contexts.order(context, flags & SYNC_MEMOPS != 0);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn cuCtxSetCurrent(context: Handle) -> Answer {
    call("cuCtxSetCurrent", |state| {
        let _ = state.contexts.pop();
        match context {
            0 => Ok(()),
            _ => state.contexts.push(context),
        }
    })
}
