//! The names of all calls; numbers follow those of the face before.

include!(concat!(env!("OUT_DIR"), "/shmem_calls.rs"));

/// Calls are numbered among those of all faces.
pub const FIRST_CALL: usize = crate::calls::NAMES.len() + crate::armci::NAMES.len();
