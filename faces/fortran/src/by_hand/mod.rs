//! Routines whose wrappers do not follow from the kinds of their arguments.
//!
//! SAFETY of all of them: a program passes what MPI says for the routine, as its compiler passes it.
#![allow(
    missing_docs,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::too_many_arguments
)]

mod attribute;
pub mod bound;
mod callback;
mod dynamic;
mod plain;
mod removed;
mod start;
mod string;

pub use attribute::*;
pub use callback::*;
pub use plain::*;
#[allow(unused_imports)] // not every library has them
pub use removed::*;
pub use start::*;

use crate::integers::{widen, Fint};
use std::ffi::c_int;

/// Gives the program the error code, if it wants it.
unsafe fn report(ierror: *mut Fint, code: c_int) {
    if !ierror.is_null() {
        ierror.write(widen(code));
    }
}
