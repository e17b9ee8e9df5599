//! The attribute functions of MPI itself (MPI-5.0 §7.7.2), which some ABIs export.

use std::ffi::{c_int, c_void};

/// `MPI_SUCCESS`, which is 0 in every ABI.
const SUCCESS: c_int = 0;

/// `MPI_COMM_DUP_FN` and its kin: copies the attribute's value.
///
/// # Safety
/// Called as MPI calls an attribute copy function: both results can be written.
pub unsafe fn duplicate(value: *mut c_void, copy: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: by the contract.
    unsafe {
        copy.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    SUCCESS
}

/// `MPI_COMM_NULL_COPY_FN` and its kin: copies nothing.
///
/// # Safety
/// Called as MPI calls an attribute copy function: the flag can be written.
pub unsafe fn null_copy(flag: *mut c_int) -> c_int {
    // SAFETY: by the contract.
    unsafe { flag.write(0) };
    SUCCESS
}

/// `MPI_COMM_NULL_DELETE_FN` and its kin: does nothing.
pub fn null_delete() -> c_int {
    SUCCESS
}
