//! A slab of the device's memory and one of pinned memory of the host: for one call of a context at a time.

use super::driver_errors::{succeed, Done};
use super::entry_points::{Address, EntryPoints, KernelEntryPoints};
use std::ffi::c_uint;
use std::ptr;

/// Bytes of a slab.
pub(super) const SLAB: usize = 4 << 20;
/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for all contexts.
const PORTABLE: c_uint = 1;

/// The functions of the driver.
pub(super) type Entries<'a> = (&'a EntryPoints, &'a KernelEntryPoints);

/// Where both begin.
#[derive(Clone, Copy)]
pub(super) struct Slabs {
    pub device: Address,
    pub host: usize,
}

impl Slabs {
    /// Those of the present context.
    pub fn new(entry: &KernelEntryPoints) -> Done<Slabs> {
        let device = allocate(entry, SLAB)?;
        let mut host = ptr::null_mut();
        // SAFETY: stores the address of new memory.
        let answer = unsafe { (entry.allocate_host)(&raw mut host, SLAB, PORTABLE) };
        succeed("cuMemHostAlloc", answer)?;
        // SAFETY: allocated just now, so long.
        unsafe { host.write_bytes(0, SLAB) };
        Ok(Slabs { device, host: host as usize })
    }

    /// The host's.
    ///
    /// # Safety
    /// Nobody uses it meanwhile: nothing that was started on a stream either.
    #[allow(clippy::mut_from_ref, reason = "it is no memory of this object")]
    pub unsafe fn host_bytes(&self) -> &mut [u8] {
        // SAFETY: allocated with so many bytes, and written when it was; the rest is by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.host as *mut u8, SLAB) }
    }
}

/// Allocates memory of the device in the present context.
pub(super) fn allocate(entry: &KernelEntryPoints, bytes: usize) -> Done<Address> {
    let mut first: Address = 0;
    // SAFETY: stores the address of new memory.
    succeed("cuMemAlloc", unsafe { (entry.allocate)(&raw mut first, bytes) }).map(|()| first)
}
