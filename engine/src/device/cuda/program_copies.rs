//! Copies of the program that have not ended when the driver says so.
//!
//! A copy of up to 64 KiB from pageable memory to the device returns as soon as the driver has the bytes. Streams that are
//! not blocking, as ours are, do not wait for it: on an H100 they read old bytes two times in three. So at the first sight
//! of a context the driver is told to end such copies first, and what is under way is waited for.
//!
//! `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`, which says the same of one allocation, comes too late for what was copied before
//! we met it; memory that programs map refuses it, and for pools it does nothing.

use super::driver_errors::{succeed, Done, INVALID_VALUE, NOT_SUPPORTED};
use super::entry_points::{ContextEntryPoints, EntryPoints};
use std::ffi::c_uint;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// `CU_CTX_SYNC_MEMOPS`.
const SYNC_MEMOPS: c_uint = 0x80;

/// Who tells the driver.
pub(super) struct ProgramCopies {
    contexts: Option<ContextEntryPoints>,
    /// The driver cannot be told (before CUDA 12.1): then the program's copies are waited for before each of ours.
    are_waited_for: AtomicBool,
}

impl ProgramCopies {
    pub fn new(contexts: Option<ContextEntryPoints>) -> ProgramCopies {
        let are_waited_for = AtomicBool::new(contexts.is_none());
        ProgramCopies { contexts, are_waited_for }
    }

    pub fn are_waited_for(&self) -> bool {
        self.are_waited_for.load(Ordering::Relaxed)
    }

    /// The context of this thread is met for the first time.
    pub fn order(&self, entry: &EntryPoints) -> Done<()> {
        if let Some(contexts) = &self.contexts {
            let mut flags = 0;
            // SAFETY: stores an unsigned int.
            succeed("cuCtxGetFlags", unsafe { (contexts.flags)(&raw mut flags) })?;
            // SAFETY: takes an unsigned int.
            match unsafe { (contexts.set_flags)(flags | SYNC_MEMOPS) } {
                INVALID_VALUE | NOT_SUPPORTED => self.are_waited_for.store(true, Ordering::Relaxed),
                answer => succeed("cuCtxSetFlags", answer)?,
            }
        }
        wait_for_program(entry)
    }
}

/// Waits for the copies of the program in the context of this thread that name no stream.
pub(super) fn wait_for_program(entry: &EntryPoints) -> Done<()> {
    // SAFETY: null is the stream of such copies.
    succeed("cuStreamSynchronize", unsafe { (entry.synchronize)(ptr::null_mut()) })
}
