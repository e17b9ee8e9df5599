//! Handles and statuses for Fortran (MPI-5.0 §19.3.4, §19.3.5), which the standard
//! ABI does not have: a Fortran integer stands for a handle as that of `MPI_Comm_toint`.

pub use super::handle::{
    comm_fromint as comm_f2c, comm_toint as comm_c2f, errhandler_fromint as errhandler_f2c,
    errhandler_toint as errhandler_c2f, file_fromint as file_f2c, file_toint as file_c2f,
    group_fromint as group_f2c, group_toint as group_c2f, info_fromint as info_f2c, info_toint as info_c2f,
    message_fromint as message_f2c, message_toint as message_c2f, op_fromint as op_f2c, op_toint as op_c2f,
    request_fromint as request_f2c, request_toint as request_c2f, session_fromint as session_f2c,
    session_toint as session_c2f, type_fromint as type_f2c, type_toint as type_c2f, win_fromint as win_f2c,
    win_toint as win_c2f,
};

use crate::abi::{self, Status};
use std::ffi::c_int;

/// Ints in a status: as a Fortran array and as the Fortran 2008 type, which lie
/// in memory as the C structure does.
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
