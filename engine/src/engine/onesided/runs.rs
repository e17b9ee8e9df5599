//! Pieces of a place in chunks, these in runs, and where their data lie at the origin.

use crate::collective::Data;
use crate::onesided::{Scattered, Target};
use std::ops::Range;
use std::ptr;

/// Pieces that are looked for at a time.
pub(super) const PIECES: usize = 512;

/// Pieces of a place in the order of sending: addresses and lengths. Their data lie one behind the other at the origin.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    /// Where the region begins.
    pub base: u64,
    pub pieces: &'a [(usize, usize)],
    pub bytes: u64,
}

impl<'a> Chunk<'a> {
    /// Runs of pieces of one length, and how many bytes of the chunk come before each.
    pub fn runs(self) -> impl Iterator<Item = (usize, Run<'a>)> {
        let mut done = 0;
        self.pieces.chunk_by(|one, next| one.1 == next.1).map(move |pieces| {
            let (before, run) = (done, Run { base: self.base, pieces });
            done += run.bytes() as usize;
            (before, run)
        })
    }

    /// The offsets in the region between which all pieces lie.
    pub fn span(self) -> Range<u64> {
        let first = self.pieces.iter().map(|piece| piece.0).min().unwrap_or(0);
        let end = self.pieces.iter().map(|piece| piece.0 + piece.1).max().unwrap_or(first);
        first as u64 - self.base..end as u64 - self.base
    }

    /// The pieces with how many bytes of the chunk come before each.
    pub fn each(self) -> impl Iterator<Item = (usize, (usize, usize))> + 'a {
        let mut done = 0;
        self.pieces.iter().map(move |&piece| {
            done += piece.1;
            (done - piece.1, piece)
        })
    }
}

/// Pieces of one length.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    /// Where the region begins.
    pub base: u64,
    /// Addresses and lengths.
    pub pieces: &'a [(usize, usize)],
}

impl Run<'_> {
    pub fn length(self) -> u64 {
        self.pieces[0].1 as u64
    }

    pub fn bytes(self) -> u64 {
        self.length() * self.pieces.len() as u64
    }

    /// The offset of the piece in the region, and its length, if there is only one.
    pub fn one(self) -> Option<(u64, u64)> {
        match *self.pieces {
            [(address, length)] => Some((address as u64 - self.base, length as u64)),
            _ => None,
        }
    }

    /// The pieces, which lie here one behind the other.
    pub fn with<T>(self, local: *mut u8, work: impl FnOnce(&Scattered) -> T) -> T {
        let bytes = self.length();
        let here: Vec<_> =
            (0..self.pieces.len()).map(|index| local.wrapping_add(index * bytes as usize)).collect();
        let there: Vec<_> = self.pieces.iter().map(|&(address, _)| address as *mut u8).collect();
        work(&Scattered { here: &here, there: &there, bytes })
    }
}

/// Where the data lie that belong to those of a target, if they need not be copied aside.
#[derive(Clone, Copy)]
pub(super) enum Counterpart {
    /// There are none.
    Nothing,
    /// In one piece, from here on.
    Dense(*mut u8),
    /// As the target's do; here is item 0.
    Alike(*mut u8),
}

impl Counterpart {
    pub fn of(data: &Data, target: &Target) -> Option<Counterpart> {
        match data.dense() {
            Some((address, _)) => Some(Counterpart::Dense(address)),
            None => ptr::eq(&**data.datatype, &**target.datatype).then_some(Counterpart::Alike(data.address)),
        }
    }

    /// Those of a block that lies so many bytes behind item 0 of the target, after `done` bytes of its data.
    pub fn at(self, behind: usize, done: usize) -> *mut u8 {
        match self {
            Counterpart::Nothing => ptr::null_mut(),
            Counterpart::Dense(address) => address.wrapping_add(done),
            Counterpart::Alike(address) => address.wrapping_add(behind),
        }
    }
}

/// Where data lie in one piece: where they are, or copied aside.
pub(super) struct Stage {
    dense: Option<*mut u8>,
    room: Vec<u8>,
}

impl Stage {
    pub fn of(data: &Data) -> Stage {
        Stage { dense: data.dense().map(|(address, _)| address), room: Vec::new() }
    }

    /// Room for bytes from `offset` on.
    pub fn room(&mut self, offset: u64, length: u64) -> *mut u8 {
        match self.dense {
            Some(address) => address.wrapping_add(offset as usize),
            None => {
                self.room.resize(length as usize, 0);
                self.room.as_mut_ptr()
            }
        }
    }

    /// The same with the data in it.
    ///
    /// # Safety
    /// The data can be read.
    pub unsafe fn fill(&mut self, data: &Data, offset: u64, length: u64) -> *const u8 {
        let room = self.room(offset, length);
        if self.dense.is_none() {
            // SAFETY: by the caller.
            unsafe { data.datatype.pack(data.address, data.count, offset, &mut self.room) };
        }
        room
    }

    /// Whether data are copied aside.
    pub fn is_aside(&self) -> bool {
        self.dense.is_none()
    }

    /// What is in the room now goes where it belongs.
    ///
    /// # Safety
    /// The data can be written.
    pub unsafe fn empty(&mut self, data: &Data, offset: u64) {
        if self.dense.is_none() {
            // SAFETY: by the caller.
            unsafe { data.datatype.unpack(data.address, data.count, offset, &self.room) };
        }
    }
}
