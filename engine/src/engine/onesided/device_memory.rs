//! Exposed memory of devices, for the process whose driver copies it: the owner, when it does something there itself or
//! is asked to.
//!
//! Elements are changed by the device, or fetched, changed and stored, under the lock of the owner's elements, as those of memory
//! are that the kernel copies (`changing`).

use super::served::Served;
use crate::device::computing::Formula;
use crate::device::{self, counted, Operand, Piece};
use crate::engine::Engine;
use crate::onesided::{Elements, Many, Pieces, Region};
use crate::{Class, Error, Result};

/// Pieces that are copied with one wait.
const AT_A_TIME: usize = 1024;

/// Copies pieces from or to a region, by the driver.
///
/// # Safety
/// As [`device::copy`]; on one side the pieces lie in the region.
pub(super) unsafe fn copy_by_driver(region: &Region, pieces: &[Piece]) -> Result<()> {
    match &region.device {
        // SAFETY: by the caller.
        Some(memory) => unsafe { device::copy(memory, pieces) }.inspect(|()| {
            if region.mapping.is_some() {
                counted::mapped(pieces.iter().map(|piece| piece.bytes as u64).sum());
            }
        }),
        None => {
            Err(Error::new(Class::Intern, "memory of a device is to be copied that no driver here knows"))
        }
    }
}

/// Copies many pieces with few waits: `piece` says from where to where each goes, from its address here and there.
///
/// # Safety
/// As [`copy_by_driver`].
pub(super) unsafe fn copy_many_by_driver(
    region: &Region,
    pieces: &impl Pieces,
    piece: impl Fn(*mut u8, *mut u8) -> (*mut u8, *const u8),
) -> Result<()> {
    let mut batch = Vec::with_capacity(AT_A_TIME.min(pieces.number() as usize));
    let bytes = pieces.bytes() as usize;
    pieces.each(|here, there| {
        let (to, from) = piece(here, region.mapped(there));
        batch.push(Piece { to, from, bytes });
        if batch.len() == AT_A_TIME {
            // SAFETY: by the caller.
            unsafe { copy_by_driver(region, &batch)? };
            batch.clear();
        }
        Ok(())
    })?;
    // SAFETY: by the caller.
    unsafe { copy_by_driver(region, &batch) }
}

/// Has the device change elements of which nobody wants to know what they were; whether it was done.
///
/// # Safety
/// As `Engine::change`, and nobody else changes the elements meanwhile.
pub(super) unsafe fn change_by_device(
    region: &Region,
    elements: &Elements,
    (offset, count): (u64, usize),
    (origin, result): (*const u8, *mut u8),
) -> Result<bool> {
    let Some(memory) = region.device.as_ref().filter(|_| result.is_null()) else { return Ok(false) };
    let Some(of_device) = elements.of_device() else { return Ok(false) };
    let there = Operand { address: region.mapped(region.address + offset) as usize, memory: Some(*memory) };
    let origin = Operand { address: origin as usize, memory: None };
    // SAFETY: by the caller.
    unsafe { of_device.combine(&[origin, there], &Formula::of_two(), (there.address, memory), count as u64) }
}

impl Engine {
    /// Reads or writes many pieces of a device's memory with one wait; `None` if they are not all in one region that the
    /// driver of this process copies, or something else is to be done with them.
    pub(super) fn obey_by_driver(
        &self,
        served: &impl Served,
        what: Many,
        wanted: impl Iterator<Item = (u64, u64)>,
        (data, read): (&[u8], &mut [u8]),
    ) -> Option<Result<()>> {
        let mut wanted = wanted.peekable();
        let region = served.region(self, *wanted.peek()?).ok()?;
        region.device.as_ref().filter(|_| matches!(what, Many::Read | Many::Write))?;
        let (mut pieces, mut at) = (Vec::new(), 0);
        for (address, bytes) in wanted {
            let there = region.mapped(region.place_of(address, bytes).ok()? + region.address);
            let (to, from) = match what {
                Many::Read => (read.as_mut_ptr().wrapping_add(at), there.cast_const()),
                _ => (there, data.as_ptr().wrapping_add(at)),
            };
            pieces.push(Piece { to, from, bytes: bytes as usize });
            at += bytes as usize;
        }
        // SAFETY: all lie in the region; the message, or the answer, has as many bytes.
        Some(unsafe { copy_by_driver(&region, &pieces) }.map(|()| region.changed()))
    }
}
