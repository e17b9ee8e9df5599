//! The memory of the other members, as the large forms need it.

use super::seat::Seat;
use crate::collective::temporary::Temporary;
use crate::memory::bounce::Bounce;
use crate::memory::copy::Chooser;
use crate::Result;

/// What can be done with the memory of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaches {
    /// Nothing.
    Nothing,
    /// It can be read.
    ToRead,
    /// It can be read and written.
    ToWrite,
}

/// Whether all members have settled that they reach each other's memory at least so.
#[inline]
pub(super) fn settled(seat: &Seat, least: Reaches) -> bool {
    seat.reaches.get().is_some_and(|&reaches| reaches >= least)
}

/// How much of some memory others reach by plain loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// All.
    All,
    /// All but so many bytes at its beginning and so many at its end.
    Middle(u64, u64),
    /// Nothing.
    Nothing,
}

/// Memory that an operation owns while it runs.
pub struct Room(Memory);

enum Memory {
    Heap(Temporary),
    Bounce(Bounce),
}

impl Room {
    /// Where it begins.
    pub fn address(&self) -> *mut u8 {
        match &self.0 {
            Memory::Heap(heap) => heap.address(),
            Memory::Bounce(bounce) => bounce.address(),
        }
    }

    /// How many bytes it has, at least.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Memory::Heap(heap) => heap.bytes(),
            Memory::Bounce(bounce) => bounce.bytes(),
        }
    }
}

impl From<Bounce> for Room {
    fn from(bounce: Bounce) -> Room {
        Room(Memory::Bounce(bounce))
    }
}

impl From<Temporary> for Room {
    fn from(heap: Temporary) -> Room {
        Room(Memory::Heap(heap))
    }
}

/// How a member reaches the memory of the others. The engine's own asks the
/// transport; tests have a simpler one.
pub trait Reach {
    /// How the memory of all other members can be reached, wherever it lies.
    fn reaches(&self, seat: &Seat) -> Reaches;

    /// Provides memory for the wide slots of a block that this rank has lent.
    fn widen(&self, seat: &Seat) -> bool;

    /// The program lends this memory until the operation is complete: others are
    /// about to be told its address, and so many of them will want all of it. How much of it they reach by
    /// plain loads and stores.
    fn lend(&self, seat: &Seat, memory: (*const u8, u64), readers: u32) -> Plain;

    /// Memory for `bytes` bytes that all others reach by plain loads and stores, if there is
    /// some and to copy data there takes less than to reach them where they lie.
    fn room(&self, seat: &Seat, bytes: u64) -> Option<Room>;

    /// Whether others can read all of this memory by plain loads.
    fn is_shared(&self, seat: &Seat, address: *const u8, bytes: u64) -> bool;

    /// Where a range of a member's memory lies in this process, if all of it can
    /// be read by plain loads.
    fn direct(&self, seat: &Seat, member: u32, address: u64, bytes: u64) -> Option<*const u8>;

    /// Reads a member's memory by the best means there is; plain loads and stores
    /// in the way of `copies`.
    ///
    /// # Errors
    /// The system's reason not to.
    ///
    /// # Safety
    /// The member must have lent the range and not write there meanwhile;
    /// `target` must have room and overlap it nowhere.
    unsafe fn read(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()>;

    /// Writes into a member's memory by the best means there is; plain stores in the
    /// way of `copies`.
    ///
    /// # Errors
    /// The system's reason not to.
    ///
    /// # Safety
    /// The member must have lent the range, and nobody else may touch it
    /// meanwhile; `source` must be readable.
    unsafe fn write(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()>;

    /// Has `make` write a range of a member's memory by plain stores, at the address that it
    /// is given, if the range can be written so here. `make` is short: who forks waits for it.
    ///
    /// # Errors
    /// What `make` reports.
    ///
    /// # Safety
    /// The member must have lent the range, and nobody else may touch it meanwhile.
    unsafe fn write_there(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        bytes: u64,
        make: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Option<Result<()>>;
}
