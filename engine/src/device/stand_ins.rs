//! Host memory that stands for blocks of device memory in large messages, as long as it may be that nobody needs it: a
//! peer that maps the memory copies it by itself.
//!
//! ```text
//! sent:     empty --fill: the peer cannot map it--> filled
//! received: filled --a peer's memory was copied straight to the device--> passed by
//! ```

use super::interface::{DeviceMemory, Piece};
use crate::lock_order::{self, Level};
use crate::Result;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// A block of device memory and the host memory that stands for it.
#[derive(Clone, Copy, Debug)]
pub struct StandIn {
    /// Where the host memory begins.
    pub room: usize,
    /// Its length.
    pub bytes: usize,
    /// Where the device memory begins.
    pub there: usize,
    /// Whose that is.
    pub memory: DeviceMemory,
    /// 1 + where peers are told how to map it; 0: they are not.
    pub lent: u64,
    /// The host memory has the data.
    pub is_filled: bool,
    /// The data are on the device, and the host memory has not got them.
    pub is_passed_by: bool,
}

static ALL: Mutex<Vec<StandIn>> = Mutex::new(Vec::new());
/// How many there are: mostly none, and then nobody takes the lock.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

fn with_all<T>(work: impl FnOnce(&mut Vec<StandIn>) -> T) -> T {
    work(&mut lock_order::lock(&ALL, Level::STAND_INS))
}

/// Adds one.
pub fn add(stand_in: StandIn) {
    with_all(|all| all.push(stand_in));
    NUMBER.fetch_add(1, Ordering::SeqCst);
}

/// The host memory goes.
pub fn remove(room: usize) {
    NUMBER.fetch_sub(1, Ordering::SeqCst);
    with_all(|all| {
        if let Some(place) = all.iter().position(|one| one.room == room) {
            all.swap_remove(place);
        }
    });
}

/// The one in whose host memory an address lies.
#[inline]
pub fn at(address: *const u8) -> Option<StandIn> {
    match NUMBER.load(Ordering::Relaxed) {
        0 => None,
        _ => look(address as usize),
    }
}

#[cold]
fn look(address: usize) -> Option<StandIn> {
    with_all(|all| all.iter().find(|one| address.wrapping_sub(one.room) < one.bytes).copied())
}

/// The host memory at an address gets its data now, if it has not.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// The program lends the data.
pub unsafe fn fill(address: *const u8) -> Result<()> {
    let Some(one) = at(address).filter(|one| !one.is_filled) else { return Ok(()) };
    let piece = Piece { to: one.room as *mut u8, from: one.there as *const u8, bytes: one.bytes };
    // SAFETY: by the caller; the room is as long.
    unsafe { super::copy(&one.memory, &[piece])? };
    change(one.room, |one| one.is_filled = true);
    Ok(())
}

/// The data have been copied to the device.
pub fn pass_by(room: usize) {
    change(room, |one| one.is_passed_by = true);
}

/// Whether they have been.
pub fn is_passed_by(room: usize) -> bool {
    at(room as *const u8).is_some_and(|one| one.is_passed_by)
}

fn change(room: usize, change: impl FnOnce(&mut StandIn)) {
    with_all(|all| all.iter_mut().find(|one| one.room == room).map(change));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryKind;

    #[test]
    fn a_stand_in_is_found_by_each_of_its_bytes() {
        let kind = MemoryKind::CUDA;
        let memory = DeviceMemory { kind, first: 4096, bytes: 512, number: 1, device: 0, context: 0 };
        let room = [0u8; 100];
        let first = room.as_ptr();
        let (room, there) = (first as usize, 5000);
        add(StandIn { room, bytes: 100, there, memory, lent: 0, is_filled: true, is_passed_by: false });
        assert_eq!(at(first.wrapping_add(99)).unwrap().there, 5000);
        assert!(at(first.wrapping_add(100)).is_none() && at(first.wrapping_sub(1)).is_none());
        assert!(!is_passed_by(room));
        pass_by(room);
        assert!(is_passed_by(room));
        // SAFETY: it has its data, so nothing is copied.
        unsafe { fill(first).unwrap() };
        remove(room);
        assert!(at(first).is_none());
    }
}
