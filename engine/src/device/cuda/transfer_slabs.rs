//! Slabs for copies that go on while the processor does something else: some pieces of host memory, pinned once, each with a stream.
//!
//! The memory is ours, and the driver only pins it (`cuMemHostRegister`). So it stays where it is when a context goes, or when
//! the driver refuses: then copies of it take longer, and that is all.

use super::copy_streams::{create, start_copies, wait_for, Current, Stream, Streams};
use super::driver_errors::Done;
use super::entry_points::{EntryPoints, PinEntryPoints};
use crate::device::interface::{DeviceMemory, Piece, Slab, SLAB_BYTES};
use crate::lock_order::{self, Level};
use crate::{Error, Result};
use std::alloc::{alloc, Layout};
use std::ffi::c_uint;
use std::sync::Mutex;

/// As many a process has at most.
const MOST: usize = 16;
const PAGE: usize = 4096;
/// `CU_MEMHOSTREGISTER_PORTABLE`: pinned for all contexts.
const PORTABLE: c_uint = 1;

type Driver = (&'static EntryPoints, &'static Streams);

/// Those of this process.
pub(super) struct TransferSlabs {
    entry: Option<PinEntryPoints>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    free: Vec<Parts>,
    made: usize,
}

/// Memory of the host that is never given back, and a stream.
#[derive(Clone, Copy)]
struct Parts {
    host: usize,
    context: usize,
    stream: usize,
}

impl TransferSlabs {
    pub fn new(entry: Option<PinEntryPoints>) -> TransferSlabs {
        TransferSlabs { entry, kept: Mutex::default() }
    }

    /// One for copies from and to some memory, which is the caller's until it is dropped; `None` if all are in use.
    pub fn take(&'static self, driver: Driver, memory: &DeviceMemory) -> Result<Option<TransferSlab>> {
        let (entry, streams) = driver;
        let context = streams.context_of(entry, memory)?;
        let Some(parts) = self.free_or_new(context) else { return Ok(None) };
        let slab = |parts| TransferSlab { of: self, driver, parts, is_busy: false };
        let ready = Current::new(entry, context).and_then(|_current| self.made_ready(entry, context, parts));
        match ready {
            Ok(parts) => Ok(Some(slab(parts))),
            Err((function, answer)) => {
                drop(slab(parts));
                Err(entry.failure(function, answer))
            }
        }
    }

    /// A free one, of this context if there is one; a new one has no stream yet.
    fn free_or_new(&self, context: usize) -> Option<Parts> {
        let mut kept = lock_order::lock(&self.kept, Level::PACKING);
        if let Some(place) = kept.free.iter().position(|parts| parts.context == context) {
            return Some(kept.free.swap_remove(place));
        }
        if kept.made == MOST {
            return kept.free.pop();
        }
        kept.made += 1;
        // SAFETY: of some bytes.
        let host = unsafe { alloc(Layout::from_size_align(SLAB_BYTES, PAGE).ok()?) };
        (!host.is_null()).then_some(Parts { host: host as usize, context: 0, stream: 0 })
    }

    /// It has a stream of the present context that works.
    fn made_ready(&self, entry: &EntryPoints, context: usize, parts: Parts) -> Done<Parts> {
        if parts.context == context && wait_for(entry, parts.of_context()).is_ok() {
            return Ok(parts);
        }
        // A new one, or its context has gone. The driver says so if memory is pinned already, and that is as well.
        if let Some(pin) = &self.entry {
            // SAFETY: memory that stays.
            unsafe { (pin.register)(parts.host as *mut _, SLAB_BYTES, PORTABLE) };
        }
        Ok(Parts { context, stream: create(entry)?, ..parts })
    }
}

impl Parts {
    fn of_context(self) -> Stream {
        Stream { device: None, context: self.context, stream: self.stream, number: 0 }
    }
}

pub(super) struct TransferSlab {
    of: &'static TransferSlabs,
    driver: Driver,
    parts: Parts,
    is_busy: bool,
}

impl TransferSlab {
    fn error(&self, (function, answer): (&'static str, i32)) -> Error {
        self.driver.0.failure(function, answer)
    }
}

impl Slab for TransferSlab {
    fn memory(&self) -> *mut u8 {
        self.parts.host as *mut u8
    }

    unsafe fn start(&mut self, piece: &Piece) -> Result<()> {
        let ((entry, streams), here) = (self.driver, self.parts.of_context());
        self.is_busy = true;
        let started = Current::new(entry, here.context).and_then(|_current| {
            streams.after_program(entry)?;
            // SAFETY: by the caller.
            unsafe { start_copies(entry, here, std::slice::from_ref(piece)) }
        });
        started.map_err(|why| self.error(why))
    }

    fn wait(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(());
        }
        let (entry, here) = (self.driver.0, self.parts.of_context());
        let wait = || Current::new(entry, here.context).and_then(|_current| wait_for(entry, here));
        // Nothing must go on, also where the driver fails.
        let waited = wait().inspect_err(|_| {
            let _ = wait();
        });
        waited.map_err(|why| self.error(why))
    }
}

impl Drop for TransferSlab {
    fn drop(&mut self) {
        let _ = self.wait();
        lock_order::lock(&self.of.kept, Level::PACKING).free.push(self.parts);
    }
}
