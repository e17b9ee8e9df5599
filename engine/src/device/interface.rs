//! What a kind of device has to offer.

use super::computing::{Arithmetic, Formula, Model};
use super::gapped::Spread;
use super::kind::MemoryKind;
use super::lent::{Lent, Way, HANDLE_BYTES};
use crate::Result;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};

/// An allocation of device memory, as it was found at an address. It is of use as long as the
/// program keeps the allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Device memory or managed memory, and whose.
    pub kind: MemoryKind,
    /// Where the allocation begins.
    pub first: usize,
    /// Its length.
    pub bytes: usize,
    /// A number of the process that no other allocation ever has: addresses are used again, it is not.
    pub number: u64,
    /// The number of the device.
    pub device: i32,
    /// The driver's context in which it is used; 0: that of the device.
    pub context: usize,
}

impl DeviceMemory {
    /// Whether an address lies in it.
    #[inline]
    pub fn contains(&self, address: *const u8) -> bool {
        (address as usize).wrapping_sub(self.first) < self.bytes
    }
}

/// Bytes that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// To where.
    pub to: *mut u8,
    /// From where.
    pub from: *const u8,
    /// How many.
    pub bytes: usize,
}

/// From the device or to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The program's data are read.
    FromDevice,
    /// They are written.
    ToDevice,
}

/// Data with gaps that are to be copied.
#[derive(Clone, Debug)]
pub struct Spreading {
    /// The address of the data.
    pub address: usize,
    /// How they lie from there on.
    pub spread: Spread,
    /// Which bytes of them, counted without the gaps.
    pub range: Range<u64>,
    /// Where they go.
    pub direction: Direction,
}

/// Gives or takes the bytes of a range of data, counted without the gaps, at a place of the host. It may be called again for
/// a range.
pub type Chunk<'a> = dyn FnMut(Range<u64>, *mut u8) + 'a;

/// Numbers in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Where they begin.
    pub address: usize,
    /// Whose memory it is; `None`: the host's.
    pub memory: Option<DeviceMemory>,
}

/// Numbers that are to be combined on a device.
#[derive(Clone, Copy, Debug)]
pub struct Combining<'a> {
    /// How two become one.
    pub arithmetic: Arithmetic,
    /// The same as the processor does it: what the device does has to have the same bits.
    pub model: Model,
    /// What is combined.
    pub operands: &'a [Operand],
    /// In which order.
    pub formula: &'a Formula,
    /// Where the result goes, in memory of the device. It may be an operand, exactly.
    pub out: usize,
    /// Whose memory that is.
    pub memory: &'a DeviceMemory,
    /// How many numbers each of them has.
    pub count: u64,
}

/// Bytes of a [`Slab`].
pub const SLAB_BYTES: usize = 512 << 10;

/// Memory of the host that the driver has pinned, with a stream of its own: what is copied from or to it goes on while the processor does
/// something else.
pub trait Slab: Send {
    /// Its first byte; there are [`SLAB_BYTES`]. Nobody else uses it.
    fn memory(&self) -> *mut u8;

    /// Starts to copy a piece between it and memory of its device.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As [`super::copy`], until [`Slab::wait`] has returned or it is dropped.
    unsafe fn start(&mut self, piece: &Piece) -> Result<()>;

    /// Waits for the end of all that was started.
    ///
    /// # Errors
    /// What the driver says; then too nothing goes on.
    fn wait(&mut self) -> Result<()>;
}

/// A kind of device, through its driver.
pub trait Device: Sync {
    /// The device memory in which an address lies; `None` for memory of the host.
    ///
    /// # Errors
    /// What the driver says when it cannot answer.
    fn find(&self, address: *const u8) -> Result<Option<DeviceMemory>>;

    /// Copies pieces; all is done when it returns.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As [`super::copy`].
    unsafe fn copy(&self, memory: &DeviceMemory, pieces: &[Piece]) -> Result<()>;

    /// A slab for copies from or to memory of the device; `None` if all are in use.
    ///
    /// # Errors
    /// What the driver says.
    fn slab(&'static self, memory: &DeviceMemory) -> Result<Option<Box<dyn Slab>>>;

    /// Copies data with gaps through one piece of host memory; whether it was done. If not, nothing was.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As [`super::copy_spread`].
    unsafe fn copy_spread(&self, memory: &DeviceMemory, what: &Spreading, chunk: &mut Chunk) -> Result<bool>;

    /// Whether [`Device::combine`] goes: there is a program for it, and all operands are reached where it runs. Nothing of them
    /// is read or written.
    ///
    /// # Errors
    /// What the driver says.
    fn combines(&self, what: &Combining) -> Result<bool>;

    /// Combines numbers on the device, with the bits of the processor; all is done when it returns. Whether it was done; if
    /// not, nothing was.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As [`super::combine`].
    unsafe fn combine(&self, what: &Combining) -> Result<bool>;

    /// What other processes need to map an allocation.
    ///
    /// # Errors
    /// What the driver says; also where it has no such thing.
    fn lend(&self, memory: &DeviceMemory) -> Result<Lent>;

    /// Maps so many bytes of another process's memory by a handle, on the device that it lies on.
    ///
    /// # Errors
    /// What the driver says; where this process does not use that device.
    fn map(&self, lent: &Lent, handle: [u8; HANDLE_BYTES], bytes: u64) -> Result<DeviceMemory>;

    /// What other processes are told of a piece of memory that the program has mapped by itself.
    ///
    /// # Errors
    /// What the driver says; also where it is other memory, or no descriptor of it can be passed.
    fn describe(&self, memory: &DeviceMemory) -> Result<Lent>;

    /// A descriptor of such a piece, to be passed to another process.
    ///
    /// # Errors
    /// As [`Device::describe`].
    fn export(&self, memory: &DeviceMemory) -> Result<OwnedFd>;

    /// Maps pieces of another process by their descriptors, one behind the other: how long each is, and it.
    ///
    /// # Errors
    /// As [`Device::map`].
    fn import(&self, lent: &Lent, pieces: &[(u64, BorrowedFd)]) -> Result<DeviceMemory>;

    /// Gives back what [`Device::map`] or [`Device::import`] has mapped. Nobody uses it any more.
    fn unmap(&self, memory: &DeviceMemory, way: Way);
}
