//! The symmetric heap (OpenSHMEM 1.6 chapter 9.3). Calls that do nothing are no barriers.

use crate::common::entry::Call;
use crate::shmem::entry::tell;
use crate::shmem::state::shmem;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_long, c_void};
use std::ptr;

/// What C programs expect of malloc.
const ALIGNMENT: usize = 16;

/// A block; null and a sentence if there is no room.
fn allocate(function: &str, bytes: usize, alignment: usize, zeroed: bool) -> Result<*mut c_void> {
    if bytes == 0 {
        return Ok(ptr::null_mut());
    }
    let shmem = shmem()?;
    null_without_room(function, shmem.engine.allocate_symmetric(&shmem.symmetric, bytes, alignment, zeroed))
}

fn null_without_room(function: &str, made: Result<*mut u8>) -> Result<*mut c_void> {
    match made {
        Ok(address) => Ok(address.cast()),
        Err(error) if error.class() == Class::NoMem => {
            if shmem()?.symmetric.rank() == 0 {
                tell(function, &error);
            }
            Ok(ptr::null_mut())
        }
        Err(error) => Err(error),
    }
}

/// `shmem_malloc`.
pub fn malloc(_call: &Call, size: usize) -> Result<*mut c_void> {
    allocate("shmem_malloc", size, ALIGNMENT, false)
}

/// `shmem_malloc_with_hints`: all memory is as the hints want it.
pub fn malloc_with_hints(_call: &Call, size: usize, _hints: c_long) -> Result<*mut c_void> {
    allocate("shmem_malloc_with_hints", size, ALIGNMENT, false)
}

/// `shmem_calloc`.
pub fn calloc(_call: &Call, count: usize, size: usize) -> Result<*mut c_void> {
    match count.checked_mul(size) {
        Some(bytes) => allocate("shmem_calloc", bytes, ALIGNMENT, true),
        None => {
            let sentence = format!("{count} elements of {size} bytes go beyond all memory");
            null_without_room("shmem_calloc", Err(Error::new(Class::NoMem, sentence)))
        }
    }
}

/// `shmem_align`.
pub fn align(_call: &Call, alignment: usize, size: usize) -> Result<*mut c_void> {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        let sentence = format!("argument alignment ({alignment}) is no power of two that is a multiple of 8");
        return Err(Error::new(Class::Arg, sentence));
    }
    allocate("shmem_align", size, alignment, false)
}

/// `shmem_realloc`.
pub fn realloc(call: &Call, ptr: *mut c_void, size: usize) -> Result<*mut c_void> {
    if ptr.is_null() {
        return allocate("shmem_realloc", size, ALIGNMENT, false);
    }
    if size == 0 {
        free(call, ptr)?;
        return Ok(ptr::null_mut());
    }
    let shmem = shmem()?;
    null_without_room("shmem_realloc", shmem.engine.resize_symmetric(&shmem.symmetric, ptr.cast(), size))
}

/// `shmem_free`.
pub fn free(_call: &Call, ptr: *mut c_void) -> Result<()> {
    if ptr.is_null() {
        return Ok(());
    }
    let shmem = shmem()?;
    shmem.engine.free_symmetric(&shmem.symmetric, ptr.cast())
}
