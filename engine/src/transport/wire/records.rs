//! Records of a sealed connection, without the connection: what is sealed on one end and opened on the other.
//!
//! ```text
//! 0..2    bytes of the sealed payload and its tag
//! 2..4    the same, each bit the other way round: a wrong length would wait for what does not come
//! 4..     the payload, sealed by AES-256 in Galois/counter mode, and the tag of 16 bytes
//! ```
//!
//! Each direction of a connection has a key of its own, which both ends make of the job's secret and of both hellos: so no two
//! connections have the same. The nonce of a record is its number, and the tag covers its length too. A record that was changed,
//! left out, sent again or put elsewhere is not opened, and then nothing that follows it.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::Aes256Gcm;
use std::io::IoSlice;

/// Of a key.
pub const KEY_BYTES: usize = 32;
/// Payload of a record, at most.
const LONGEST: usize = 16 << 10;
const HEAD_BYTES: usize = 4;
const TAG_BYTES: usize = 16;
/// How much is received at a time: when little has come last, and when all has come that there was room for.
const LITTLE: usize = 2 << 10;
const MUCH: usize = 64 << 10;
/// Memory for more than so many bytes is given back when it is empty: most connections are at rest.
const KEPT: usize = 1 << 10;

/// The keys of both directions of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// Of what goes out.
    pub out: [u8; KEY_BYTES],
    /// Of what comes in.
    pub into: [u8; KEY_BYTES],
}

impl std::fmt::Debug for Keys {
    /// Nobody shall read them in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// Something has come that nobody with the key has sealed as the next record.
#[derive(Debug, PartialEq, Eq)]
pub struct Forged;

/// One direction: its cipher, and the number of its next record.
struct Direction {
    cipher: Aes256Gcm,
    number: u64,
}

impl Direction {
    fn new(key: &[u8; KEY_BYTES]) -> Direction {
        Direction { cipher: Aes256Gcm::new(key.into()), number: 0 }
    }

    fn nonce(&mut self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.number.to_le_bytes());
        self.number += 1;
        nonce
    }
}

/// Both directions of a connection, and what is between the program and the socket.
pub struct Records {
    out: Direction,
    into: Direction,
    /// Sealed, and so much of it sent.
    waiting: Vec<u8>,
    gone: usize,
    /// Received, and not opened: the beginning of a record; and how much is received next.
    beginning: Vec<u8>,
    filled: usize,
    next: usize,
    /// Opened, and so much of it read.
    opened: Vec<u8>,
    read: usize,
}

impl Records {
    /// Of a new connection.
    pub fn new(keys: &Keys) -> Records {
        let (out, into) = (Direction::new(&keys.out), Direction::new(&keys.into));
        let empty = Vec::new;
        Records {
            out,
            into,
            waiting: empty(),
            gone: 0,
            beginning: empty(),
            filled: 0,
            next: LITTLE,
            opened: empty(),
            read: 0,
        }
    }

    /// What is sealed and has to be sent.
    pub fn waiting(&self) -> &[u8] {
        &self.waiting[self.gone..]
    }

    /// So much of that has been sent.
    pub fn has_gone(&mut self, bytes: usize) {
        self.gone += bytes;
        if self.gone == self.waiting.len() {
            clear(&mut self.waiting);
            self.gone = 0;
        }
    }

    /// Seals as much of the parts as a record holds, when nothing waits; how much.
    pub fn seal(&mut self, parts: &[IoSlice<'_>]) -> usize {
        debug_assert!(self.waiting.is_empty());
        self.waiting.extend([0; HEAD_BYTES]);
        for part in parts {
            let room = HEAD_BYTES + LONGEST - self.waiting.len();
            self.waiting.extend_from_slice(&part[..part.len().min(room)]);
        }
        let (head, payload) = self.waiting.split_at_mut(HEAD_BYTES);
        let bytes = payload.len();
        head.copy_from_slice(&head_of(bytes + TAG_BYTES));
        let nonce = self.out.nonce().into();
        let sealed = self.out.cipher.encrypt_inout_detached(&nonce, head, payload.into());
        self.waiting.extend_from_slice(&sealed.expect("a record is short"));
        bytes
    }

    /// Whether there is something that was opened and not read.
    pub fn has_opened(&self) -> bool {
        self.read < self.opened.len()
    }

    /// Reads what was opened.
    pub fn read(&mut self, place: &mut [u8]) -> usize {
        let bytes = place.len().min(self.opened.len() - self.read);
        place[..bytes].copy_from_slice(&self.opened[self.read..self.read + bytes]);
        self.read += bytes;
        if !self.has_opened() {
            clear(&mut self.opened);
            self.read = 0;
        }
        bytes
    }

    /// Where more is received to.
    pub fn room(&mut self) -> &mut [u8] {
        self.beginning.resize(self.filled + self.next, 0);
        &mut self.beginning[self.filled..]
    }

    /// So much was received there: opens all records that are whole, when all was read that had been opened before.
    ///
    /// # Errors
    /// When the next record is not one of the other end.
    pub fn came(&mut self, bytes: usize) -> Result<(), Forged> {
        debug_assert!(!self.has_opened());
        self.filled += bytes;
        self.next = if bytes == self.next { MUCH } else { LITTLE };
        let mut at = 0;
        while let Some(end) = self.end_of_record(at)? {
            self.open(at, end)?;
            at = end;
        }
        self.beginning.truncate(self.filled);
        self.beginning.drain(..at);
        self.filled -= at;
        if self.filled == 0 {
            clear(&mut self.beginning);
        }
        Ok(())
    }

    /// Where the record ends that begins at a place, if it is whole.
    fn end_of_record(&self, at: usize) -> Result<Option<usize>, Forged> {
        let Some(head) = self.beginning[at..self.filled].first_chunk::<HEAD_BYTES>() else {
            return Ok(None);
        };
        let bytes = usize::from(u16::from_le_bytes([head[0], head[1]]));
        if *head != head_of(bytes) || !(TAG_BYTES..=LONGEST + TAG_BYTES).contains(&bytes) {
            return Err(Forged);
        }
        let end = at + HEAD_BYTES + bytes;
        Ok((end <= self.filled).then_some(end))
    }

    fn open(&mut self, at: usize, end: usize) -> Result<(), Forged> {
        let (head, sealed) = self.beginning[at..end].split_at_mut(HEAD_BYTES);
        let (payload, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>().ok_or(Forged)?;
        let nonce = self.into.nonce().into();
        let opened =
            self.into.cipher.decrypt_inout_detached(&nonce, head, (&mut *payload).into(), (&*tag).into());
        opened.map_err(|_| Forged)?;
        self.opened.extend_from_slice(payload);
        Ok(())
    }
}

/// What a record begins with whose sealed payload and tag have so many bytes.
fn head_of(bytes: usize) -> [u8; HEAD_BYTES] {
    let bytes = bytes as u16;
    (u32::from(bytes) | u32::from(!bytes) << 16).to_le_bytes()
}

/// Empties a list, and gives its memory back if that is much.
fn clear(list: &mut Vec<u8>) {
    list.clear();
    list.shrink_to(KEPT);
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("sealed", &self.out.number)
            .field("opened", &self.into.number)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Records, Records) {
        let (one, other) = ([1; KEY_BYTES], [2; KEY_BYTES]);
        (Records::new(&Keys { out: one, into: other }), Records::new(&Keys { out: other, into: one }))
    }

    fn receive(records: &mut Records, bytes: &[u8]) -> Result<Vec<u8>, Forged> {
        let (mut all, mut left) = (Vec::new(), bytes);
        while !left.is_empty() {
            let room = records.room();
            let (now, later) = left.split_at(left.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            records.came(now.len())?;
            let mut place = vec![0; MUCH];
            let read = records.read(&mut place);
            all.extend_from_slice(&place[..read]);
            left = later;
        }
        Ok(all)
    }

    fn sealed(records: &mut Records, parts: &[&[u8]]) -> (usize, Vec<u8>) {
        let parts: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let taken = records.seal(&parts);
        let bytes = records.waiting().to_vec();
        records.has_gone(bytes.len());
        (taken, bytes)
    }

    #[test]
    fn what_was_sealed_is_opened_however_it_is_cut_up() {
        let (mut one, mut other) = pair();
        let long = vec![7; LONGEST];
        for cut in [1, 3, 4, 5, 19, 20, 21, 30, 1000, 20_000] {
            let (taken, first) = sealed(&mut one, &[b"a ", b"piece"]);
            let (short, second) = sealed(&mut one, &[b"x", &long]);
            assert_eq!((taken, short), (7, LONGEST));
            let whole = [first, second].concat();
            assert!(!whole.windows(5).any(|bytes| bytes == b"piece"), "it can be read on the way");
            let opened: Vec<u8> =
                whole.chunks(cut).flat_map(|part| receive(&mut other, part).unwrap()).collect();
            assert_eq!((&opened[..8], opened.len()), (&b"a piecex"[..], 7 + LONGEST));
        }
        assert!(one.waiting().is_empty() && !other.has_opened());
        let at_rest = [&one.waiting, &other.beginning, &other.opened].map(Vec::capacity);
        assert!(at_rest.iter().all(|&bytes| bytes <= KEPT), "{at_rest:?}");
    }

    #[test]
    fn what_was_opened_waits_until_it_is_read() {
        let (mut one, mut other) = pair();
        let (_, bytes) = sealed(&mut one, &[b"abcdef"]);
        other.room()[..bytes.len()].copy_from_slice(&bytes);
        other.came(bytes.len()).unwrap();
        let mut place = [0; 4];
        assert_eq!((other.read(&mut place), &place, other.has_opened()), (4, b"abcd", true));
        assert_eq!((other.read(&mut place), other.has_opened()), (2, false));
    }

    #[test]
    fn a_flipped_bit_a_replay_and_another_order_are_found() {
        let (_, bytes) = sealed(&mut pair().0, &[b"a piece"]);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(receive(&mut pair().1, &wrong), Err(Forged), "bit {bit}");
        }
        let (mut one, mut other) = pair();
        let (first, second) = (sealed(&mut one, &[b"one"]).1, sealed(&mut one, &[b"two"]).1);
        assert_eq!(receive(&mut pair().1, &second), Err(Forged), "another order");
        assert_eq!(receive(&mut other, &first).as_deref(), Ok(&b"one"[..]));
        assert_eq!(receive(&mut other, &first), Err(Forged), "a replay");
        assert_eq!(receive(&mut pair().0, &first), Err(Forged), "what was sent comes back");
    }
}
