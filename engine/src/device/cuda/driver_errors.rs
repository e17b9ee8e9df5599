//! What the driver answers, in words.

use super::entry_points::{Answer, EntryPoints};
use crate::{Class, Error, Result};
use std::ffi::{c_char, CStr};

/// `CUDA_SUCCESS`.
pub(super) const SUCCESS: Answer = 0;
/// `CUDA_ERROR_INVALID_VALUE`.
pub(super) const INVALID_VALUE: Answer = 1;
/// `CUDA_ERROR_NOT_INITIALIZED`: the program has not begun with CUDA.
pub(super) const NOT_INITIALIZED: Answer = 3;
/// `CUDA_ERROR_DEINITIALIZED`: the driver is shutting down.
pub(super) const DEINITIALIZED: Answer = 4;
/// `CUDA_ERROR_INVALID_HANDLE`.
pub(super) const INVALID_HANDLE: Answer = 400;
/// `CUDA_ERROR_NOT_SUPPORTED`.
pub(super) const NOT_SUPPORTED: Answer = 801;
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
pub(super) const CONTEXT_IS_DESTROYED: Answer = 709;

/// A function that failed, and its answer.
pub(super) type Failed = (&'static str, Answer);
/// What functions of the driver have come to.
pub(super) type Done<T> = std::result::Result<T, Failed>;

pub(super) fn succeed(function: &'static str, answer: Answer) -> Done<()> {
    match answer {
        SUCCESS => Ok(()),
        _ => Err((function, answer)),
    }
}

impl EntryPoints {
    /// An answer of a function as a result.
    ///
    /// # Errors
    /// `Other`, with the function and what the driver says of the answer.
    #[inline]
    pub fn check(&self, function: &str, answer: Answer) -> Result<()> {
        match answer {
            SUCCESS => Ok(()),
            _ => Err(self.failure(function, answer)),
        }
    }

    #[cold]
    pub fn failure(&self, function: &str, answer: Answer) -> Error {
        let mut name = std::ptr::null();
        let mut text = std::ptr::null();
        // SAFETY: both store the address of a string that lives for ever, or null.
        unsafe {
            (self.error_name)(answer, &raw mut name);
            (self.error_text)(answer, &raw mut text);
        }
        let sentence = format!(
            "the CUDA driver failed in {function}: {} ({answer}), {}; an error of an earlier kernel or copy of the \
             program shows here too",
            words(name, "an unknown error"),
            words(text, "of which it says nothing")
        );
        Error::new(Class::Other, sentence)
    }
}

fn words(text: *const c_char, unknown: &str) -> String {
    if text.is_null() {
        return unknown.to_owned();
    }
    // SAFETY: a string of the driver.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
