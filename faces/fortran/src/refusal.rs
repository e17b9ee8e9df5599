//! Errors that are found here and not by the C library.

use crate::abi;
use std::ffi::{c_int, CString};

/// The code of the error that a section cannot be described: its sentence names the routine.
pub fn refused(routine: &str) -> c_int {
    let sentence = format!(
        "{routine}: a buffer is a section that is not contiguous, and the items of the datatype are not whole elements \
         of it; pass a contiguous copy, or a datatype of which an element has a whole number"
    );
    let (mut code, text) = (abi::MPI_ERR_BUFFER, CString::new(sentence).unwrap_or_default());
    // SAFETY: a place for the code, and a string.
    unsafe {
        if abi::c_add_error_code(abi::MPI_ERR_BUFFER, &mut code) == abi::MPI_SUCCESS {
            abi::c_add_error_string(code, text.as_ptr());
        }
        // As if the C library had found it: the handler of the program answers.
        abi::c_comm_call_errhandler(abi::convert::to_comm(abi::WORLD), code)
    };
    code
}
