//! A large reduction: every member works on a share of it.

use super::combine::Tree;
use super::large::Piece;
use super::reach::Reach;
use super::seat::{Copied, Seat};
use crate::collective::temporary::Temporary;
use crate::collective::Data;
use crate::datatype::Datatype;
use crate::reduce::Operator;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of every operand that are reduced at a time, so that they and the
/// result stay in a cache near by.
const PIECE: u64 = 32 << 10;
/// Shares begin at multiples of this: a cache line, and whole items.
const GRAIN: u64 = 64;

/// An allreduce in which a member has to read no more than this is done whole by
/// every member.
const WHOLE: u64 = 64 << 10;

/// Where the share of member `rank` of `size` lies in `bytes` bytes.
pub(super) fn share(rank: u32, size: u32, bytes: u64) -> Range<u64> {
    let each = bytes.div_ceil(u64::from(size)).next_multiple_of(GRAIN);
    let at = |rank: u32| (u64::from(rank) * each).min(bytes);
    at(rank)..at(rank + 1)
}

/// A reduction whose operands all members have lent.
pub(super) struct Shares<'a> {
    pub seat: &'a Seat,
    pub epoch: u64,
    pub operator: &'a Arc<Operator>,
    pub datatype: &'a Arc<Datatype>,
    pub bytes: u64,
}

impl Shares<'_> {
    /// My share.
    pub fn mine(&self) -> Range<u64> {
        share(self.seat.rank, self.seat.size, self.bytes)
    }

    /// Whether every member had better reduce all there is: it reads as much as by
    /// shares if there are two, and there is one epoch less. Nobody may want its
    /// result in the place of its operand then, which the others still read.
    pub fn are_better_whole(&self) -> bool {
        let size = self.seat.size;
        let apart = |member| {
            let told = self.seat.told(member, self.epoch, self.bytes);
            // Where members do not agree all of them find that, and say no.
            told.is_ok_and(|lent| lent.send != lent.receive)
        };
        (size == 2 || u64::from(size - 1) * self.bytes <= WHOLE) && (0..size).all(apart)
    }

    /// Reduces a part of the operands into the result at `out`, if I have one; else
    /// into that of `root`.
    ///
    /// # Errors
    /// `NoMem`, `Truncate` where members do not agree, what reaching reports.
    pub fn reduce(
        &self,
        part: Range<u64>,
        operand: &Data,
        out: Option<*mut u8>,
        root: Option<u32>,
        by: &impl Reach,
    ) -> Result<()> {
        let (size, rank) = (self.seat.size, self.seat.rank);
        let mut lent = Vec::with_capacity(size as usize);
        for member in 0..size {
            lent.push(self.seat.told(member, self.epoch, self.bytes)?);
        }
        let own = operand.as_packed().map_or(operand.address, |packed| packed.address);
        let mut room = Staging::default();
        let mut operands = vec![std::ptr::null::<u8>(); size as usize];
        let mut at = part.start;
        while at < part.end {
            let bytes = PIECE.min(part.end - at);
            // The tree may keep what lies half way in the place of the result.
            let in_its_place = out == Some(own) && size > 2;
            for member in 0..size {
                let address = lent[member as usize].send + at;
                let found = match member == rank {
                    true => (!in_its_place).then(|| own.wrapping_add(at as usize).cast_const()),
                    false => by.direct(self.seat, member, address, bytes),
                };
                operands[member as usize] = match found {
                    Some(found) => found,
                    None => self.stage(&mut room, member, address, bytes, by)?,
                };
            }
            let target = match out {
                Some(out) => out.wrapping_add(at as usize),
                None => room.place(size)?,
            };
            let tree = Tree::new(self.operator, self.datatype, size, |member, from| {
                operands[member as usize].wrapping_add(from)
            });
            // SAFETY: every operand can be read for `bytes` bytes: its owner has
            // lent it and does not write in my share; the target is the
            // program's, in my share, or a place of ours, and overlaps none but
            // my own operand of two.
            unsafe { tree.combine(target, bytes as usize) };
            if let (None, Some(root)) = (out, root) {
                let result = lent[root as usize].receive + at;
                // SAFETY: the root has lent the result; my share of it is mine.
                unsafe { by.write(self.seat, root, result, target, bytes as usize)? };
            }
            at += bytes;
        }
        Ok(())
    }

    /// A copy of a piece of a member's operand.
    fn stage(
        &self,
        room: &mut Staging,
        member: u32,
        address: u64,
        bytes: u64,
        by: &impl Reach,
    ) -> Result<*const u8> {
        let place = room.place_of(member, self.seat.size)?;
        if member == self.seat.rank {
            // SAFETY: my own operand, which the program lends.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, place, bytes as usize) };
        } else {
            let mut copies = self.seat.chooser(Copied::Reduction);
            // SAFETY: the member has lent it until the last epoch; the place is ours.
            unsafe { by.read(self.seat, member, address, place, bytes as usize, &mut copies)? };
        }
        Ok(place.cast_const())
    }

    /// Takes the shares of the others from their results into mine.
    ///
    /// # Errors
    /// As [`Shares::reduce`].
    pub fn gather(&self, out: Option<Piece>, by: &impl Reach) -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        let (size, rank) = (self.seat.size, self.seat.rank);
        for member in (1..size).map(|step| (rank + step) % size) {
            let part = share(member, size, self.bytes);
            if part.is_empty() {
                continue;
            }
            let lent = self.seat.told(member, self.epoch, self.bytes)?;
            let target = out.address.wrapping_add(part.start as usize);
            let bytes = (part.end - part.start) as usize;
            let mut copies = self.seat.chooser(Copied::Reduction);
            // SAFETY: the member has written its share and only reads now; the
            // target is the program's, and nobody else touches it.
            unsafe { by.read(self.seat, member, lent.receive + part.start, target, bytes, &mut copies)? };
        }
        Ok(())
    }
}

/// Room for a piece of every operand and of the result, once it is needed.
#[derive(Default)]
struct Staging {
    memory: Option<(Temporary, Data)>,
}

impl Staging {
    fn place_of(&mut self, member: u32, size: u32) -> Result<*mut u8> {
        if self.memory.is_none() {
            self.memory = Some(Temporary::packed((u64::from(size) + 1) * PIECE)?);
        }
        let base = self.memory.as_ref().map_or(std::ptr::null_mut(), |memory| memory.1.address);
        Ok(base.wrapping_add((u64::from(member) * PIECE) as usize))
    }

    fn place(&mut self, size: u32) -> Result<*mut u8> {
        self.place_of(size, size)
    }
}
