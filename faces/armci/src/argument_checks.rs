//! What is asked of pointers and numbers of programs everywhere.

use crate::common::buffers;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;

/// # Errors
/// `Arg` for a null pointer.
#[inline]
pub fn not_null<T>(argument: &str, pointer: *const T) -> Result<()> {
    match pointer.is_null() {
        false => Ok(()),
        true => Err(Error::new(Class::Arg, format!("argument {argument} is a null pointer"))),
    }
}

/// # Errors
/// `Count` for a negative number.
#[inline]
pub fn not_negative(argument: &str, value: c_int) -> Result<u64> {
    u64::try_from(value).map_err(|_| {
        Error::new(Class::Count, format!("argument {argument} is {value}; it cannot be negative"))
    })
}

/// Memory of the host: of what ARMCI moves nothing may lie in the memory of a device.
///
/// # Errors
/// `Arg` for a null pointer, `UnsupportedOperation` for memory of a device.
#[inline]
pub fn of_host<T>(name: &str, address: *const T) -> Result<()> {
    not_null(name, address)?;
    buffers::refuse(name, address.cast(), "copy it to memory of the host before")
}
