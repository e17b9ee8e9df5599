//! What peers may fetch, and the data that they have asked for.

use crate::transport::network::framing::{Head, Sort, DATA_BYTES, HEAD_BYTES};
use crate::JobRank;
use std::io::IoSlice;

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
    /// Memory that a peer may fetch from now on. Its key.
    pub fn add(&mut self, peer: JobRank, address: u64, bytes: u64) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.list.push(Entry { times: 0, peer, memory: None });
            self.list.len() as u32 - 1
        });
        let entry = &mut self.list[place as usize];
        entry.times = entry.times.wrapping_add(1).max(1);
        (entry.peer, entry.memory) = (peer, Some((address, bytes)));
        u64::from(entry.times) << 32 | u64::from(place)
    }

    /// It may not any more.
    pub fn remove(&mut self, key: u64) {
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
    pub fn has(&self, peer: JobRank, key: u64, address: u64, bytes: u64) -> bool {
        let entry = self.list.get(key as u32 as usize);
        let entry = entry.filter(|entry| entry.times == (key >> 32) as u32 && entry.peer == peer);
        let Some((start, length)) = entry.and_then(|entry| entry.memory) else { return false };
        address >= start && bytes <= length && address - start <= length - bytes
    }
}

/// What a peer has asked for and not got.
#[derive(Debug)]
pub struct Serving {
    /// The number of the question.
    pub number: u64,
    /// Of the memory.
    pub key: u64,
    /// Where the next byte is.
    pub address: u64,
    /// Bytes to go.
    pub left: u64,
    /// Bytes that the peer has.
    pub offset: u64,
}

/// A frame of data that a connection is taking.
#[derive(Debug)]
pub struct Data {
    head: [u8; HEAD_BYTES],
    /// Of the memory.
    pub key: u64,
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
