//! The first 64 bytes of each message between servers.
//!
//! | byte | bytes | what |
//! |---|---|---|
//! | 0 | 1 | [`Kind`] |
//! | 1 | 1 | class of the buffer that a request takes where it arrives |
//! | 2 | 1 | credits that the sending node gives back to the receiving one |
//! | 3 | 1 | flags: [`TELL`] and the others |
//! | 4 | 4 | origin: the node whose rank asks |
//! | 8 | 4 | target: the node that is asked |
//! | 12 | 4 | job rank of the origin |
//! | 16 | 4 | job rank of the target |
//! | 20 | 4 | bytes of the body, which follows |
//! | 24 | 4 | how many nodes were known to be gone where a request was sent |
//! | 28 | 4 | 0 |
//! | 32 | 8 | the request's number: those of a node only grow |
//! | 40 | 8 | the sending node has done all requests of the receiving one up to this number; 0: nothing is said |
//! | 48 | 8 | ticket: by what the origin knows the request |
//! | 56 | 8 | number of a lock, or of an error |
//!
//! All are little-endian. Credits and what is done are of the one hop; all else is of the whole way.

use super::Fault;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;

/// In a request: the target shall say at once that it is done.
pub const TELL: u8 = 1;
/// In a request: there is an answer with data.
pub const ANSWER: u8 = 2;
/// In a request: its data are with the origin, and the target fetches them.
pub const FETCH: u8 = 4;
/// Of a lock: others may hold it as well.
pub const SHARED: u8 = 8;
/// Of a lock: its holder has died.
pub const BROKEN: u8 = 16;
/// In an answer: it was not done.
pub const REFUSED: u8 = 32;
/// In a grant: another one waits behind this one.
pub const FOLLOWED: u8 = 64;
/// In an answer: the target is gone.
pub const GONE: u8 = 128;

/// What a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Request: something is done with memory of the target; the body says what.
    Operation = 1,
    /// Request: for a lock.
    Lock = 2,
    /// Request: a lock is given back.
    Unlock = 3,
    /// Request: nothing but that all before it are done is to be told.
    Tell = 4,
    /// Credits and what is done, which any message has.
    #[default]
    Acknowledge = 8,
    /// The answer to a request.
    Answer = 9,
    /// The target asks for the data of a request.
    Fetch = 10,
    /// These are they.
    Fetched = 11,
    /// A lock is granted.
    Granted = 12,
    /// To one who waits for a lock: who waits behind it.
    Next = 13,
    /// The same, told by it to the lock's home once it has been granted the lock.
    Follower = 14,
}

impl Kind {
    /// Whether it takes a buffer, by a credit. All others have a place that is kept for them.
    pub fn is_request(self) -> bool {
        (self as u8) < Kind::Acknowledge as u8
    }

    fn of(byte: u8) -> Option<Kind> {
        use Kind::*;
        let all =
            [Operation, Lock, Unlock, Tell, Acknowledge, Answer, Fetch, Fetched, Granted, Next, Follower];
        all.into_iter().find(|&kind| kind as u8 == byte)
    }
}

/// The head of a message; see above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the table above
pub struct Header {
    pub kind: Kind,
    pub class: u8,
    pub credits: u8,
    pub flags: u8,
    pub origin: u32,
    pub target: u32,
    pub origin_rank: u32,
    pub target_rank: u32,
    pub bytes: u32,
    pub known: u32,
    pub sequence: u64,
    pub done: u64,
    pub ticket: u64,
    pub number: u64,
}

impl Header {
    /// Whether a flag is there.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// As bytes.
    pub fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&[self.kind as u8, self.class, self.credits, self.flags]);
        let short = [self.origin, self.target, self.origin_rank, self.target_rank, self.bytes, self.known];
        for (place, value) in bytes[4..28].chunks_exact_mut(4).zip(short) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let long = [self.sequence, self.done, self.ticket, self.number];
        for (place, value) in bytes[32..].chunks_exact_mut(8).zip(long) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// A message's header and its body.
    ///
    /// # Errors
    /// When the bytes are no message.
    pub fn read(message: &[u8]) -> Result<(Header, &[u8]), Fault> {
        let (head, body) = message.split_at_checked(HEADER_BYTES).ok_or(Fault("a message is too short"))?;
        let short = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        let header = Header {
            kind: Kind::of(head[0]).ok_or(Fault("a message is of no known kind"))?,
            class: head[1],
            credits: head[2],
            flags: head[3],
            origin: short(4),
            target: short(8),
            origin_rank: short(12),
            target_rank: short(16),
            bytes: short(20),
            known: short(24),
            sequence: long(32),
            done: long(40),
            ticket: long(48),
            number: long(56),
        };
        match header.bytes as usize == body.len() {
            true => Ok((header, body)),
            false => Err(Fault("a message is not as long as it says")),
        }
    }
}
