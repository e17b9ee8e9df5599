//! What goes over the wire: a head and a payload.

use crate::transport::network::{kept_payload, Claim, Word};

/// Of a head that has been written.
pub const HEAD_BYTES: usize = 24;

/// The longest payload of a frame.
pub const LONGEST: usize = 64 << 10;

/// What sort of frame it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A packet as it was pushed.
    Packet,
    /// A long payload that the receiver has not asked for: it tells when it has let go of it.
    Long,
    /// A long payload that the receiver has asked for.
    Awaited,
    /// The transport's own: see [`super::peer`].
    Own,
}

/// What stands before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The kind of the packet, or of what is the transport's own.
    pub kind: u8,
    /// What sort of frame it is.
    pub sort: Sort,
    /// The how manieth it is from its sender to its receiver, from 0; begins anew after the last.
    pub number: u32,
    /// The header of the packet.
    pub header: [u64; 2],
}

impl Head {
    /// Of a word that a rank tells another.
    pub fn own(Word { kind, header }: Word) -> Head {
        Head { kind, sort: Sort::Own, number: 0, header }
    }

    /// The word, if that is what it brings.
    pub fn word(&self) -> Word {
        Word { kind: self.kind, header: self.header }
    }

    /// As it travels.
    pub fn write(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        (bytes[0], bytes[1]) = (self.kind, self.sort as u8);
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.header[0].to_le_bytes());
        bytes[16..].copy_from_slice(&self.header[1].to_le_bytes());
        bytes
    }

    /// As it arrived; `None` if that is no head.
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let sort = match bytes[1] {
            0 => Sort::Packet,
            1 => Sort::Long,
            2 => Sort::Awaited,
            3 => Sort::Own,
            _ => return None,
        };
        Some(Head { kind: bytes[0], sort, number: (word(0) >> 32) as u32, header: [word(8), word(16)] })
    }
}

/// A frame that has come.
#[derive(Debug)]
pub struct Frame {
    /// What stands before the payload.
    pub head: Head,
    /// Bytes of the payload.
    pub bytes: u32,
    /// The payload, and zeros up to [`INLINE_BYTES`].
    pub payload: Box<[u8]>,
}

impl Frame {
    /// What its payload takes of the receiver's memory.
    pub fn claim(&self) -> Claim {
        Claim { is_awaited: self.head.sort == Sort::Awaited, bytes: u64::from(self.bytes) }
    }

    /// With a copy of a payload.
    pub fn new(head: Head, payload: &[u8]) -> Frame {
        Frame { head, bytes: payload.len() as u32, payload: kept_payload::copy(payload) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_travels_whole_and_nonsense_is_none() {
        for sort in [Sort::Packet, Sort::Long, Sort::Awaited, Sort::Own] {
            let head = Head { kind: 200, sort, number: u32::MAX - 7, header: [u64::MAX, 3] };
            assert_eq!(Head::read(&head.write()), Some(head));
        }
        let mut bytes = [0; HEAD_BYTES];
        bytes[1] = 4;
        assert_eq!(Head::read(&bytes), None);
    }
}
