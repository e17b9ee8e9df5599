//! Types and values of the standard ABI (MPI-5.0 chapter 20): handles are
//! pointers whose predefined values lie below 4096.

use serried_engine::datatype::Basic;
use std::ffi::c_int;

/// `MPI_Comm`, `MPI_Datatype` …: an incomplete structure's address.
pub type Handle = usize;
/// `MPI_File`.
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
/// What `MPI_Abi_get_version` says.
pub const ABI_VERSION: (c_int, c_int) = (MPI_ABI_VERSION, MPI_ABI_SUBVERSION);

/// `MPI_Status` (MPI-5.0 §3.2.5, §20.2).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_snake_case)]
pub struct Status {
    /// Rank of the source.
    pub MPI_SOURCE: c_int,
    /// Tag.
    pub MPI_TAG: c_int,
    /// Error code, where a call has several statuses.
    pub MPI_ERROR: c_int,
    /// Bytes (low, high), cancelled.
    internal: [c_int; 5],
}

impl Status {
    /// Stores the size of the message, and whether it was cancelled.
    pub fn set_bytes(&mut self, bytes: u64, cancelled: bool) {
        self.internal[0] = bytes as c_int;
        self.internal[1] = (bytes >> 32) as c_int;
        self.internal[2] = c_int::from(cancelled);
    }

    /// The size of the message.
    pub fn bytes(&self) -> u64 {
        u64::from(self.internal[0] as u32) | u64::from(self.internal[1] as u32) << 32
    }

    /// Whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.internal[2] != 0
    }
}

/// The 32 bits of a handle; 0, which is no handle, for what has more.
#[inline]
pub fn raw(handle: Handle) -> u32 {
    u32::try_from(handle).unwrap_or(0)
}

/// The handle of 32 bits.
#[inline]
pub fn handle(raw: u32) -> Handle {
    raw as Handle
}

/// A place below 256 for each predefined handle of one kind.
#[inline]
pub fn predefined_index(raw: u32) -> usize {
    (raw & 0xff) as usize
}
/// What this library is called among the two.
pub const ABI_NAME: &str = "standard ABI";

/// `MPI_UNWEIGHTED`.
pub fn unweighted() -> *const c_int {
    MPI_UNWEIGHTED.cast()
}

/// `MPI_WEIGHTS_EMPTY`.
pub fn weights_empty() -> *const c_int {
    MPI_WEIGHTS_EMPTY.cast()
}

/// `MPI_T_PVAR_ALL_HANDLES`.
pub fn all_handles() -> *mut std::ffi::c_void {
    MPI_T_PVAR_ALL_HANDLES
}

/// Whether a copy function of an attribute is `MPI_COMM_DUP_FN` or its kin.
pub fn is_dup_fn(function: *const std::ffi::c_void) -> bool {
    function == MPI_COMM_DUP_FN.cast_const()
}

/// The word by which the engine names an object to the program's functions.
#[inline]
pub fn word(handle: Handle) -> usize {
    handle
}

/// The handle of such a word.
#[inline]
pub fn from_word(word: usize) -> Handle {
    word
}

/// Predefined datatypes that only this ABI has.
pub static MORE_DATATYPES: &[(Handle, &str, Basic)] = &[];
