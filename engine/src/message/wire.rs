//! What the packets mean: kinds, the header that is matched, and the payloads.

use crate::transport::{AccessDescriptor, MemoryKind, Plain, Task, INLINE_BYTES};
use crate::JobRank;

/// A message whole in the packet: its payload is the message.
pub const INLINE: u8 = 1;
/// A message whole in the packet, too long for [`INLINE`]: its payload is the message.
pub const LONG: u8 = 2;
/// A message that is still with its sender: payload [`Offer`].
pub const OFFER: u8 = 3;
/// To the sender: all is copied; payload: the beginning of a [`Finish`].
pub const FINISH: u8 = 4;
/// To the sender: send it in parts; payload [`Stream`].
pub const STREAM: u8 = 5;
/// To the receiver: a part of a message; the header is a [`Chunk`].
pub const CHUNK: u8 = 6;
/// To the sender: help copying; payload [`Together`].
pub const TOGETHER: u8 = 7;
/// A message whole in the packet, whose sender waits until a receive has taken it: its payload
/// is a [`Ticket`] and the message behind that, in a long payload on the next line.
pub const AWAITED: u8 = 9;
/// Bytes before a message of [`AWAITED`].
pub const TICKET_BYTES: usize = size_of::<Ticket>();
/// The same in a long payload.
pub const TICKET_LINE: usize = 64;

/// To the receiver: an offered message has been withdrawn; payload a [`Ticket`].
pub const WITHDRAW: u8 = 10;
/// To the sender: that is known; payload a [`Ticket`] of the receiver.
pub const WITHDRAWN: u8 = 11;
/// To the sender: somebody holds an offered message, to receive it; payload the number of its
/// request.
pub const HELD: u8 = 12;

/// To oneself: a part of an offered message has been fetched; the header is a [`Fetched`], the payload says why it has
/// failed, if it has.
pub const FETCHED: u8 = 13;

/// To the sender: a message that it has offered in device memory is wanted in host memory; the header is the number of its
/// request, the payload a [`Ticket`] of the receiver.
pub const FILL: u8 = 15;
/// To the receiver: it is there; the header is a [`Filled`], the payload an [`Offer`].
pub const FILLED: u8 = 16;

/// To the sender: its device memory lies in pieces that are mapped by descriptors, which it shall pass; the header is the number
/// of its request, the payload a [`Wanted`].
pub const PASS: u8 = 17;
/// To the receiver: they have been passed; the header is the number of its request and how many there are.
pub const PASSED: u8 = 18;

/// To the parent in a broadcast: pieces are missing; the header is that of a group (`message/groups.rs`), the payload runs
/// of them.
pub const ASK: u8 = 19;
/// To a child: what it has asked for has been sent to all once more.
pub const AGAIN: u8 = 20;
/// To a child: a piece that it has asked for.
pub const PIECE: u8 = 21;

/// To who reads a buffer in a collective: it could not be fetched from a device; the header is the context and the number of the
/// operation, the payload an [`Unfetched`].
pub const UNFETCHED: u8 = 22;
/// To the rank that has told so: its peer has heard; the header is the same, the payload its job rank.
pub const HEARD: u8 = 23;

/// Payload of [`UNFETCHED`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Unfetched {
    /// Job rank of the sender.
    pub peer: JobRank,
    /// Its rank in its group of the communicator.
    pub rank: u32,
    /// Which start of a persistent operation.
    pub round: u32,
}

/// Why a receiver cannot map what it is offered: in the header of [`FILL`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Where it was described stands another allocation by now.
    NotNow,
    /// This, or any, memory of the sender cannot be mapped.
    Never,
}

/// Payload of [`PASS`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Wanted {
    /// The receiver.
    pub receiver: Ticket,
    /// The name of the socket at which it listens.
    pub name: [u64; 2],
}

/// Look again: something in shared memory has changed.
pub const NUDGE: u8 = 14;

/// Header of [`FETCHED`].
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// Bytes of the part.
    pub bytes: u64,
    /// The receive.
    pub request: u32,
}

impl Fetched {
    /// As it travels.
    pub fn header(self) -> [u64; 2] {
        [self.bytes, self.request as u64]
    }

    /// As it arrived.
    pub fn of(header: [u64; 2]) -> Fetched {
        Fetched { bytes: header[0], request: header[1] as u32 }
    }
}

/// Header of [`FILLED`].
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// The receive.
    pub request: u32,
    /// Not 0: there is no message.
    pub failed: u32,
}

impl Filled {
    /// As it travels.
    pub fn header(self) -> [u64; 2] {
        [self.request as u64, self.failed as u64]
    }

    /// As it arrived.
    pub fn of(header: [u64; 2]) -> Filled {
        Filled { request: header[0] as u32, failed: header[1] as u32 }
    }
}

/// The 16 bytes by which a message is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: u64,
    /// Rank of the sender in its group of the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
}

impl Envelope {
    /// As it travels.
    #[inline]
    pub fn header(self) -> [u64; 2] {
        [self.context, (self.tag as u32 as u64) << 32 | self.source as u32 as u64]
    }

    /// As it arrived.
    #[inline]
    pub fn of(header: [u64; 2]) -> Envelope {
        Envelope { context: header[0], source: header[1] as u32 as i32, tag: (header[1] >> 32) as u32 as i32 }
    }

    /// Whether it is of a collective, whose ranks all know the lengths of its messages.
    #[inline]
    pub fn is_of_collective(&self) -> bool {
        self.context & 1 != 0
    }

    /// Whether a message of so many bytes is right for a receive that has room for `room`; one of a collective has as many.
    #[inline(always)]
    pub fn fits(&self, bytes: u64, room: u64) -> bool {
        bytes == room || bytes < room && !self.is_of_collective()
    }
}

/// Payload of [`OFFER`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Offer {
    /// Length of the message.
    pub bytes: u64,
    /// Where it lies in the sender's memory; 0 if not in one block, or not to be read there.
    address: u64,
    /// The key of that memory.
    key: u64,
    /// Job rank of the sender.
    pub peer: JobRank,
    /// The sender's request.
    pub request: u32,
    /// The kind of the memory.
    kind: u32,
    /// Of device memory: 1 + the place where it is described in the sender's blocks area, in units of 64 bytes.
    place: u32,
}

impl Offer {
    /// Of a message in such memory of `peer`, which knows it by its `request`.
    #[inline]
    pub fn new(memory: AccessDescriptor, peer: JobRank, request: u32) -> Offer {
        let AccessDescriptor { address, bytes, key, kind: MemoryKind(kind) } = memory;
        Offer { bytes, address, key, peer, request, kind: kind.into(), place: 0 }
    }

    /// Where the message is.
    #[inline]
    pub fn memory(&self) -> AccessDescriptor {
        let Offer { bytes, address, key, kind, .. } = *self;
        AccessDescriptor { address, bytes, key, kind: MemoryKind(kind as u16) }
    }

    /// The same with the place where its device memory is described.
    pub fn described_at(self, place: u32) -> Offer {
        Offer { place, ..self }
    }

    /// That place, and one; 0: none.
    pub fn place(&self) -> u32 {
        self.place
    }
}

/// Which request is complete when a message has been taken.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Ticket {
    /// Job rank of the sender.
    pub peer: JobRank,
    /// The sender's request.
    pub request: u32,
}

/// Requests that one [`FINISH`] can name.
pub const FINISHED: usize = INLINE_BYTES / 4;

/// Payload of [`FINISH`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Finish {
    /// The requests that are complete at the rank that gets this packet; the
    /// packet's length says how many.
    pub requests: [u32; FINISHED],
}

/// Payload of [`STREAM`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Stream {
    /// Bytes wanted (fewer than offered if the receiver has no room).
    pub bytes: u64,
    /// The sender's request.
    pub request: u32,
    /// The receiver's request.
    pub receiver_request: u32,
    /// Job rank of the receiver.
    pub peer: JobRank,
    /// Not used.
    pub spare: u32,
}

/// Header of [`CHUNK`].
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Where in the message this part begins.
    pub offset: u64,
    /// The receiver's request.
    pub request: u32,
}

impl Chunk {
    /// As it travels.
    pub fn header(self) -> [u64; 2] {
        [self.offset, self.request as u64]
    }

    /// As it arrived.
    pub fn of(header: [u64; 2]) -> Chunk {
        Chunk { offset: header[0], request: header[1] as u32 }
    }
}

/// Payload of [`TOGETHER`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Together {
    /// Where the receiver wants the message, in memory of the host: only ranks of a node share copying.
    pub address: u64,
    /// Bytes to copy.
    pub bytes: u64,
    /// The copying, a task of the receiver.
    pub task: Task,
    /// The sender's request.
    pub request: u32,
    /// The receiver's request.
    pub receiver_request: u32,
    /// Job rank of the receiver.
    pub peer: JobRank,
    /// Not used.
    pub spare: u32,
}

// SAFETY: integers without padding, by the order and sizes of the fields.
unsafe impl Plain for Offer {}
// SAFETY: as above.
unsafe impl Plain for Finish {}
// SAFETY: as above.
unsafe impl Plain for Ticket {}
// SAFETY: as above.
unsafe impl Plain for Wanted {}
// SAFETY: as above.
unsafe impl Plain for Unfetched {}
// SAFETY: as above.
unsafe impl Plain for Stream {}
// SAFETY: as above.
unsafe impl Plain for Together {}
