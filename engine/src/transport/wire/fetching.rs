//! Fetching memory of peers, and letting them fetch ([`super::registered`]): long messages go so, straight from the memory
//! of one program into that of another.
//!
//! Shared memory of a peer that is nearby is read at once ([`super::nearby`]).
//!
//! A rank asks for a range of memory that has been registered for it. The peer answers with frames of data, which
//! take turns with its other frames. Neither question nor answer is numbered: when a connection has broken, the rank
//! asks anew for what it does not have.

use super::link::{Link, State};
use super::registered::Serving;
use super::Wire;
use crate::transport::network::framing::{Head, Sort, ASK_BYTES, HEAD_BYTES};
use crate::transport::network::kept_payload;
use crate::transport::{AccessDescriptor, MemoryKind, RemoteMemory, Told};
use crate::{JobRank, Result};
use std::collections::{HashMap, VecDeque};

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

    /// Nothing more comes over a link.
    pub fn drop_those_over(&mut self, link: usize) {
        self.by_number.retain(|_, fetch| fetch.link != link);
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
            self.keep_own(Head::bare(Sort::Packet, kind, header), kept_payload::copy(&[]));
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
        self.lend_to(peer, address, bytes);
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
        memory.check_fetch(pieces)?;
        // SAFETY: by the caller.
        if unsafe { self.has_read(index, memory, pieces) } {
            self.keep_own(Head::bare(Sort::Packet, told.kind, told.header), kept_payload::copy(&[]));
            return Ok(());
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

    fn forget_fetches(&mut self, peer: JobRank, is_meant: &dyn Fn(&Told) -> bool) {
        let Some(index) = self.by_rank.get(&peer).map(|&index| index as usize) else { return };
        let before = self.fetches.by_number.len();
        self.fetches.by_number.retain(|_, fetch| fetch.link != index || !is_meant(&fetch.told));
        // Some of it may be on its way, and nothing can be taken back: the peer begins anew with what is left.
        if self.fetches.by_number.len() < before && matches!(self.links[index].state, State::Up(_)) {
            self.is_broken(index);
        }
    }
}
