//! Packets: a kind, 16 bytes of header and a payload, from one rank to another.
//!
//! The packets of one sender arrive in the order in which it has sent them, none is lost, and a
//! sender is told when the receiver has no room. The rooms above give kind, header and payload
//! their meaning.

use super::{short_copy, Arrivals, Reaches};
use crate::progress::Doorbell;
use crate::{JobRank, Result};
use std::os::fd::RawFd;

/// Payload bytes that fit into a packet of one cache line.
pub const INLINE_BYTES: usize = 40;

/// Payload bytes that a packet takes wherever it takes several lines.
pub const LETTER_BYTES: usize = 1024;

/// The longest payload of a packet, where that is the quickest way: with what
/// stands before it, 3.5 KiB.
pub const LONG_LETTER_BYTES: usize = 3584 - 24;

/// Kinds from this one on are the transport's own.
pub const OWN_KINDS: u8 = 0xf0;

/// A packet to be sent: its payload still lies where the program has it.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    /// What it means to the message room.
    pub kind: u8,
    /// 16 bytes that the message room reads at every arrival.
    pub header: [u64; 2],
    /// The payload; see [`Packets::takes_letter`].
    pub payload: &'a [u8],
}

/// A packet that has arrived and still lies in the transport's memory, until
/// [`Packets::advance`].
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What it means to the message room.
    pub kind: u8,
    /// Whether it has come by [`Payloads::load`](super::Payloads::load).
    pub is_long: bool,
    /// Bytes of its payload.
    pub bytes: u32,
    /// 16 bytes of the message room.
    pub header: [u64; 2],
    pub(crate) payload: *const u8,
}

// SAFETY: the payload lies in the transport's memory; whoever has the transport
// may read it.
unsafe impl Send for Arrival {}
// SAFETY: as above.
unsafe impl Sync for Arrival {}

impl Arrival {
    /// Where its payload is.
    pub fn payload(&self) -> *const u8 {
        self.payload
    }

    /// The payload read as a `T`; every bit pattern of a `Plain` type is valid.
    #[inline]
    pub fn read<T: Plain>(&self) -> T {
        const { assert!(std::mem::size_of::<T>() <= INLINE_BYTES) };
        // SAFETY: every packet has room for `INLINE_BYTES` bytes of payload,
        // whatever was written there; `T: Plain` is valid for every bit pattern.
        unsafe { std::ptr::read_unaligned(self.payload.cast::<T>()) }
    }

    /// The packet as if its payload began `bytes` bytes later.
    #[inline]
    pub fn behind(self, bytes: usize) -> Arrival {
        let payload = self.payload.wrapping_add(bytes);
        Arrival { bytes: self.bytes.saturating_sub(bytes as u32), payload, ..self }
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
        unsafe { short_copy::copy(self.payload, target, bytes) };
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

    /// The payload read as a `T`.
    #[inline]
    pub fn read<T: Plain>(&self) -> T {
        const { assert!(std::mem::size_of::<T>() <= INLINE_BYTES) };
        // SAFETY: the payload has that many bytes, and `T: Plain` is valid for all of them.
        unsafe { std::ptr::read_unaligned(self.payload.as_ptr().cast::<T>()) }
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
// SAFETY: the same.
unsafe impl Plain for JobRank {}

/// Sending and receiving packets.
pub trait Packets: Reaches {
    /// Sends a packet to `peer` and wakes it if it sleeps; `false` when it has no
    /// room. Packets of one sender arrive in order.
    fn push(&mut self, peer: Self::Peer, letter: &Letter<'_>) -> Result<bool>;

    /// Whether a block of more than [`INLINE_BYTES`] bytes shall go to `peer` in a
    /// packet: there is room for such packets, and if it has more than
    /// [`LETTER_BYTES`] bytes, that is quicker than a cell.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    fn takes_letter(&mut self, peer: Self::Peer, bytes: usize) -> Result<bool>;

    /// Whether peers may send payloads longer than [`INLINE_BYTES`] in packets:
    /// `false` after many of them had to be kept.
    fn take_long_letters(&mut self, take: bool);

    /// The next packet that has arrived; it stays until [`Packets::advance`].
    fn peek(&mut self) -> Option<Arrival>;

    /// The packet that was looked at last has been read.
    fn advance(&mut self, arrival: &Arrival);

    /// Whether a packet may be waiting; needs no lock and may be asked by any
    /// thread through [`Arrivals`].
    fn arrivals(&self) -> Arrivals;

    /// Asks to be woken when `peer`'s mailbox has room again.
    fn want_room(&mut self, peer: Self::Peer);

    /// What the waiting loop needs to sleep until a packet comes.
    fn doorbell(&self) -> &Doorbell;

    /// Wakes the threads of this process that sleep in a wait.
    fn ring_self(&self) {
        self.doorbell().ring();
    }

    /// A descriptor that can be read when something comes, and that a rank which sleeps has to wait for beside its
    /// doorbell. A transport whose peers ring has none.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    /// The rank takes leave of its peers: from now on its end is no failure. It may go on all the same.
    fn leave(&mut self) {}

    /// A peer that is gone without having taken leave, once a launcher has had time to end the job. A
    /// transport that cannot know leaves it to the launcher.
    fn lost(&mut self) -> Option<Self::Peer> {
        None
    }
}
