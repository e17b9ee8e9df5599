//! Error handlers (MPI-5.0 §9.3).

use crate::border::{fatal, Blame};
use serried_engine::Error;
use std::ffi::c_int;

/// Hands an error to the handler that answers for the call, and gives the code
/// that the call returns.
pub fn answer(blame: Blame, function: &str, code: c_int, error: &Error) -> c_int {
    match blame {
        Blame::File | Blame::Nobody => code,
        _ => fatal(function, code, error),
    }
}
