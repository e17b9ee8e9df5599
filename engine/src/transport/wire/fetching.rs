//! Fetching memory of peers, and letting them fetch: long messages go so, straight from the memory of one program into
//! that of another.
//!
//! A rank asks for a range of memory that has been registered for it. The peer answers with frames of data, which
//! take turns with its other frames. Neither question nor answer is numbered: when a connection has broken, the rank
//! asks anew for what it does not have.

use super::framing::{Head, Sort, HEAD_BYTES};
use super::link::{Link, State};
use super::Wire;
use crate::transport::{AccessDescriptor, MemoryKind, RemoteMemory, Told};
use crate::{Class, Error, JobRank, Result};
use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;

/// Bytes of data in a frame, at most: so long other frames wait.
pub const DATA_BYTES: usize = 256 << 10;
/// Of the payload of a question: its number, how many bytes are wanted, and how many have come before.
pub const ASK_BYTES: usize = 24;
/// Pieces that are received into at a time.
const PIECES: usize = 32;

/// What a rank is fetching, by the numbers of its questions.
#[derive(Debug, Default)]
pub struct Fetches {
    last: u64,
    by_number: HashMap<u64, Fetch>,
}

#[derive(Debug)]
struct Fetch {
    link: usize,
    memory: AccessDescriptor,
    /// Where it goes, but for what has come.
    pieces: VecDeque<(usize, usize)>,
    received: u64,
    told: Told,
}

// SAFETY: the pieces belong to an operation of the program, which leaves them alone until it is complete, whichever
// of its threads drives this transport.
unsafe impl Send for Fetch {}

impl Fetches {
    /// Where the next `most` bytes of a fetch go, as far as that can be said at once; `None` for one that there is not.
    pub fn places(&self, number: u64, most: usize) -> Option<Vec<libc::iovec>> {
        let mut left = most;
        let place = |&(address, bytes): &(usize, usize)| {
            let taken = bytes.min(left);
            left -= taken;
            libc::iovec { iov_base: address as *mut libc::c_void, iov_len: taken }
        };
        let pieces = self.by_number.get(&number)?.pieces.iter();
        Some(pieces.take(PIECES).map(place).filter(|place| place.iov_len > 0).collect())
    }

    /// So many bytes have come where [`Fetches::places`] has said. What is to be told if that was all.
    pub fn came(&mut self, number: u64, mut bytes: usize) -> Option<Told> {
        let fetch = self.by_number.get_mut(&number)?;
        fetch.received += bytes as u64;
        while let Some((address, length)) = fetch.pieces.front_mut() {
            if bytes < *length {
                (*address, *length) = (*address + bytes, *length - bytes);
                break;
            }
            bytes -= *length;
            fetch.pieces.pop_front();
        }
        if fetch.received < fetch.memory.bytes {
            return None;
        }
        self.by_number.remove(&number).map(|fetch| fetch.told)
    }

    /// Whether data for a fetch that begin here are due, and no more than there is room for.
    pub fn is_due(&self, number: u64, offset: u64, bytes: u32) -> bool {
        let due = |fetch: &Fetch| fetch.received == offset && offset + u64::from(bytes) <= fetch.memory.bytes;
        self.by_number.get(&number).is_some_and(due)
    }

    /// The questions for what is to come over a link, as frames.
    fn questions(&self, link: usize) -> Vec<u8> {
        let mut asked: Vec<_> = self.by_number.iter().filter(|(_, fetch)| fetch.link == link).collect();
        asked.sort_by_key(|(number, _)| **number);
        asked.into_iter().flat_map(|(number, fetch)| question(*number, fetch)).collect()
    }
}

fn question(number: u64, fetch: &Fetch) -> [u8; HEAD_BYTES + ASK_BYTES] {
    let address = fetch.memory.address + fetch.received;
    let head = Head::bare(Sort::Ask, 0, [fetch.memory.key, address]);
    let mut frame = [0; HEAD_BYTES + ASK_BYTES];
    frame[..HEAD_BYTES].copy_from_slice(&Head { bytes: ASK_BYTES as u32, ..head }.write());
    let words = [number, fetch.memory.bytes - fetch.received, fetch.received];
    for (place, word) in frame[HEAD_BYTES..].chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    frame
}

/// Memory that peers may fetch. A key is a place in the list, and how often it was given before.
#[derive(Debug, Default)]
pub struct Registered {
    list: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    times: u32,
    peer: JobRank,
    /// Not there: it is free.
    memory: Option<(u64, u64)>,
}

impl Registered {
    fn add(&mut self, peer: JobRank, address: u64, bytes: u64) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.list.push(Entry { times: 0, peer, memory: None });
            self.list.len() as u32 - 1
        });
        let entry = &mut self.list[place as usize];
        entry.times = entry.times.wrapping_add(1).max(1);
        (entry.peer, entry.memory) = (peer, Some((address, bytes)));
        u64::from(entry.times) << 32 | u64::from(place)
    }

    fn remove(&mut self, key: u64) {
        let place = key as u32;
        if let Some(entry) =
            self.list.get_mut(place as usize).filter(|entry| entry.times == (key >> 32) as u32)
        {
            if entry.memory.take().is_some() {
                self.free.push(place);
            }
        }
    }

    /// Whether a peer may fetch this range.
    fn has(&self, peer: JobRank, key: u64, address: u64, bytes: u64) -> bool {
        let entry = self.list.get(key as u32 as usize);
        let entry = entry.filter(|entry| entry.times == (key >> 32) as u32 && entry.peer == peer);
        let Some((start, length)) = entry.and_then(|entry| entry.memory) else { return false };
        address >= start && bytes <= length && address - start <= length - bytes
    }
}

/// What a peer has asked for and not got.
#[derive(Debug)]
pub struct Serving {
    number: u64,
    key: u64,
    address: u64,
    left: u64,
    offset: u64,
}

/// A frame of data that a connection is taking.
#[derive(Debug)]
pub struct Data {
    head: [u8; HEAD_BYTES],
    key: u64,
    address: u64,
    bytes: usize,
    taken: usize,
}

impl Serving {
    /// The next frame of it, and whether it is the last.
    pub fn next(&mut self, received: u16) -> (Data, bool) {
        let bytes = self.left.min(DATA_BYTES as u64);
        let head = Head::bare(Sort::Data, 0, [self.number, self.offset]);
        let head = Head { bytes: bytes as u32, received, ..head }.write();
        let data = Data { head, key: self.key, address: self.address, bytes: bytes as usize, taken: 0 };
        (self.address, self.left, self.offset) =
            (self.address + bytes, self.left - bytes, self.offset + bytes);
        (data, self.left == 0)
    }
}

impl Data {
    /// What the connection has not taken.
    pub fn parts(&self) -> [IoSlice<'_>; 2] {
        let head = &self.head[self.taken.min(HEAD_BYTES)..];
        let offset = self.taken.saturating_sub(HEAD_BYTES);
        let address = (self.address as usize + offset) as *const u8;
        // SAFETY: the program keeps the memory as long as it is registered, which it is while it is served.
        let data = unsafe { std::slice::from_raw_parts(address, self.bytes - offset) };
        [IoSlice::new(head), IoSlice::new(data)]
    }

    /// The connection has taken so many bytes; whether that was all.
    pub fn is_taken(&mut self, bytes: usize) -> bool {
        self.taken += bytes;
        self.taken == HEAD_BYTES + self.bytes
    }
}

impl Wire {
    /// A peer asks for memory.
    pub(super) fn is_asked(&mut self, index: usize, head: &Head, asked: &[u8]) {
        let word = |at: usize| u64::from_le_bytes(asked[at..at + 8].try_into().expect("eight bytes"));
        let ([key, address], number, left, offset) = (head.header, word(0), word(8), word(16));
        if !self.registered.has(self.links[index].peer, key, address, left) {
            // No rank of ours asks for what it was not given.
            return self.is_broken(index);
        }
        self.links[index].serving.push_back(Serving { number, key, address, left, offset });
        self.flush(index);
    }

    /// Takes the beginning of a frame of data, which lies in the intake.
    pub(super) fn take_data(&mut self, number: u64, place: usize, bytes: usize) {
        let mut taken = 0;
        while taken < bytes {
            let before = taken;
            for part in self.fetches.places(number, bytes - taken).unwrap_or_default() {
                let source = self.intake.at(place + taken);
                // SAFETY: the place is one for as many bytes of the program's, and they lie in the intake.
                unsafe { part.iov_base.cast::<u8>().copy_from_nonoverlapping(source, part.iov_len) };
                taken += part.iov_len;
            }
            self.data_came(number, taken - before);
            if taken == before {
                break;
            }
        }
    }

    /// Data have come where they belong.
    pub(super) fn data_came(&mut self, number: u64, bytes: usize) {
        if let Some(Told { kind, header }) = self.fetches.came(number, bytes) {
            self.keep_own(Head::bare(Sort::Packet, kind, header), super::intake::copy(&[]));
        }
    }

    /// Asks for all that is to come over a link, which has a new connection.
    pub(super) fn ask_again(&mut self, index: usize) {
        let questions = self.fetches.questions(index);
        if let Link { state: State::Up(connection), .. } = &mut self.links[index] {
            connection.urgent.extend(questions);
        }
    }
}

impl RemoteMemory for Wire {
    fn register(&mut self, peer: JobRank, address: *const u8, bytes: u64) -> AccessDescriptor {
        let key = self.registered.add(peer, address as u64, bytes);
        AccessDescriptor { address: address as u64, bytes, key, kind: MemoryKind::HOST }
    }

    fn unregister(&mut self, peer: JobRank, memory: AccessDescriptor) {
        self.registered.remove(memory.key);
        let index = self.link_to(peer);
        let link = &mut self.links[index];
        link.serving.retain(|serving| serving.key != memory.key);
        let is_taking = match &link.state {
            State::Up(connection) => connection.data.as_ref().is_some_and(|data| data.key == memory.key),
            _ => false,
        };
        if is_taking {
            // Half a frame cannot be taken back.
            self.is_broken(index);
        }
    }

    unsafe fn fetch(
        &mut self,
        peer: JobRank,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
        told: Told,
    ) -> Result<()> {
        let index = self.link_to(peer);
        if memory.key == 0 || pieces.iter().map(|piece| piece.1 as u64).sum::<u64>() != memory.bytes {
            return Err(Error::new(Class::Intern, "memory of a peer is fetched that was not registered"));
        }
        let pieces = pieces.iter().copied().filter(|piece| piece.1 > 0).collect();
        let fetch = Fetch { link: index, memory, pieces, received: 0, told };
        self.fetches.last += 1;
        let number = self.fetches.last;
        if let Link { state: State::Up(connection), .. } = &mut self.links[index] {
            // Else it is asked for when there is a connection.
            connection.urgent.extend(question(number, &fetch));
        }
        self.fetches.by_number.insert(number, fetch);
        self.go_on(index);
        Ok(())
    }
}
