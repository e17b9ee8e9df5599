//! Streams of our own, one for each context, and copies on them.
//!
//! The program's work on a buffer is finished when it calls us, so a copy waits for no other
//! stream; and it has ended when we return, so every stream sees it. Streams do not wait for
//! stream 0 either (`CU_STREAM_NON_BLOCKING`).

use super::driver_errors::{CONTEXT_IS_DESTROYED, INVALID_HANDLE, SUCCESS};
use super::entry_points::{Address, Answer, EntryPoints, Handle};
use crate::device::interface::{DeviceMemory, Piece};
use crate::lock_order::{self, Level};
use crate::Result;
use std::ptr;
use std::sync::Mutex;

const NON_BLOCKING: u32 = 1;

/// The streams of this process.
#[derive(Default)]
pub(super) struct Streams {
    all: Mutex<Vec<Stream>>,
}

#[derive(Clone, Copy)]
struct Stream {
    /// The device, if the context is its primary one, which we have retained.
    device: Option<i32>,
    context: usize,
    stream: usize,
}

/// The context of this thread for as long as it lives; then it is the one before again.
pub(super) struct Current<'a>(&'a EntryPoints);

impl<'a> Current<'a> {
    pub fn new(entry: &'a EntryPoints, context: usize) -> std::result::Result<Current<'a>, Failed> {
        // SAFETY: a context of the driver, or one that it finds to be none.
        match unsafe { (entry.push_context)(context as Handle) } {
            SUCCESS => Ok(Current(entry)),
            answer => Err(("cuCtxPushCurrent", answer)),
        }
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: takes away what `new` has put there.
        unsafe { (self.0.pop_context)(&raw mut popped) };
    }
}

/// A function that failed, and its answer.
pub(super) type Failed = (&'static str, Answer);

pub(super) fn succeed(function: &'static str, answer: Answer) -> std::result::Result<(), Failed> {
    match answer {
        SUCCESS => Ok(()),
        _ => Err((function, answer)),
    }
}

impl Streams {
    /// Copies pieces, and waits for the end.
    ///
    /// # Safety
    /// As [`crate::device::copy`].
    pub unsafe fn copy(&self, entry: &EntryPoints, memory: &DeviceMemory, pieces: &[Piece]) -> Result<()> {
        // SAFETY: by the caller.
        let mut done = unsafe { self.try_copy(entry, memory, pieces) };
        if matches!(done, Err((_, INVALID_HANDLE | CONTEXT_IS_DESTROYED))) {
            // The context that had this address before has gone, and its stream with it.
            self.forget(memory);
            // SAFETY: by the caller.
            done = unsafe { self.try_copy(entry, memory, pieces) };
        }
        done.or_else(|(function, answer)| entry.check(function, answer))
    }

    /// # Safety
    /// As above.
    unsafe fn try_copy(
        &self,
        entry: &EntryPoints,
        memory: &DeviceMemory,
        pieces: &[Piece],
    ) -> std::result::Result<(), Failed> {
        let Stream { context, stream, .. } = self.of(entry, memory)?;
        let _current = Current::new(entry, context)?;
        let stream = stream as Handle;
        let mut started = Ok(());
        for piece in pieces.iter().filter(|piece| piece.bytes > 0) {
            // SAFETY: by the caller.
            let answer =
                unsafe { (entry.copy)(piece.to as Address, piece.from as Address, piece.bytes, stream) };
            started = succeed("cuMemcpyAsync", answer);
            if started.is_err() {
                break;
            }
        }
        // After a failure too, of the wait as well: what has been started must not go on in memory that
        // is given back.
        // SAFETY: a stream of ours.
        let wait = || succeed("cuStreamSynchronize", unsafe { (entry.synchronize)(stream) });
        let ended = wait();
        if ended.is_err() {
            let _ = wait();
        }
        started.and(ended)
    }

    /// The stream for memory.
    fn of(&self, entry: &EntryPoints, memory: &DeviceMemory) -> std::result::Result<Stream, Failed> {
        let mut all = lock_order::lock(&self.all, Level::DEVICE);
        let device = (memory.context == 0).then_some(memory.device);
        let is_it = |one: &&Stream| match device {
            Some(_) => one.device == device,
            None => one.context == memory.context,
        };
        if let Some(found) = all.iter().find(is_it) {
            return Ok(*found);
        }
        let context = match device {
            Some(device) => primary(entry, device)?,
            None => memory.context,
        };
        let current = Current::new(entry, context)?;
        let mut stream = ptr::null_mut();
        // SAFETY: stores a new stream of the context.
        succeed("cuStreamCreate", unsafe { (entry.create_stream)(&raw mut stream, NON_BLOCKING) })?;
        drop(current);
        let made = Stream { device, context, stream: stream as usize };
        all.push(made);
        Ok(made)
    }

    fn forget(&self, memory: &DeviceMemory) {
        let mut all = lock_order::lock(&self.all, Level::DEVICE);
        all.retain(|one| match memory.context {
            0 => one.device != Some(memory.device),
            context => one.context != context,
        });
    }
}

/// The primary context of a device, for memory that belongs to none (pools, mapped memory).
pub(super) fn primary(entry: &EntryPoints, device: i32) -> std::result::Result<usize, Failed> {
    let mut context = ptr::null_mut();
    // SAFETY: stores a context; it is kept until the process ends.
    succeed("cuDevicePrimaryCtxRetain", unsafe { (entry.retain_primary)(&raw mut context, device) })?;
    Ok(context as usize)
}
