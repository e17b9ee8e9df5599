//! Handles by which another process maps memory of a device (`cuIpc…`).
//!
//! Only memory of `cudaMalloc` has such handles. They are taken in the context that the memory belongs to, and opened in the
//! primary context of the same device, if this process has one: none is made for that.

use super::copy_streams::{primary, Current};
use super::driver_errors::{succeed, Done, Failed};
use super::entry_points::{Address, Answer, EntryPoints, IpcEntryPoints, MemHandle};
use crate::device::interface::{DeviceMemory, Piece};
use crate::device::lent::{Lent, Proof, HANDLE_BYTES, SECRET_BYTES};
use crate::device::MemoryKind;
use crate::lock_order::{self, Level};
use crate::memory::system_calls;
use crate::{Class, Error, Result};
use std::ffi::c_uint;
use std::sync::Mutex;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY_PEER_ACCESS: c_uint = 1;

/// Handles of this process, and of others.
pub(super) struct Ipc {
    entry: Option<IpcEntryPoints>,
    /// By context and device: memory of ours that shows peers that they map what we mean.
    proofs: Mutex<Vec<((usize, i32), Proof)>>,
}

impl Ipc {
    pub fn new(entry: Option<IpcEntryPoints>) -> Ipc {
        Ipc { entry, proofs: Mutex::default() }
    }

    fn entry(&self) -> Result<&IpcEntryPoints> {
        self.entry.as_ref().ok_or_else(|| {
            Error::new(
                Class::Other,
                "this CUDA driver has no functions for handles of memory (cuIpcOpenMemHandle)",
            )
        })
    }

    /// What others need to map an allocation. `copy` copies pieces by the driver.
    pub fn lend(
        &self,
        entry: &EntryPoints,
        memory: &DeviceMemory,
        copy: impl Fn(&DeviceMemory, &[Piece]) -> Result<()>,
    ) -> Result<Lent> {
        let ipc = self.entry()?;
        let lent = || -> Done<Lent> {
            let device = uuid_of(ipc, memory.device)?;
            let handle = handle_of(entry, ipc, memory)?;
            let (first, bytes) = (memory.first as u64, memory.bytes as u64);
            Ok(Lent { number: memory.number, first, bytes, device, handle, ..Lent::default() })
        };
        let lent = lent().map_err(|(function, answer)| entry.failure(function, answer))?;
        Ok(Lent { proof: self.proof(entry, ipc, memory, copy)?, ..lent })
    }

    /// Memory of ours with a secret, in the same context.
    fn proof(
        &self,
        entry: &EntryPoints,
        ipc: &IpcEntryPoints,
        memory: &DeviceMemory,
        copy: impl Fn(&DeviceMemory, &[Piece]) -> Result<()>,
    ) -> Result<Proof> {
        let key = (memory.context, memory.device);
        let known = |all: &[((usize, i32), Proof)]| all.iter().find(|one| one.0 == key).map(|one| one.1);
        if let Some(proof) = known(&lock_order::lock(&self.proofs, Level::LENT)) {
            return Ok(proof);
        }
        let made = || -> Done<DeviceMemory> {
            let mut first: Address = 0;
            let _current = Current::new(entry, context_of(entry, memory)?)?;
            // SAFETY: stores the address of new memory, which stays ours.
            succeed("cuMemAlloc", unsafe { (ipc.allocate)(&raw mut first, SECRET_BYTES) })?;
            Ok(DeviceMemory { first: first as usize, bytes: SECRET_BYTES, number: 0, ..*memory })
        };
        let fail = |(function, answer): Failed| entry.failure(function, answer);
        let made = made().map_err(fail)?;
        let mut secret = [0u8; SECRET_BYTES];
        assert_eq!(
            system_calls::random(&mut secret, 0),
            SECRET_BYTES as isize,
            "the system has no random bytes"
        );
        copy(&made, &[Piece { to: made.first as *mut u8, from: secret.as_ptr(), bytes: SECRET_BYTES }])?;
        let proof = Proof { handle: handle_of(entry, ipc, &made).map_err(fail)?, secret };
        lock_order::lock(&self.proofs, Level::LENT).push((key, proof));
        Ok(proof)
    }

    /// Maps memory of another process: where it is here.
    pub fn map(
        &self,
        entry: &EntryPoints,
        lent: &Lent,
        handle: [u8; HANDLE_BYTES],
        bytes: u64,
    ) -> Result<DeviceMemory> {
        let ipc = self.entry()?;
        let fail = |(function, answer): Failed| entry.failure(function, answer);
        let device = self.device_in_use(entry, &lent.device)?;
        let map = || -> Done<Address> {
            let _current = Current::new(entry, primary(entry, device)?)?;
            let mut first: Address = 0;
            // SAFETY: a handle of a driver, which checks it; stores where the memory is.
            let answer = unsafe { (ipc.open)(&raw mut first, MemHandle(handle), LAZY_PEER_ACCESS) };
            succeed("cuIpcOpenMemHandle", answer)?;
            Ok(first)
        };
        let first = map().map_err(fail)? as usize;
        let kind = MemoryKind::CUDA;
        Ok(DeviceMemory { kind, first, bytes: bytes as usize, number: 0, device, context: 0 })
    }

    /// What a device is called in every process.
    pub fn uuid(&self, entry: &EntryPoints, ordinal: i32) -> Result<[u8; 16]> {
        uuid_of(self.entry()?, ordinal).map_err(|(function, answer)| entry.failure(function, answer))
    }

    /// The device that is called so, if this process uses it.
    pub fn device_in_use(&self, entry: &EntryPoints, uuid: &[u8; 16]) -> Result<i32> {
        let ipc = self.entry()?;
        let fail = |(function, answer): Failed| entry.failure(function, answer);
        let device = device_by_uuid(ipc, uuid).map_err(fail)?.ok_or_else(not_visible)?;
        match is_in_use(ipc, device).map_err(fail)? {
            true => Ok(device),
            false => Err(Error::new(Class::Other, "this process does not use the device whose memory it is")),
        }
    }

    /// Gives a mapping back. What goes wrong, as where the driver has ended, leaves nothing to do.
    pub fn unmap(&self, entry: &EntryPoints, memory: &DeviceMemory) {
        let Some(ipc) = &self.entry else { return };
        let current = primary(entry, memory.device).and_then(|context| Current::new(entry, context));
        if current.is_ok() {
            // SAFETY: mapped by `map`; nobody uses it any more.
            unsafe { (ipc.close)(memory.first as Address) };
        }
    }
}

#[cold]
fn not_visible() -> Error {
    Error::new(
        Class::Other,
        "the device whose memory it is is not visible in this process (CUDA_VISIBLE_DEVICES?)",
    )
}

fn context_of(entry: &EntryPoints, memory: &DeviceMemory) -> Done<usize> {
    match memory.context {
        0 => primary(entry, memory.device),
        context => Ok(context),
    }
}

fn handle_of(entry: &EntryPoints, ipc: &IpcEntryPoints, memory: &DeviceMemory) -> Done<[u8; HANDLE_BYTES]> {
    let _current = Current::new(entry, context_of(entry, memory)?)?;
    let mut handle = MemHandle([0; HANDLE_BYTES]);
    // SAFETY: stores a handle.
    succeed("cuIpcGetMemHandle", unsafe { (ipc.handle)(&raw mut handle, memory.first as Address) })?;
    Ok(handle.0)
}

/// What a device is called in every process.
fn uuid_of(ipc: &IpcEntryPoints, ordinal: i32) -> Done<[u8; 16]> {
    let (mut device, mut uuid) = (0, [0u8; 16]);
    // SAFETY: both store what they are asked for.
    unsafe {
        succeed("cuDeviceGet", (ipc.device)(&raw mut device, ordinal))?;
        succeed("cuDeviceGetUuid", (ipc.uuid)(uuid.as_mut_ptr(), device))?;
    }
    Ok(uuid)
}

fn device_by_uuid(ipc: &IpcEntryPoints, wanted: &[u8; 16]) -> Done<Option<i32>> {
    let mut number = 0;
    // SAFETY: stores a number.
    succeed("cuDeviceGetCount", unsafe { (ipc.devices)(&raw mut number) })?;
    for ordinal in 0..number {
        if uuid_of(ipc, ordinal)? == *wanted {
            return Ok(Some(ordinal));
        }
    }
    Ok(None)
}

/// Whether the program has made the primary context of a device.
fn is_in_use(ipc: &IpcEntryPoints, ordinal: i32) -> Done<bool> {
    let (mut flags, mut active): (c_uint, Answer) = (0, 0);
    // SAFETY: stores both.
    succeed("cuDevicePrimaryCtxGetState", unsafe { (ipc.state)(ordinal, &raw mut flags, &raw mut active) })?;
    Ok(active != 0)
}
