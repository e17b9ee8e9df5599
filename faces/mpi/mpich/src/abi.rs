//! Types and values of MPICH's ABI: handles are ints whose predefined values
//! carry bits of their kind.

use serried_engine::datatype::Basic;
use std::ffi::c_int;

/// `MPI_Comm`, `MPI_Datatype` …
pub type Handle = c_int;
/// `MPI_File`, the one handle that is a pointer.
pub type FileHandle = usize;

/// What `constants.api` says, made into constants.
#[allow(dead_code, clippy::all, clippy::pedantic)]
mod constants {
    use super::{FileHandle, Handle, Status};
    use std::ffi::{c_int, c_void};

    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}
pub use constants::*;

/// The number of the first error class or code that a program adds.
pub const FIRST_ADDED_CODE: c_int = MPI_ERR_LASTCODE + 1;
/// What `MPI_Abi_get_version` says: this is not the standard ABI.
pub const ABI_VERSION: (c_int, c_int) = (-1, -1);

/// `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_snake_case)]
pub struct Status {
    count_low: c_int,
    count_high_and_cancelled: c_int,
    /// Rank of the source.
    pub MPI_SOURCE: c_int,
    /// Tag.
    pub MPI_TAG: c_int,
    /// Error code, where a call has several statuses.
    pub MPI_ERROR: c_int,
}

impl Status {
    /// Stores the size of the message (63 bits), and whether it was cancelled.
    pub fn set_bytes(&mut self, bytes: u64, cancelled: bool) {
        self.count_low = bytes as c_int;
        self.count_high_and_cancelled = (((bytes >> 32) << 1) as c_int) | c_int::from(cancelled);
    }

    /// The size of the message.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count_low as u32) | u64::from(self.count_high_and_cancelled as u32 >> 1) << 32
    }

    /// Whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.count_high_and_cancelled & 1 != 0
    }
}

/// The 32 bits of a handle.
#[inline]
pub fn raw(handle: Handle) -> u32 {
    handle as u32
}

/// The handle of 32 bits.
#[inline]
pub fn handle(raw: u32) -> Handle {
    raw as Handle
}

/// A place below 256 for each predefined handle of one kind: the low byte
/// tells them apart, except that pair types (top bit) count anew from 0.
#[inline]
pub fn predefined_index(raw: u32) -> usize {
    ((raw & 0x7f) | (raw >> 31) << 7) as usize
}
/// What this library is called among the two.
pub const ABI_NAME: &str = "MPICH ABI";

/// `MPI_UNWEIGHTED`, whose value in this ABI is an address.
pub fn unweighted() -> *const c_int {
    crate::symbols::MPI_UNWEIGHTED.0.cast()
}

/// `MPI_WEIGHTS_EMPTY`, whose value in this ABI is an address.
pub fn weights_empty() -> *const c_int {
    crate::symbols::MPI_WEIGHTS_EMPTY.0.cast()
}

/// `MPI_T_PVAR_ALL_HANDLES`, whose value in this ABI is an address.
pub fn all_handles() -> *mut std::ffi::c_void {
    crate::symbols::MPI_T_PVAR_ALL_HANDLES.0
}

/// Whether a copy function of an attribute is `MPI_COMM_DUP_FN` or its kin.
pub fn is_dup_fn(function: *const std::ffi::c_void) -> bool {
    std::ptr::eq(function, crate::symbols::MPIR_Dup_fn as *const std::ffi::c_void)
}

/// The word by which the engine names an object to the program's functions.
#[inline]
pub fn word(handle: Handle) -> usize {
    handle as u32 as usize
}

/// The handle of such a word.
#[inline]
pub fn from_word(word: usize) -> Handle {
    word as u32 as Handle
}

/// Predefined datatypes that only this ABI has.
pub static MORE_DATATYPES: &[(Handle, &str, Basic)] = &[
    (MPIX_C_FLOAT16, "MPIX_C_FLOAT16", Basic::Float16),
    (MPIX_BFLOAT16, "MPIX_BFLOAT16", Basic::BrainFloat16),
];
