//! Puts and gets of one value that is an argument or the result.

use super::contiguous::{get, put};
use crate::common::entry::Call;
use serried_engine::Result;
use std::ffi::{c_int, c_void};

/// `ARMCI_PutValueInt` and its kin.
pub fn put_value<T>(call: &Call, value: T, dst: *mut c_void, proc: c_int) -> Result<c_int> {
    // SAFETY: the value is there for as long as the call.
    unsafe { put(call, (&raw const value).cast(), dst, size_of::<T>() as c_int, proc) }
}

/// `ARMCI_GetValueInt` and its kin.
pub fn get_value<T: Default>(call: &Call, src: *const c_void, proc: c_int) -> Result<T> {
    let mut value = T::default();
    // SAFETY: as above; all bits are a value of the numbers that this is called for.
    unsafe { get(call, src, (&raw mut value).cast(), size_of::<T>() as c_int, proc)? };
    Ok(value)
}
