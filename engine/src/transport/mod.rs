//! How bytes move between ranks: the waist.
//!
//! A transport carries packets (a kind, 16 bytes of header, at most 40 bytes of
//! payload), lends cells of memory that the peer can read, and reaches into the
//! memory of a peer where the system allows it. It knows no communicator, no tag
//! and no request: the message room gives those bytes their meaning.

pub mod node;

use crate::Result;

/// Payload bytes that fit into a packet.
pub const INLINE_BYTES: usize = 40;

/// One packet: a cache line on the way.
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
        let bytes = std::mem::size_of::<T>();
        assert!(bytes <= INLINE_BYTES);
        let mut packet = Packet::new(kind, header);
        packet.length = bytes as u8;
        // SAFETY: `T: Plain` has no padding and `bytes` fits, as just checked.
        unsafe {
            std::ptr::copy_nonoverlapping(
                (value as *const T).cast::<u8>(),
                packet.payload.as_mut_ptr(),
                bytes,
            );
        }
        packet
    }

    /// The payload read as a `T` (bytes beyond `length` are zero or garbage of
    /// the sender; every bit pattern of a `Plain` type is valid).
    pub fn read<T: Plain>(&self) -> T {
        assert!(std::mem::size_of::<T>() <= INLINE_BYTES);
        // SAFETY: `T: Plain` is valid for every bit pattern; the payload holds
        // at least its size.
        unsafe { std::ptr::read_unaligned(self.payload.as_ptr().cast::<T>()) }
    }
}

/// Types made of integers only, without padding.
///
/// # Safety
/// Every bit pattern must be valid and no byte may be padding.
pub unsafe trait Plain: Copy {}

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
    /// Not at all: the owner has to copy through cells.
    Cells,
}

/// One claim word and one counter in shared memory, by which two ranks share
/// the copying of one message. See `message::together` for the rules.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SharedCopy {
    /// Generation (upper 32 bits) and next chunk to copy (lower 32 bits).
    pub claim: std::sync::atomic::AtomicU64,
    /// Bytes copied so far.
    pub done: std::sync::atomic::AtomicU64,
}

/// What every transport offers. `peer` is a job rank.
pub trait Transport: Send {
    /// Puts a packet into the mailbox of `peer` and wakes it if it sleeps;
    /// `false` when the mailbox is full. Packets of one sender arrive in order.
    fn push(&mut self, peer: u32, packet: &Packet) -> Result<bool>;

    /// The next packet that has arrived.
    fn pop(&mut self) -> Option<Packet>;

    /// The largest cell that [`Transport::take_cell`] gives.
    fn largest_cell(&self) -> usize;

    /// Takes a cell of one's own of at least `bytes` bytes; `None` when all are
    /// out. It comes back when the peer gives it back.
    fn take_cell(&mut self, bytes: usize) -> Result<Option<Cell>>;

    /// Address of a cell in this process.
    fn cell_address(&self, cell: Cell) -> *mut u8;

    /// Gives a cell back to its owner.
    fn give_back(&mut self, cell: Cell);

    /// Asks to be woken when a cell comes back; `true` if some have already.
    fn want_cells(&mut self) -> bool;

    /// By what means any memory of `peer` is reached. Tried at first use. Some
    /// may be reached by better ones: see [`Transport::direct`].
    fn means(&mut self, peer: u32) -> Means;

    /// Where `bytes` bytes at `address` of `peer` lie in this process, if they
    /// can be read there by plain loads until the peer's operation with them is
    /// complete.
    fn direct(&mut self, peer: u32, address: u64, bytes: u64) -> Option<*const u8>;

    /// The program lends `bytes` bytes of its own at `address` until the
    /// operation at hand is complete: they may become directly readable.
    fn lend(&mut self, address: *const u8, bytes: u64);

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

/// A place to look for new packets without the engine's lock.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    pub(crate) word: *const std::sync::atomic::AtomicU64,
    pub(crate) expected: u32,
}

// SAFETY: the word lies in the node segment, which lives as long as the engine.
unsafe impl Send for Arrivals {}

impl Arrivals {
    /// Whether the next packet is there.
    #[inline]
    pub fn any(&self) -> bool {
        // SAFETY: see `Send` above.
        let word = unsafe { &*self.word };
        (word.load(std::sync::atomic::Ordering::Acquire) >> 32) as u32 == self.expected
    }
}
