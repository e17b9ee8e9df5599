//! How bytes move between ranks: the waist.
//!
//! A transport carries packets (a kind, 16 bytes of header, some bytes of
//! payload), lends cells of memory that the peer can read, and reaches into the
//! memory of a peer where the system allows it. It knows no communicator, no tag
//! and no request: the message room gives those bytes their meaning.

pub mod node;

use crate::observe::page::{add_together, Counters};
use crate::Result;
use std::sync::atomic::{AtomicU64, Ordering};

/// Payload bytes that fit into a packet of one cache line.
pub const INLINE_BYTES: usize = 40;

/// Payload bytes that a packet takes wherever it takes several lines.
pub const LETTER_BYTES: usize = 1024;

/// The longest payload of a packet, where that is the quickest way: with what
/// stands before it, 3.5 KiB.
pub const LONG_LETTER_BYTES: usize = 3584 - 24;

/// A packet to be sent: its payload still lies where the program has it.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    /// What it means to the message room.
    pub kind: u8,
    /// 16 bytes that the message room reads at every arrival.
    pub header: [u64; 2],
    /// The payload; see [`Transport::takes_letter`].
    pub payload: &'a [u8],
}

/// A packet that has arrived and still lies in the transport's memory, until
/// [`Transport::advance`].
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What it means to the message room.
    pub kind: u8,
    /// Bytes of its payload.
    pub bytes: u32,
    /// 16 bytes of the message room.
    pub header: [u64; 2],
    pub(crate) payload: *const u8,
}

// SAFETY: the payload lies in the node segment; whoever has the transport may
// read it.
unsafe impl Send for Arrival {}
// SAFETY: as above.
unsafe impl Sync for Arrival {}

impl Arrival {
    /// The payload read as a `T`; every bit pattern of a `Plain` type is valid.
    #[inline]
    pub fn read<T: Plain>(&self) -> T {
        const { assert!(std::mem::size_of::<T>() <= INLINE_BYTES) };
        // SAFETY: every packet has room for `INLINE_BYTES` bytes of payload,
        // whatever was written there; `T: Plain` is valid for every bit pattern.
        unsafe { std::ptr::read_unaligned(self.payload.cast::<T>()) }
    }

    /// A `T` with which the payload begins, and the packet as if only the rest were its payload.
    #[inline]
    pub fn split<T: Plain>(self) -> (T, Arrival) {
        let bytes = std::mem::size_of::<T>();
        // The place of the rest is in the packet's: see `read`.
        let payload = self.payload.wrapping_add(bytes);
        (self.read(), Arrival { bytes: self.bytes.saturating_sub(bytes as u32), payload, ..self })
    }

    /// Copies the first `bytes` bytes of the payload.
    ///
    /// # Safety
    /// The packet must not have been advanced over, `bytes` must not be more
    /// than it has, and `target` must have room.
    #[inline(always)]
    pub unsafe fn copy_to(&self, target: *mut u8, bytes: usize) {
        debug_assert!(bytes <= self.bytes as usize);
        // SAFETY: by the caller.
        unsafe { node::packet::copy(self.payload, target, bytes) };
    }
}

/// A packet of at most one cache line that can be kept.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// What it means to the message room.
    pub kind: u8,
    /// Payload bytes in use.
    pub length: u8,
    pub(crate) spare: [u8; 6],
    /// 16 bytes that the message room reads at every arrival.
    pub header: [u64; 2],
    /// The payload.
    pub payload: [u8; INLINE_BYTES],
}

impl Packet {
    /// An empty packet of a kind.
    pub fn new(kind: u8, header: [u64; 2]) -> Packet {
        Packet { kind, length: 0, spare: [0; 6], header, payload: [0; INLINE_BYTES] }
    }

    /// A packet whose payload is `value`.
    pub fn with<T: Plain>(kind: u8, header: [u64; 2], value: &T) -> Packet {
        const { assert!(std::mem::size_of::<T>() <= INLINE_BYTES) };
        let mut packet = Packet::new(kind, header);
        packet.append(value);
        packet
    }

    /// Adds `value` to the payload; `false` if it has no room for it.
    #[inline]
    pub fn append<T: Plain>(&mut self, value: &T) -> bool {
        let (bytes, length) = (std::mem::size_of::<T>(), self.length as usize);
        let Some(room) = self.payload.get_mut(length..length + bytes) else { return false };
        // SAFETY: `T: Plain` has no padding, and `room` has its length.
        unsafe { std::ptr::copy_nonoverlapping((value as *const T).cast::<u8>(), room.as_mut_ptr(), bytes) };
        self.length += bytes as u8;
        true
    }

    /// As it is sent.
    #[inline]
    pub fn letter(&self) -> Letter<'_> {
        Letter { kind: self.kind, header: self.header, payload: &self.payload[..self.length as usize] }
    }
}

/// Types made of integers only, without padding.
///
/// # Safety
/// Every bit pattern must be valid and no byte may be padding.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for u32 {}

/// A cell of memory that its owner fills and a peer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Cell {
    /// Job rank of the owner.
    pub owner: u32,
    /// Which of its cells.
    pub index: u32,
}

// SAFETY: two integers, no padding.
unsafe impl Plain for Cell {}

/// By what means this process reaches into the memory of a peer, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The peer's memory is mapped here: the process itself, and memory in the
    /// peer's window as far as it is shared.
    Direct,
    /// The kernel copies between the two processes in one call.
    CrossMemory,
    /// The kernel reads a file that is the memory of the peer.
    MemoryFile,
    /// Not at all: the owner has to copy through cells.
    Cells,
}

impl Means {
    /// Counts bytes that were copied between two processes by it.
    #[inline]
    pub fn count(self, counters: &Counters, bytes: u64) {
        let counter = match self {
            Means::Direct => &counters.bytes_direct,
            Means::CrossMemory => &counters.bytes_cross_memory,
            Means::MemoryFile => &counters.bytes_memory_file,
            Means::Cells => &counters.bytes_cells,
        };
        add_together(counter, bytes);
    }
}

/// One claim word and one counter in shared memory, by which two ranks share
/// the copying of one message. See `message::together` for the rules.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SharedCopy {
    /// Generation (upper 32 bits) and next chunk to copy (lower 32 bits).
    pub claim: AtomicU64,
    /// Bytes copied so far.
    pub done: AtomicU64,
}

/// What every transport offers. `peer` is a job rank.
pub trait Transport: Send {
    /// Sends a packet to `peer` and wakes it if it sleeps; `false` when it has no
    /// room. Packets of one sender arrive in order.
    fn push(&mut self, peer: u32, letter: &Letter<'_>) -> Result<bool>;

    /// Whether a block of more than [`INLINE_BYTES`] bytes shall go to `peer` in a
    /// packet: there is room for such packets, and if it has more than
    /// [`LETTER_BYTES`] bytes, that is quicker than a cell, or than to let `peer`
    /// read it where it is.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    fn takes_letter(&mut self, peer: u32, address: *const u8, bytes: usize) -> Result<bool>;

    /// Whether peers may send payloads longer than [`INLINE_BYTES`] in packets:
    /// `false` after many of them had to be kept.
    fn take_long_letters(&mut self, take: bool);

    /// The next packet that has arrived; it stays until [`Transport::advance`].
    fn peek(&mut self) -> Option<Arrival>;

    /// The packet that was looked at last has been read.
    fn advance(&mut self, arrival: &Arrival);

    /// The largest cell that [`Transport::take_cell`] gives.
    fn largest_cell(&self) -> usize;

    /// Takes a cell of one's own of at least `bytes` bytes, for `peer`; `None` when
    /// all are out. It comes back when the peer gives it back.
    fn take_cell(&mut self, peer: u32, bytes: usize) -> Result<Option<Cell>>;

    /// Address of a cell in this process.
    fn cell_address(&self, cell: Cell) -> *mut u8;

    /// Copies `bytes` bytes at `source` into a cell of one's own that `peer` will
    /// read, in the way that is fastest between the two.
    ///
    /// # Safety
    /// The source must be readable, the cell as long and not yet sent.
    unsafe fn fill_cell(&mut self, peer: u32, cell: Cell, source: *const u8, bytes: usize) -> Result<()>;

    /// Gives a cell back to its owner.
    fn give_back(&mut self, cell: Cell);

    /// Asks to be woken when a cell comes back; `true` if some have already.
    fn want_cells(&mut self) -> bool;

    /// By what means any memory of `peer` is reached. Tried at first use. Some
    /// may be reached by better ones: see [`Transport::direct`].
    fn means(&mut self, peer: u32) -> Means;

    /// Why [`Transport::means`] of `peer` are no better, for people; empty if
    /// they are the best, or were not tried.
    fn why_not_better(&self, peer: u32) -> String;

    /// Where `bytes` bytes at `address` of `peer` lie in this process, if they
    /// can be read there by plain loads until the peer's operation with them is
    /// complete.
    fn direct(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*const u8>;

    /// Whether `peer` had better read this memory of one's own where it is than
    /// get it in a cell: it can do so by plain loads, and has not been slow to.
    fn had_better_read(&mut self, peer: u32, address: *const u8, bytes: u64) -> bool;

    /// So many ticks ([`crate::clock`]) passed until `peer` had read what was
    /// offered to it because it [`had better`](Transport::had_better_read).
    fn was_read(&mut self, peer: u32, bytes: u64, ticks: u64);

    /// The program lends `bytes` bytes of its own at `address` until the
    /// operation at hand is complete, and so many peers will want all of them: they may become
    /// directly readable. Whether they are by now, by plain loads.
    fn lend(&mut self, address: *const u8, bytes: u64, readers: u32) -> bool;

    /// Whether all of this memory of one's own can be read by plain loads.
    fn is_shared(&self, address: *const u8, bytes: u64) -> bool;

    /// As [`Transport::direct`], for writing. If it gives an address,
    /// [`Transport::end_write`] must follow: the peer cannot fork before.
    fn begin_write(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*mut u8>;

    /// What [`Transport::begin_write`] began is over.
    fn end_write(&mut self, peer: u32);

    /// Copies from the memory of `peer` into pieces of one's own: `remote` is an
    /// address of the peer, the pieces are `(address, bytes)`. Says by what means.
    ///
    /// # Safety
    /// The pieces must be writable memory that nothing else uses meanwhile.
    unsafe fn read(&mut self, peer: u32, remote: u64, pieces: &[(usize, usize)]) -> Result<Means>;

    /// Copies `bytes` bytes of one's own at `local` to address `remote` of `peer`.
    ///
    /// # Safety
    /// `local` must be readable for `bytes` bytes; the peer must have offered
    /// `remote`.
    unsafe fn write(&mut self, peer: u32, remote: u64, local: *const u8, bytes: usize) -> Result<()>;

    /// A free shared-copy block of one's own, and its number.
    fn take_shared_copy(&mut self) -> Option<u32>;

    /// Gives it back.
    fn free_shared_copy(&mut self, block: u32);

    /// Block `block` of `owner`.
    fn shared_copy(&self, owner: u32, block: u32) -> &SharedCopy;

    /// What the waiting loop needs to sleep until a packet comes.
    fn doorbell(&self) -> &crate::progress::Doorbell;

    /// Whether a packet may be waiting; needs no lock and may be asked by any
    /// thread through [`Arrivals`].
    fn arrivals(&self) -> Arrivals;

    /// Asks to be woken when `peer`'s mailbox has room again.
    fn want_room(&mut self, peer: u32);

    /// Wakes the threads of this process that sleep in a wait.
    fn ring_self(&self);
}

/// Rings that one rank reads at most.
const SOURCES: usize = 1 + node::express::BOXES;

/// Places to look for new packets without the engine's lock.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    count: usize,
    words: [(*const AtomicU64, u32); SOURCES],
}

// SAFETY: the words lie in the node segment, which lives as long as the engine.
unsafe impl Send for Arrivals {}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals { count: 0, words: [(std::ptr::null(), 0); SOURCES] }
    }
}

impl Arrivals {
    /// One more place: a word in the node segment, and what its upper half will
    /// be; 0 if it is the whole word that will not be zero.
    pub(crate) fn add(&mut self, word: &AtomicU64, expected: u32) {
        self.words[self.count] = (word, expected);
        self.count += 1;
    }

    /// Whether a packet is there.
    #[inline]
    pub fn any(&self) -> bool {
        let there = |&(word, expected): &(*const AtomicU64, u32)| {
            // SAFETY: see `Send` above.
            let word = unsafe { &*word }.load(Ordering::Acquire);
            if expected == 0 {
                word != 0
            } else {
                (word >> 32) as u32 == expected
            }
        };
        self.words[..self.count].iter().any(there)
    }
}
