//! CUDA devices, by the driver's library that the program has loaded.
//!
//! No toolkit is needed: the entry points are looked up by name, and one that an old driver lacks
//! switches off what needs it. `cuInit` is never called, since no program has device memory before
//! it has done so itself.

mod combining;
mod copy_streams;
mod driver_errors;
mod entry_points;
mod ipc;
mod kernels;
mod packing;
mod pointer;
mod program_copies;
mod rooms;
mod slabs;
mod transfer_slabs;
mod virtual_memory;

use super::interface::{Chunk, Combining, Device, DeviceMemory, Piece, Slab, Spreading};
use super::lent::{Lent, Way, HANDLE_BYTES};
use crate::Result;
use copy_streams::Streams;
use entry_points::{
    ContextEntryPoints, EntryPoints, IpcEntryPoints, KernelEntryPoints, PinEntryPoints, VirtualEntryPoints,
};
use ipc::Ipc;
use program_copies::ProgramCopies;
use rooms::Rooms;
use std::os::fd::{BorrowedFd, OwnedFd};
use transfer_slabs::TransferSlabs;
use virtual_memory::VirtualMemory;

/// The driver.
pub(super) struct Cuda {
    entry: EntryPoints,
    streams: Streams,
    rooms: Rooms,
    slabs: TransferSlabs,
    ipc: Ipc,
    virtual_memory: VirtualMemory,
}

impl Cuda {
    /// Whether the library is in this process.
    pub fn is_loaded() -> bool {
        entry_points::library().is_some()
    }

    /// Loads the library; whether it is there and has all that is needed. No call is made.
    pub fn load() -> bool {
        entry_points::load().and_then(EntryPoints::of).is_some()
    }

    /// Whether the library, which is loaded, has functions to lend memory to other processes.
    pub fn can_lend() -> bool {
        entry_points::library().and_then(IpcEntryPoints::of).is_some()
    }

    /// The driver; `None` as long as the program has not loaded its library.
    pub fn of_process() -> Option<Cuda> {
        let entry = EntryPoints::of(entry_points::library()?)?;
        let ipc = Ipc::new(IpcEntryPoints::of(entry_points::library()?));
        let rooms = Rooms::new(KernelEntryPoints::of(entry_points::library()?));
        let slabs = TransferSlabs::new(PinEntryPoints::of(entry_points::library()?));
        let virtual_memory = VirtualMemory::new(VirtualEntryPoints::of(entry_points::library()?));
        let contexts = ContextEntryPoints::of(entry_points::library()?);
        let streams = Streams::new(ProgramCopies::new(contexts));
        Some(Cuda { entry, streams, rooms, slabs, ipc, virtual_memory })
    }
}

impl Device for Cuda {
    fn find(&self, address: *const u8) -> Result<Option<DeviceMemory>> {
        let found = pointer::find(&self.entry, address)?;
        found.as_ref().map_or(Ok(()), |memory| self.streams.meet(&self.entry, memory))?;
        Ok(found)
    }

    unsafe fn copy(&self, memory: &DeviceMemory, pieces: &[Piece]) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.streams.copy(&self.entry, memory, pieces) }
    }

    fn slab(&'static self, memory: &DeviceMemory) -> Result<Option<Box<dyn Slab>>> {
        let taken = self.slabs.take((&self.entry, &self.streams), memory)?;
        Ok(taken.map(|slab| Box::new(slab) as Box<dyn Slab>))
    }

    unsafe fn copy_spread(&self, memory: &DeviceMemory, what: &Spreading, chunk: &mut Chunk) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.rooms.copy_spread((&self.entry, &self.streams), memory, what, chunk) }
    }

    fn combines(&self, what: &Combining) -> Result<bool> {
        self.rooms.combines((&self.entry, &self.streams), what)
    }

    unsafe fn combine(&self, what: &Combining) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.rooms.combine((&self.entry, &self.streams), what) }
    }

    fn lend(&self, memory: &DeviceMemory) -> Result<Lent> {
        self.streams.may_be_lent()?;
        // SAFETY: what is copied is memory of ours.
        let copy = |memory: &DeviceMemory, pieces: &[Piece]| unsafe { self.copy(memory, pieces) };
        self.ipc.lend(&self.entry, memory, copy)
    }

    fn map(&self, lent: &Lent, handle: [u8; HANDLE_BYTES], bytes: u64) -> Result<DeviceMemory> {
        self.ipc.map(&self.entry, lent, handle, bytes)
    }

    fn describe(&self, memory: &DeviceMemory) -> Result<Lent> {
        self.streams.may_be_lent()?;
        self.virtual_memory.describe(&self.entry, &self.ipc, memory)
    }

    fn export(&self, memory: &DeviceMemory) -> Result<OwnedFd> {
        self.virtual_memory.export(&self.entry, memory)
    }

    fn import(&self, lent: &Lent, pieces: &[(u64, BorrowedFd)]) -> Result<DeviceMemory> {
        self.virtual_memory.import(&self.entry, &self.ipc, lent, pieces)
    }

    fn unmap(&self, memory: &DeviceMemory, way: Way) {
        match way {
            Way::HANDLE => self.ipc.unmap(&self.entry, memory),
            _ => self.virtual_memory.unmap(memory),
        }
    }
}
