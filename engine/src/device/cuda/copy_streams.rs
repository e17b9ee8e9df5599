//! Streams of our own, one for each context, and copies on them.
//!
//! The program's work on a buffer is finished when it calls us, so a copy waits for no other
//! stream; and it has ended when we return, so every stream sees it. Streams do not wait for
//! stream 0 either (`CU_STREAM_NON_BLOCKING`).

use super::driver_errors::{succeed, Done, CONTEXT_IS_DESTROYED, INVALID_HANDLE, SUCCESS};
use super::entry_points::{Address, EntryPoints, Handle};
use super::program_copies::{wait_for_program, ProgramCopies};
use crate::device::interface::{DeviceMemory, Piece};
use crate::lock_order::{self, Level};
use crate::{Class, Error, Result};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

const NON_BLOCKING: u32 = 1;

/// The streams of this process.
pub(super) struct Streams {
    all: Mutex<Vec<Stream>>,
    program_copies: ProgramCopies,
}

#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// The device, if the context is its primary one, which we have retained.
    device: Option<i32>,
    pub context: usize,
    pub stream: usize,
    /// No other stream ever has it.
    pub number: u64,
}

/// The context of this thread for as long as it lives; then it is the one before again.
pub(super) struct Current<'a>(&'a EntryPoints);

impl<'a> Current<'a> {
    pub fn new(entry: &'a EntryPoints, context: usize) -> Done<Current<'a>> {
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

impl Streams {
    pub fn new(program_copies: ProgramCopies) -> Streams {
        Streams { all: Mutex::default(), program_copies }
    }

    /// Memory is met: what the program has copied to it is there before others look at it.
    pub fn meet(&self, entry: &EntryPoints, memory: &DeviceMemory) -> Result<()> {
        self.of(entry, memory).map(drop).map_err(|(function, answer)| entry.failure(function, answer))
    }

    /// Whether other processes may read memory by themselves: they cannot wait for copies of the program.
    pub fn may_be_lent(&self) -> Result<()> {
        match self.program_copies.are_waited_for() {
            false => Ok(()),
            true => Err(Error::new(
                Class::Other,
                "this CUDA driver (before 12.1) cannot order the copies of the program (cuCtxSetFlags)",
            )),
        }
    }

    /// Copies pieces, and waits for the end.
    ///
    /// # Safety
    /// As [`crate::device::copy`].
    pub unsafe fn copy(&self, entry: &EntryPoints, memory: &DeviceMemory, pieces: &[Piece]) -> Result<()> {
        // SAFETY: by the caller.
        self.on_stream(entry, memory, |here| unsafe { copy_on(entry, here, pieces) })
    }

    /// Does something on the stream for memory, in its context; a second time if the stream turns out to have gone.
    pub fn on_stream<T>(
        &self,
        entry: &EntryPoints,
        memory: &DeviceMemory,
        mut work: impl FnMut(Stream) -> Done<T>,
    ) -> Result<T> {
        let mut attempt = || {
            let here = self.of(entry, memory)?;
            let _current = Current::new(entry, here.context)?;
            self.after_program(entry)?;
            work(here)
        };
        let mut done = attempt();
        if matches!(done, Err((_, INVALID_HANDLE | CONTEXT_IS_DESTROYED))) {
            // The context that had this address before has gone, and its stream with it.
            self.forget(memory);
            done = attempt();
        }
        done.map_err(|(function, answer)| entry.failure(function, answer))
    }

    /// What the program has copied is in place, in the present context.
    pub fn after_program(&self, entry: &EntryPoints) -> Done<()> {
        if self.program_copies.are_waited_for() {
            wait_for_program(entry)?;
        }
        Ok(())
    }

    /// The context in which memory is used.
    pub fn context_of(&self, entry: &EntryPoints, memory: &DeviceMemory) -> Result<usize> {
        match memory.context {
            0 => self.of(entry, memory).map(|one| one.context),
            context => Ok(context),
        }
        .map_err(|(function, answer)| entry.failure(function, answer))
    }

    /// The stream for memory.
    fn of(&self, entry: &EntryPoints, memory: &DeviceMemory) -> Done<Stream> {
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
        // The program has other memory in the primary context already.
        if let Some(known) = all.iter_mut().find(|one| one.context == context) {
            known.device = device;
            return Ok(*known);
        }
        let _current = Current::new(entry, context)?;
        let made = Stream { device, ..create(entry, context)? };
        self.program_copies.order(entry)?;
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

/// A new stream of the present context, which waits for no other one.
pub(super) fn create(entry: &EntryPoints, context: usize) -> Done<Stream> {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    let mut stream = ptr::null_mut();
    // SAFETY: stores a new stream of the context.
    succeed("cuStreamCreate", unsafe { (entry.create_stream)(&raw mut stream, NON_BLOCKING) })?;
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    Ok(Stream { device: None, context, stream: stream as usize, number })
}

/// Copies pieces on a stream of the present context, and waits for the end.
///
/// # Safety
/// As [`crate::device::copy`].
pub(super) unsafe fn copy_on(entry: &EntryPoints, here: Stream, pieces: &[Piece]) -> Done<()> {
    // SAFETY: by the caller.
    let started = unsafe { start_copies(entry, here, pieces) };
    started.and(wait_for(entry, here))
}

/// Starts copies of pieces on a stream of the present context.
///
/// # Safety
/// As [`copy_on`], until the stream has been waited for.
pub(super) unsafe fn start_copies(entry: &EntryPoints, here: Stream, pieces: &[Piece]) -> Done<()> {
    let stream = here.stream as Handle;
    let copy = |piece: &Piece| {
        // SAFETY: by the caller.
        let answer = unsafe { (entry.copy)(piece.to as Address, piece.from as Address, piece.bytes, stream) };
        succeed("cuMemcpyAsync", answer)
    };
    pieces.iter().filter(|piece| piece.bytes > 0).try_for_each(copy)
}

/// Waits for the end of all that was started on a stream, also where that fails: nothing must go on in memory that is given
/// back.
pub(super) fn wait_for(entry: &EntryPoints, here: Stream) -> Done<()> {
    // SAFETY: a stream of ours.
    let wait = || succeed("cuStreamSynchronize", unsafe { (entry.synchronize)(here.stream as Handle) });
    wait().inspect_err(|_| {
        let _ = wait();
    })
}

/// The primary context of a device, for memory that belongs to none (pools, mapped memory).
pub(super) fn primary(entry: &EntryPoints, device: i32) -> Done<usize> {
    let mut context = ptr::null_mut();
    // SAFETY: stores a context; it is kept until the process ends.
    succeed("cuDevicePrimaryCtxRetain", unsafe { (entry.retain_primary)(&raw mut context, device) })?;
    Ok(context as usize)
}
