//! What a lane fetches from its peers, and what they may fetch from it. No call to the provider is made here.
//!
//! A fetch is made of reads of the provider's, so many at a time. Long pieces are read straight into their place. Short ones
//! are read together into a buffer and copied from there: each read costs a way over the network.

use super::domain::Memory;
use super::message_buffers::Context;
use crate::transport::network::framing::LONGEST;
use crate::transport::Told;
use std::collections::{HashMap, VecDeque};

/// Reads that are with the provider, at most, and the length of each.
const UNDER_WAY: usize = 16;
const LONGEST_READ: usize = 512 << 10;
/// Pieces of so many bytes on average are read straight into their place.
pub const STRAIGHT: u64 = 8 << 10;
/// What a lane fetches, and what peers may fetch from it.
#[derive(Debug, Default)]
pub struct Reads {
    /// Memory that peers may read, by its key.
    pub offered: HashMap<u64, Memory>,
    /// The number of the last fetch.
    pub last: u64,
    /// Fetches by their numbers.
    pub fetches: HashMap<u64, Fetch>,
    /// Fetches of which something has not been asked for.
    pub waiting: VecDeque<u64>,
    /// Reads that are with the provider, by the numbers of their contexts.
    pub under_way: Vec<Option<Part>>,
}

/// What is fetched.
#[derive(Debug)]
pub struct Fetch {
    /// Of which partner.
    pub partner: usize,
    /// Where the next byte to be asked for is.
    pub address: u64,
    /// The partner's key.
    pub key: u64,
    /// Bytes that have not been asked for.
    pub left: u64,
    /// Where it goes.
    pub pieces: Box<[(usize, usize)]>,
    /// The piece into which it goes, and where in it.
    pub cursor: (usize, usize),
    /// Reads go straight to their place.
    pub is_straight: bool,
    /// Reads that are with the provider.
    pub under_way: usize,
    /// What the rank is told in the end.
    pub told: Told,
    /// Why it has failed.
    pub error: Option<String>,
}

// SAFETY: the pieces belong to an operation of the program, which leaves them alone until it is complete, whichever of its
// threads drives this transport.
unsafe impl Send for Fetch {}

/// A read.
#[derive(Debug)]
pub struct Part {
    /// For the provider.
    pub context: Box<Context>,
    /// Of which fetch.
    pub fetch: u64,
    /// Its length.
    pub bytes: usize,
    /// Where it goes.
    pub to: To,
}

/// Where it goes.
#[derive(Debug)]
pub enum To {
    /// To its place, which the provider may want to know of.
    Place(#[allow(dead_code, reason = "kept until the read is complete")] Option<Memory>),
    /// Into a buffer, and from there to the pieces from here on.
    Buffer(usize, (usize, usize)),
}

impl Reads {
    /// Whether something has not been asked for.
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A number for one more read.
    pub fn free_number(&mut self) -> Option<usize> {
        let free = self.under_way.iter().position(Option::is_none);
        free.or_else(|| {
            (self.under_way.len() < UNDER_WAY).then(|| {
                self.under_way.push(None);
                self.under_way.len() - 1
            })
        })
    }
}

impl Fetch {
    /// Bytes of the next read.
    pub fn next_bytes(&self, longest: usize) -> usize {
        let most = self.left.min(longest as u64) as usize;
        match self.is_straight {
            true => most.min(self.pieces[self.cursor.0].1 - self.cursor.1).min(LONGEST_READ),
            false => most.min(LONGEST),
        }
    }

    /// So many bytes have been asked for.
    pub fn go_on(&mut self, bytes: usize) {
        self.address += bytes as u64;
        self.left -= bytes as u64;
        let mut left = bytes;
        while left > 0 {
            let taken = left.min(self.pieces[self.cursor.0].1 - self.cursor.1);
            self.cursor.1 += taken;
            left -= taken;
            if self.cursor.1 == self.pieces[self.cursor.0].1 {
                self.cursor = (self.cursor.0 + 1, 0);
            }
        }
    }

    /// Copies what has been read to the pieces from a place on.
    pub fn scatter(&self, (mut piece, mut offset): (usize, usize), mut from: &[u8]) {
        while !from.is_empty() {
            let (address, length) = self.pieces[piece];
            let (here, rest) = from.split_at(from.len().min(length - offset));
            // SAFETY: the piece is memory of the program's for these bytes, which nobody else uses now.
            unsafe { ((address + offset) as *mut u8).copy_from_nonoverlapping(here.as_ptr(), here.len()) };
            (piece, offset, from) = (piece + 1, 0, rest);
        }
    }

    /// Whether the rank can be told.
    pub fn is_over(&self) -> bool {
        self.under_way == 0 && (self.left == 0 || self.error.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pieces_are_read_together_and_long_ones_straight() {
        let mut memory = [vec![0u8; 10], vec![0; 3], vec![0; 20_000]];
        let pieces: Box<[_]> =
            memory.iter_mut().map(|piece| (piece.as_mut_ptr() as usize, piece.len())).collect();
        let told = Told { kind: 1, header: [0; 2] };
        let bytes = 20_013;
        let mut fetch = Fetch {
            partner: 0,
            address: 5,
            key: 1,
            left: bytes,
            pieces,
            cursor: (0, 0),
            is_straight: true,
            under_way: 0,
            told,
            error: None,
        };
        assert_eq!(fetch.next_bytes(usize::MAX), 10, "a piece");
        assert_eq!(fetch.next_bytes(7), 7, "no more than the provider takes");
        fetch.is_straight = false;
        assert_eq!(fetch.next_bytes(usize::MAX), bytes as usize, "all pieces");
        fetch.go_on(11);
        assert_eq!((fetch.cursor, fetch.left, fetch.address), ((1, 1), bytes - 11, 16));
        let from: Vec<u8> = (0..60).collect();
        fetch.scatter(fetch.cursor, &from);
        assert_eq!((&memory[1][..], &memory[2][..3], memory[2][58]), (&[0, 0, 1][..], &[2, 3, 4][..], 0));
        assert_eq!(memory[2][57], 59);
    }
}
