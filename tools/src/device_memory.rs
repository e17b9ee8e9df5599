//! Memory of a device, made as a program of CUDA makes it: to try what ranks can do with it.

use crate::info::wanted_gpu;
use serried_engine::device::{self, DeviceMemory};
use serried_engine::engine::device_pairs::BYTES;
use std::ffi::{c_int, c_uint, c_void, CStr};
use std::ptr;

type Function<T> = unsafe extern "C" fn(T) -> c_int;

/// A function of the driver.
///
/// # Safety
/// `F` is its type.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the library is loaded, for ever.
    let found = ptr::NonNull::new(unsafe { libc::dlsym(library, name.as_ptr()) })?;
    // SAFETY: by the caller, and of the same size.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

/// Some memory of the first device; `None` if there is none to be had. The engine runs.
pub fn of_first_device() -> Option<DeviceMemory> {
    if !device::is_offered(wanted_gpu()) {
        return None;
    }
    let mut address = 0u64;
    // SAFETY: the types are those of the driver's documentation for these names; all places can be written.
    unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return None;
        }
        let begin: Function<c_uint> = function(library, c"cuInit")?;
        let retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int =
            function(library, c"cuDevicePrimaryCtxRetain")?;
        let set: Function<*mut c_void> = function(library, c"cuCtxSetCurrent")?;
        let allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int = function(library, c"cuMemAlloc_v2")?;
        let mut context = ptr::null_mut();
        let is_made = begin(0) == 0
            && retain(&raw mut context, 0) == 0
            && set(context) == 0
            && allocate(&raw mut address, BYTES) == 0;
        if !is_made {
            return None;
        }
    }
    device::find(address as *const u8).ok().flatten()
}
