//! Memory that a program maps by itself (`cuMemMap`), as pools of frameworks do: other processes map a piece of it by a
//! descriptor, which its owner passes them.
//!
//! A descriptor is the memory, so no secret has to show that it is the right one.

use super::driver_errors::{succeed, Done, Failed};
use super::entry_points::{AccessOf, Address, EntryPoints, VirtualEntryPoints};
use super::ipc::Ipc;
use crate::device::interface::DeviceMemory;
use crate::device::lent::{Lent, Way};
use crate::device::MemoryKind;
use crate::{Class, Error, Result};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const DESCRIPTOR: c_int = 1;
/// `CU_MEM_LOCATION_TYPE_DEVICE`, `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const DEVICE: c_int = 1;
const READ_AND_WRITE: c_int = 3;

/// Such memory of this process, and of others.
pub(super) struct VirtualMemory {
    entry: Option<VirtualEntryPoints>,
}

impl VirtualMemory {
    pub fn new(entry: Option<VirtualEntryPoints>) -> VirtualMemory {
        VirtualMemory { entry }
    }

    fn entry(&self) -> Result<&VirtualEntryPoints> {
        self.entry.as_ref().ok_or_else(|| {
            Error::new(
                Class::Other,
                "this CUDA driver has no functions for memory that programs map (cuMemMap)",
            )
        })
    }

    /// A descriptor of the piece in which memory lies.
    pub fn export(&self, entry: &EntryPoints, memory: &DeviceMemory) -> Result<OwnedFd> {
        let own = self.entry()?;
        let export = || -> Done<OwnedFd> {
            let (mut handle, mut descriptor): (u64, c_int) = (0, -1);
            // SAFETY: stores a handle, or says that the memory has none.
            let retained = unsafe { (own.retain)(&raw mut handle, memory.first as *mut _) };
            succeed("cuMemRetainAllocationHandle", retained)?;
            // SAFETY: stores a descriptor; the handle is ours and not used any more.
            let answer = unsafe {
                let answer = (own.export)((&raw mut descriptor).cast(), handle, DESCRIPTOR, 0);
                (own.release)(handle);
                answer
            };
            succeed("cuMemExportToShareableHandle", answer)?;
            // SAFETY: just made, and nobody else's.
            Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
        };
        export().map_err(|(function, answer)| entry.failure(function, answer))
    }

    /// What others are told of a piece, if a descriptor of it can be passed.
    pub fn describe(&self, entry: &EntryPoints, ipc: &Ipc, memory: &DeviceMemory) -> Result<Lent> {
        self.export(entry, memory)?;
        let (first, bytes) = (memory.first as u64, memory.bytes as u64);
        let device = ipc.uuid(entry, memory.device)?;
        Ok(Lent { number: memory.number, first, bytes, device, way: Way::DESCRIPTOR, ..Lent::default() })
    }

    /// Maps pieces of another process, one behind the other: where they are here.
    pub fn import(
        &self,
        entry: &EntryPoints,
        ipc: &Ipc,
        lent: &Lent,
        pieces: &[(u64, BorrowedFd)],
    ) -> Result<DeviceMemory> {
        let own = self.entry()?;
        let device = ipc.device_in_use(entry, &lent.device)?;
        if pieces.iter().map(|one| one.0).sum::<u64>() != lent.bytes {
            return Err(Error::new(Class::Other, "not all pieces of the memory have been passed"));
        }
        let first = map_all(own, lent.bytes as usize, device, pieces);
        let first = first.map_err(|(function, answer): Failed| entry.failure(function, answer))? as usize;
        let (kind, bytes) = (MemoryKind::CUDA, lent.bytes as usize);
        Ok(DeviceMemory { kind, first, bytes, number: 0, device, context: 0 })
    }

    /// Gives back what `import` has mapped.
    pub fn unmap(&self, memory: &DeviceMemory) {
        let Some(own) = &self.entry else { return };
        // SAFETY: mapped by `import`; nobody uses it any more.
        unsafe {
            (own.unmap)(memory.first as Address, memory.bytes);
            (own.free_range)(memory.first as Address, memory.bytes);
        }
    }
}

/// Maps pieces in a range of addresses of their own. What fails leaves nothing.
fn map_all(
    own: &VirtualEntryPoints,
    bytes: usize,
    device: c_int,
    pieces: &[(u64, BorrowedFd)],
) -> Done<Address> {
    let mut first: Address = 0;
    // SAFETY: stores a range of addresses that nobody uses.
    succeed("cuMemAddressReserve", unsafe { (own.reserve)(&raw mut first, bytes, 0, 0, 0) })?;
    let mut done = 0;
    let mut map = || -> Done<()> {
        for (length, descriptor) in pieces {
            map_at(own, first + done, *length as usize, descriptor)?;
            done += length;
        }
        let access = AccessOf { location: [DEVICE, device], flags: READ_AND_WRITE };
        // SAFETY: the range is ours, and all of it is mapped.
        succeed("cuMemSetAccess", unsafe { (own.set_access)(first, bytes, &raw const access, 1) })
    };
    let mapped = map();
    mapped.map(|()| first).inspect_err(|_| {
        // SAFETY: what has been mapped of it, and the range.
        unsafe {
            if done > 0 {
                (own.unmap)(first, done as usize);
            }
            (own.free_range)(first, bytes);
        }
    })
}

/// Maps a piece at an address that is reserved.
fn map_at(own: &VirtualEntryPoints, at: Address, bytes: usize, descriptor: &BorrowedFd) -> Done<()> {
    let mut handle: u64 = 0;
    // SAFETY: the driver takes the number of a descriptor in the place of an address; it stores a handle.
    let imported =
        unsafe { (own.import)(&raw mut handle, descriptor.as_raw_fd() as usize as *mut _, DESCRIPTOR) };
    succeed("cuMemImportFromShareableHandle", imported)?;
    // SAFETY: the range and the handle are ours; the mapping keeps the memory.
    unsafe {
        let mapped = succeed("cuMemMap", (own.map)(at, bytes, 0, handle, 0));
        (own.release)(handle);
        mapped
    }
}
