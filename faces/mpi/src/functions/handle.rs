//! Handles as integers (MPI-5.0 §20.4), which are also those of Fortran (§19.3.4).

use crate::abi::{self, FileHandle, Handle};
use crate::common::handles::Handle as _;
use std::ffi::c_int;

macro_rules! as_integers {
    ($($toint:ident $fromint:ident $handle:ident $kind:ident;)*) => {$(
        /// The integer of a handle.
        pub fn $toint(handle: $handle) -> c_int {
            handle.to_integer()
        }

        /// The handle of an integer.
        pub fn $fromint(integer: c_int) -> $handle {
            $handle::from_integer(abi::$kind, integer)
        }
    )*};
}

as_integers! {
    comm_toint comm_fromint Handle KIND_OF_COMM;
    errhandler_toint errhandler_fromint Handle KIND_OF_ERRHANDLER;
    file_toint file_fromint FileHandle KIND_OF_FILE;
    group_toint group_fromint Handle KIND_OF_GROUP;
    info_toint info_fromint Handle KIND_OF_INFO;
    message_toint message_fromint Handle KIND_OF_MESSAGE;
    op_toint op_fromint Handle KIND_OF_OP;
    request_toint request_fromint Handle KIND_OF_REQUEST;
    session_toint session_fromint Handle KIND_OF_SESSION;
    type_toint type_fromint Handle KIND_OF_DATATYPE;
    win_toint win_fromint Handle KIND_OF_WIN;
}
