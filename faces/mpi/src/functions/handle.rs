//! Handles as integers (MPI-5.0 §20.4): the 32 bits of the handle.

use crate::abi::{self, FileHandle, Handle};
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
}

/// The integer of a file handle.
pub fn file_toint(handle: FileHandle) -> c_int {
    handle as c_int
}

/// The file handle of an integer.
pub fn file_fromint(integer: c_int) -> FileHandle {
    integer as u32 as FileHandle
}
