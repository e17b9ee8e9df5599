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

/// Where memory of the host begins that is never given back, and its stream, once it has one.
type Parts = (usize, Option<Stream>);

impl TransferSlabs {
    pub fn new(entry: Option<PinEntryPoints>) -> TransferSlabs {
        TransferSlabs { entry, kept: Mutex::default() }
    }

    /// One for copies from and to some memory, which is the caller's until it is dropped; `None` if all are in use.
    pub fn take(&'static self, driver: Driver, memory: &DeviceMemory) -> Result<Option<TransferSlab>> {
        let (entry, streams) = driver;
        let context = streams.context_of(entry, memory)?;
        let Some((host, known)) = self.free_or_new(context) else { return Ok(None) };
        let ready = Current::new(entry, context).and_then(|_current| {
            let known = known.filter(|here| here.context == context && wait_for(entry, *here).is_ok());
            // A new one, or its context has gone.
            known.map_or_else(|| self.pinned(entry, context, host), Ok)
        });
        match ready {
            Ok(here) => Ok(Some(TransferSlab { of: self, driver, host, here, is_busy: false })),
            Err((function, answer)) => {
                self.give_back((host, known));
                Err(entry.failure(function, answer))
            }
        }
    }

    fn give_back(&self, parts: Parts) {
        lock_order::lock(&self.kept, Level::PACKING).free.push(parts);
    }

    /// A free one, of this context or of none yet; else a new one.
    fn free_or_new(&self, context: usize) -> Option<Parts> {
        let mut kept = lock_order::lock(&self.kept, Level::PACKING);
        if let Some(place) =
            kept.free.iter().position(|(_, here)| here.is_none_or(|here| here.context == context))
        {
            return Some(kept.free.swap_remove(place));
        }
        if kept.made == MOST {
            return kept.free.pop();
        }
        kept.made += 1;
        // SAFETY: of some bytes.
        let host = unsafe { alloc(Layout::from_size_align(SLAB_BYTES, PAGE).ok()?) };
        (!host.is_null()).then_some((host as usize, None))
    }

    /// A stream of the present context for memory that is pinned. The driver says so if it is already, and that is as well.
    fn pinned(&self, entry: &EntryPoints, context: usize, host: usize) -> Done<Stream> {
        if let Some(pin) = &self.entry {
            // SAFETY: memory that stays.
            unsafe { (pin.register)(host as *mut _, SLAB_BYTES, PORTABLE) };
        }
        create(entry, context)
    }
}

pub(super) struct TransferSlab {
    of: &'static TransferSlabs,
    driver: Driver,
    host: usize,
    here: Stream,
    is_busy: bool,
}

impl TransferSlab {
    fn error(&self, (function, answer): (&'static str, i32)) -> Error {
        self.driver.0.failure(function, answer)
    }
}

impl Slab for TransferSlab {
    fn memory(&self) -> *mut u8 {
        self.host as *mut u8
    }

    unsafe fn start(&mut self, piece: &Piece) -> Result<()> {
        let ((entry, streams), here) = (self.driver, self.here);
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
        let (entry, here) = (self.driver.0, self.here);
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
        self.of.give_back((self.host, Some(self.here)));
    }
}
