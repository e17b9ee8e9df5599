//! Handles and statuses for Fortran (MPI-5.0 §19.3.4, §19.3.5), of MPICH's ABI
//! alone: a Fortran integer holds the 32 bits of a handle.

use crate::abi::{self, FileHandle, Handle, Status};
use crate::functions::handle::{file_fromint, file_toint};
use std::ffi::c_int;

macro_rules! as_integers {
    ($($c2f:ident $f2c:ident),* $(,)?) => {$(
        /// The Fortran integer of a handle.
        pub fn $c2f(handle: Handle) -> c_int {
            abi::raw(handle) as c_int
        }

        /// The handle of a Fortran integer.
        pub fn $f2c(integer: c_int) -> Handle {
            abi::handle(integer as u32)
        }
    )*};
}

as_integers! {
    comm_c2f comm_f2c, errhandler_c2f errhandler_f2c, group_c2f group_f2c, info_c2f info_f2c,
    message_c2f message_f2c, op_c2f op_f2c, request_c2f request_f2c, session_c2f session_f2c,
    type_c2f type_f2c, win_c2f win_f2c,
}

/// As [`file_toint`], for Fortran.
pub fn file_c2f(handle: FileHandle) -> c_int {
    file_toint(handle)
}

/// As [`file_fromint`], for Fortran.
pub fn file_f2c(integer: c_int) -> FileHandle {
    file_fromint(integer)
}

/// Ints in a status: as a Fortran array and as the Fortran 2008 type, which lie
/// in memory as the C structure does in both ABIs.
fn copy_status(from: *const c_int, to: *mut c_int) -> c_int {
    if from.is_null() || to.is_null() {
        return abi::MPI_ERR_ARG;
    }
    // SAFETY: the program passes two statuses (MPI-5.0 §19.3.5).
    unsafe { std::ptr::copy(from, to, size_of::<Status>() / size_of::<c_int>()) };
    abi::MPI_SUCCESS
}

macro_rules! copies_of_a_status {
    ($($name:ident: $from:ty => $to:ty;)*) => {$(
        /// Copies a status from one language to another.
        pub fn $name(from: *const $from, to: *mut $to) -> c_int {
            copy_status(from.cast(), to.cast())
        }
    )*};
}

copies_of_a_status! {
    status_c2f: Status => c_int;
    status_c2f08: Status => c_int;
    status_f082c: c_int => Status;
    status_f082f: c_int => c_int;
    status_f2c: c_int => Status;
    status_f2f08: c_int => c_int;
}
