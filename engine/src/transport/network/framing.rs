//! What goes over a connection once both ends are proven: frames, each a head of 24 bytes and a payload.
//!
//! Most frames are numbered: each end counts those that it has sent and those that it has received, and every
//! head tells how many have been received. What a peer has not received yet can so be sent again over another
//! connection. A number never travels, because the frames of a connection arrive in order.

use super::{Claim, Word};
use crate::transport::LONG_LETTER_BYTES;

/// Of a head that has been written.
pub const HEAD_BYTES: usize = 24;

/// The longest payload of a frame that is received whole.
pub const LONGEST: usize = 64 << 10;

/// Bytes of data in a frame, at most: so long other frames wait.
pub const DATA_BYTES: usize = 256 << 10;
/// Of the payload of a question: its number, how many bytes are wanted, and how many have come before.
pub const ASK_BYTES: usize = 24;

/// What sort of frame it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A packet as it was pushed.
    Packet,
    /// A long payload that the receiver has not asked for: it tells when it has let go of it.
    Long,
    /// A long payload that the receiver has asked for.
    Awaited,
    /// The transport's own: a word of a rank to another.
    Own,
    /// Nothing but what every head tells. Not numbered.
    Ack,
    /// The first frame of a connection: its header tells how many frames have been received so far. Not numbered.
    Resume,
    /// A question for memory: see the wire. Not numbered.
    Ask,
    /// The answer: its header has the number of the question, and how many bytes came before. Not numbered.
    Data,
}

impl Sort {
    fn of(byte: u8) -> Option<Sort> {
        use Sort::*;
        [Packet, Long, Awaited, Own, Ack, Resume, Ask, Data].into_iter().find(|&sort| sort as u8 == byte)
    }

    /// Whether frames of this sort are counted, and sent again where it is needed.
    pub fn is_numbered(self) -> bool {
        matches!(self, Sort::Packet | Sort::Long | Sort::Awaited | Sort::Own)
    }

    fn longest(self) -> usize {
        match self {
            Sort::Packet => LONG_LETTER_BYTES,
            Sort::Long | Sort::Awaited => LONGEST,
            Sort::Own | Sort::Ack | Sort::Resume => 0,
            Sort::Ask => ASK_BYTES,
            Sort::Data => DATA_BYTES,
        }
    }
}

/// What stands before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the payload.
    pub bytes: u32,
    /// The kind of the packet, or of what is the transport's own.
    pub kind: u8,
    /// What sort of frame it is.
    pub sort: Sort,
    /// The last 16 bits of how many numbered frames its sender has received.
    pub received: u16,
    /// The header of the packet.
    pub header: [u64; 2],
}

impl Head {
    /// Of a frame without a payload.
    pub fn bare(sort: Sort, kind: u8, header: [u64; 2]) -> Head {
        Head { bytes: 0, kind, sort, received: 0, header }
    }

    /// Of a word that a rank tells another.
    pub fn own(Word { kind, header }: Word) -> Head {
        Head::bare(Sort::Own, kind, header)
    }

    /// The word, if that is what it brings.
    pub fn word(&self) -> Word {
        Word { kind: self.kind, header: self.header }
    }

    /// What the payload that it brings takes of the receiver's memory.
    pub fn claim(&self) -> Claim {
        Claim { is_awaited: self.sort == Sort::Awaited, bytes: u64::from(self.bytes) }
    }

    /// As it travels.
    pub fn write(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&self.bytes.to_le_bytes());
        (bytes[4], bytes[5]) = (self.kind, self.sort as u8);
        bytes[6..8].copy_from_slice(&self.received.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.header[0].to_le_bytes());
        bytes[16..].copy_from_slice(&self.header[1].to_le_bytes());
        bytes
    }

    /// As it arrived; `None` if that is no head.
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let first = word(0);
        let (length, sort) = (first as u32, Sort::of(bytes[5])?);
        let is_long_enough = sort != Sort::Ask || length as usize == ASK_BYTES;
        (is_long_enough && length as usize <= sort.longest()).then_some(Head {
            bytes: length,
            kind: bytes[4],
            sort,
            received: (first >> 48) as u16,
            header: [word(8), word(16)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_travels_whole_and_nonsense_is_none() {
        for sort in (0..8).map(|byte| Sort::of(byte).unwrap()) {
            let bytes = sort.longest() as u32;
            let head = Head { bytes, kind: 200, sort, received: 0xfedc, header: [u64::MAX, 3] };
            assert_eq!(Head::read(&head.write()), Some(head));
            assert_eq!(Head::read(&Head { bytes: bytes + 1, ..head }.write()), None, "too long");
        }
        let mut bytes = [0; HEAD_BYTES];
        bytes[5] = 8;
        assert_eq!(Head::read(&bytes), None);
    }
}
