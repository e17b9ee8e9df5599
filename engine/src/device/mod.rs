//! Memory of devices (GPUs): whose memory an address is, and copying it.
//!
//! A program may hand device memory to every call. This room answers one question, [`find`]: is
//! there device memory at an address? And it does one thing: it copies pieces, wherever they lie
//! ([`copy`]). The rooms above keep what was found beside the address.
//!
//! # Promises
//! * Without a GPU nothing is loaded and nothing is asked: [`is_on`] is false for good.
//! * A program that uses no device makes no call of a driver through us, also where a GPU is:
//!   there is no device memory before the program has loaded the driver's library itself.
//! * No driver's library is needed to build; it is found when the program has it.
//! * Copies run on streams of our own, never on stream 0, in the context that the memory belongs
//!   to. They are finished when [`copy`] returns.
//! * The child of a fork uses no device.

pub mod borrowing;
pub mod computing;
pub mod counted;
mod cuda;
pub mod gapped;
mod interface;
pub mod kind;
mod known_memory;
pub mod lent;
pub mod parts;
mod presence;
pub mod slab_transfers;
pub mod stand_ins;
mod walked_pieces;

pub use interface::{Chunk, Combining, Device, DeviceMemory, Direction, Operand, Piece, Spreading};
pub use kind::MemoryKind;
pub use presence::{begin, describe, is_offered, is_on, is_reached, Presence};

use crate::Result;
use interface::Slab;

/// The device memory in which an address lies; `None` for memory of the host.
///
/// # Errors
/// What the driver says when it cannot answer.
#[inline]
pub fn find(address: *const u8) -> Result<Option<DeviceMemory>> {
    match is_on() {
        true => find_on(address),
        false => Ok(None),
    }
}

#[cold]
fn find_on(address: *const u8) -> Result<Option<DeviceMemory>> {
    if known_memory::is_of_host(address) {
        return Ok(None);
    }
    match presence::driver() {
        Some(driver) => driver.find(address),
        None => Ok(None),
    }
}

/// The pieces of memory in which a block up to an address lies that begins in this one, at most so many. `None` where it does not go on
/// in memory of the same kind on the same device, or lies in more.
///
/// # Errors
/// What the driver says when it cannot answer.
pub fn pieces_up_to(first: &DeviceMemory, end: usize, most: usize) -> Result<Option<Vec<DeviceMemory>>> {
    walked_pieces::walk(first, end, most, find)
}

/// Whether it can be told without a driver that an address is memory of the host.
pub fn is_surely_host(address: *const u8) -> bool {
    !is_on() || known_memory::is_of_host(address) || presence::driver().is_none()
}

/// Copies pieces, from or to device memory or both. All is done when it returns.
///
/// # Errors
/// What the driver says; then nothing is known about the targets.
///
/// # Safety
/// Each piece can be read at its source and written at its target, by the processor where it is
/// memory of the host, and by the device of `memory` where it is not. Pieces do not overlap.
pub unsafe fn copy(memory: &DeviceMemory, pieces: &[Piece]) -> Result<()> {
    match presence::driver() {
        // SAFETY: by the caller.
        Some(driver) => unsafe { driver.copy(memory, pieces) }
            .inspect(|()| counted::copied(pieces.iter().map(|piece| piece.bytes as u64).sum())),
        None => Err(gone()),
    }
}

/// A slab for copies from or to memory of a device; `None` if there is none, for whatever reason: then all is copied at once.
fn slab(memory: &DeviceMemory) -> Option<Box<dyn Slab>> {
    presence::driver()?.slab(memory).ok().flatten()
}

/// Copies data with gaps from or to device memory through one piece of host memory, which the device packs or unpacks: `chunk`
/// gives or takes parts of that. Whether it was done; if not, nothing was.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// All bytes of the data can be read and written by the device, and nobody else uses them.
pub unsafe fn copy_spread(memory: &DeviceMemory, what: &Spreading, chunk: &mut Chunk) -> Result<bool> {
    match presence::driver() {
        // SAFETY: by the caller.
        Some(driver) => unsafe { driver.copy_spread(memory, what, chunk) }.inspect(|&is_done| {
            if is_done {
                counted::copied(what.range.end - what.range.start);
            }
        }),
        None => Err(gone()),
    }
}

/// Whether [`combine`] goes: a program for the device has the bits of the processor, and reaches all operands.
///
/// # Errors
/// What the driver says.
pub fn combines(what: &Combining) -> Result<bool> {
    presence::driver().map_or(Ok(false), |driver| driver.combines(what))
}

/// Combines numbers on the device. Whether it was done; if not, nothing was.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// The operands can be read, and the result written, for so many numbers, and nobody else writes them. The result is an
/// operand or overlaps none.
pub unsafe fn combine(what: &Combining) -> Result<bool> {
    match presence::driver() {
        // SAFETY: by the caller.
        Some(driver) => unsafe { driver.combine(what) }.inspect(|&is_done| {
            if is_done {
                let bytes = what.count * what.arithmetic.bytes() as u64;
                let of_host = what.operands.iter().filter(|operand| operand.memory.is_none()).count() as u64;
                counted::copied(of_host * bytes);
                counted::combined(bytes);
            }
        }),
        None => Err(gone()),
    }
}

#[cold]
fn gone() -> crate::Error {
    let sentence = "the buffer is device memory, which this process cannot use (any more): after a fork only the parent \
                    uses devices, and none is used once the driver has shut down";
    crate::Error::new(crate::Class::Buffer, sentence)
}
