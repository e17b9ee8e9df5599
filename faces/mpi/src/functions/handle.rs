//! Handles as integers (MPI-5.0 §19.3.4, §20.4): the 32 bits of the handle.

use crate::abi::{self, FileHandle, Handle, Status};
use std::ffi::c_int;

macro_rules! as_integers {
    ($($toint:ident $fromint:ident),* $(,)?) => {$(
        /// The integer of a handle.
        pub fn $toint(handle: Handle) -> c_int {
            abi::raw(handle) as c_int
        }

        /// The handle of an integer.
        pub fn $fromint(integer: c_int) -> Handle {
            abi::handle(integer as u32)
        }
    )*};
}

as_integers! {
    comm_toint comm_fromint, errhandler_toint errhandler_fromint, group_toint group_fromint,
    info_toint info_fromint, message_toint message_fromint, op_toint op_fromint,
    request_toint request_fromint, session_toint session_fromint, type_toint type_fromint,
    win_toint win_fromint,
    comm_c2f comm_f2c, errhandler_c2f errhandler_f2c, group_c2f group_f2c, info_c2f info_f2c,
    message_c2f message_f2c, op_c2f op_f2c, request_c2f request_f2c, session_c2f session_f2c,
    type_c2f type_f2c, win_c2f win_f2c,
}

/// The integer of a file handle.
pub fn file_toint(handle: FileHandle) -> c_int {
    handle as c_int
}

/// The file handle of an integer.
pub fn file_fromint(integer: c_int) -> FileHandle {
    integer as u32 as FileHandle
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
