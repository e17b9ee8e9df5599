//! CUDA's functions for handles of memory, and for devices: there is one.

use crate::mapped::MemHandle;
use crate::state::{call, give};
use crate::{Address, Answer, INVALID_VALUE};
use std::ffi::{c_int, c_uint};

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuIpcGetMemHandle(place: *mut MemHandle, address: Address) -> Answer {
    call("cuIpcGetMemHandle", |state| {
        state.contexts.current()?;
        // SAFETY: by the caller.
        unsafe { give(place, state.memory.handle_of(address as usize)?) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuIpcOpenMemHandle_v2(
    place: *mut Address,
    handle: MemHandle,
    flags: c_uint,
) -> Answer {
    call("cuIpcOpenMemHandle", |state| {
        let context = state.contexts.current()?;
        if flags != 1 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the caller.
        unsafe { give(place, state.memory.open(&handle, context)? as Address) }
    })
}

#[no_mangle]
pub extern "C" fn cuIpcCloseMemHandle(address: Address) -> Answer {
    call("cuIpcCloseMemHandle", |state| {
        state.contexts.current()?;
        state.streams.finish_all(&state.memory)?;
        state.memory.close(address as usize)
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuDeviceGetCount(place: *mut c_int) -> Answer {
    // SAFETY: by the caller.
    call("cuDeviceGetCount", |_| unsafe { give(place, 1) })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuDeviceGet(place: *mut c_int, ordinal: c_int) -> Answer {
    call("cuDeviceGet", |_| match ordinal {
        // SAFETY: by the caller.
        0 => unsafe { give(place, 0) },
        _ => Err(INVALID_VALUE),
    })
}

/// The same in all processes, if not each shall have a device of its own.
///
/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(place: *mut [u8; 16], _device: c_int) -> Answer {
    call("cuDeviceGetUuid", |_| {
        let mut uuid = *b"the fake device ";
        if std::env::var("FAKE_CUDA_IPC").is_ok_and(|asked| asked == "apart") {
            uuid[..4].copy_from_slice(&std::process::id().to_ne_bytes());
        }
        // SAFETY: by the caller.
        unsafe { give(place, uuid) }
    })
}

/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(
    _device: c_int,
    flags: *mut c_uint,
    active: *mut c_int,
) -> Answer {
    call("cuDevicePrimaryCtxGetState", |state| {
        // SAFETY: by the caller.
        unsafe {
            give(flags, 0)?;
            give(active, c_int::from(state.contexts.has_primary()))
        }
    })
}
