//! What tests ask and order, and names of errors.

use crate::{state, Answer};
use std::ffi::{c_char, c_int, CStr};
use std::ptr;

fn name(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the test passes a string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// How many calls of a function there were; of all for a null pointer.
#[no_mangle]
pub extern "C" fn fake_cuda_calls(of: *const c_char) -> u64 {
    state::lock().as_ref().map_or(0, |state| state.calls.number(&name(of)))
}

/// Of the calls of a function (of any: null) from now on, the one after so many others fails, once;
/// a negative number: none.
#[no_mangle]
pub extern "C" fn fake_cuda_fail(of: *const c_char, before: c_int) {
    let failing = u64::try_from(before).ok().map(|before| (name(of), before));
    state::lock().get_or_insert_default().calls.failing = failing;
}

/// Whether a failure that was asked for has not come yet.
#[no_mangle]
pub extern "C" fn fake_cuda_is_failing() -> c_int {
    c_int::from(state::lock().as_ref().is_some_and(|state| state.calls.failing.is_some()))
}

/// How many copies and launches were started and have not been done.
#[no_mangle]
pub extern "C" fn fake_cuda_pending() -> u64 {
    state::lock().as_ref().map_or(0, |state| state.streams.pending() as u64)
}

/// Whether calls are passed on to a GPU.
#[no_mangle]
pub extern "C" fn fake_cuda_is_real() -> c_int {
    0
}

fn words(answer: Answer) -> Option<(&'static CStr, &'static CStr)> {
    Some(match answer {
        0 => (c"CUDA_SUCCESS", c"no error"),
        1 => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        2 => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        3 => (c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
        209 => (c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for execution on the device"),
        500 => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        716 => (c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
        201 => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
        208 => (c"CUDA_ERROR_ALREADY_MAPPED", c"resource already mapped"),
        400 => (c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
        709 => (c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed"),
        719 => (c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
        801 => (c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
        _ => return None,
    })
}

fn tell(answer: Answer, place: *mut *const c_char, text: Option<&'static CStr>) -> Answer {
    let found = text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: the program passes the address of a pointer.
    match unsafe { state::give(place, found) } {
        Ok(()) if words(answer).is_some() => crate::SUCCESS,
        _ => crate::INVALID_VALUE,
    }
}

#[no_mangle]
pub extern "C" fn cuGetErrorName(answer: Answer, place: *mut *const c_char) -> Answer {
    tell(answer, place, words(answer).map(|(name, _)| name))
}

#[no_mangle]
pub extern "C" fn cuGetErrorString(answer: Answer, place: *mut *const c_char) -> Answer {
    tell(answer, place, words(answer).map(|(_, text)| text))
}
