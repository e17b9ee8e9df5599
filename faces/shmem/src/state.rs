//! What calls work with while OpenSHMEM runs.

use crate::common::engine::Participant;
use serried_engine::symmetric::Symmetric;
use serried_engine::{Engine, Result};
use std::sync::atomic::{AtomicPtr, Ordering};

/// OpenSHMEM among the faces of this library.
pub static SHMEM: Participant = Participant::new(
    "OpenSHMEM is not initialised; call shmem_init or shmem_init_thread before",
    "OpenSHMEM has been finalized; this function must be called before, or after another shmem_init",
    |_| Ok(()),
    || (),
);

/// What calls work with, while OpenSHMEM runs.
pub struct Shmem {
    /// The engine.
    pub engine: &'static Engine,
    /// The heap and the variables.
    pub symmetric: Symmetric,
}

pub(super) static CURRENT: AtomicPtr<Shmem> = AtomicPtr::new(std::ptr::null_mut());

/// What there is while OpenSHMEM runs.
#[inline]
pub fn known() -> Option<&'static Shmem> {
    // SAFETY: null, or what `begin` has made, which lives until the next beginning after its end.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// The same, for a call that needs it.
///
/// # Errors
/// `Other` before the beginning and after the end.
#[inline]
pub fn shmem() -> Result<&'static Shmem> {
    known().ok_or_else(|| SHMEM.not_running())
}
