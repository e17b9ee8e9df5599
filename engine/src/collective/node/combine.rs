//! Combining what all members have published, along the tree of `tree.rs`.

use super::seat::Seat;
use crate::collective::temporary::Temporary;
use crate::collective::tree::Folded;
use crate::collective::Data;
use crate::datatype::{self, Basic, Datatype};
use crate::reduce::Operator;
use crate::Result;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Bytes that go up the tree at a time: one buffer for each level stays in the
/// nearest cache.
const PART: usize = 1024;
/// Levels of the tree of the largest communicator, and one for pairs.
const LEVELS: usize = super::block::MOST_MEMBERS.ilog2() as usize + 1;

/// Buffers for partial results, one for each level.
#[repr(align(128))]
struct Stage(MaybeUninit<[[u8; PART]; LEVELS]>);

/// One reduction of published payload.
pub(super) struct Combine<'a> {
    seat: &'a Seat,
    epoch: u64,
    operator: &'a Arc<Operator>,
    target: &'a Data,
    bytes: usize,
    tree: Folded,
}

impl<'a> Combine<'a> {
    /// Into `target`, when all members have arrived.
    ///
    /// # Errors
    /// `Truncate` where a member has published something else.
    #[inline]
    pub fn new(seat: &'a Seat, epoch: u64, operator: &'a Arc<Operator>, target: &'a Data) -> Result<Self> {
        let bytes = target.bytes();
        for member in 0..seat.size {
            seat.agree(member, epoch, bytes)?;
        }
        let tree = Folded::new(seat.size, 0);
        Ok(Combine { seat, epoch, operator, target, bytes: bytes as usize, tree })
    }

    /// Does it.
    ///
    /// # Errors
    /// `NoMem` for the buffers of derived types and the program's functions.
    #[inline]
    pub fn run(&self) -> Result<()> {
        let datatype = &self.target.datatype;
        let gapless = datatype.size() as i64 == datatype.extent();
        match datatype.dense(self.target.count) {
            Some((offset, _)) if gapless && !self.operator.is_user() => {
                let out = self.target.address.wrapping_offset(offset as isize);
                // SAFETY: the program lends the target; dense items lie there.
                unsafe { self.builtin(out) };
                Ok(())
            }
            _ => self.any(),
        }
    }

    /// Payload of a member from byte `from` on.
    #[inline]
    fn payload(&self, member: u32, from: usize) -> *const u8 {
        // SAFETY: `from` is within the payload, which has `bytes` bytes.
        unsafe { self.seat.packed(member, self.epoch, self.bytes).add(from).cast_const() }
    }

    /// One of MPI's own operators on items without gaps, straight from the slots.
    ///
    /// # Safety
    /// `out` must have room for the result.
    #[inline]
    unsafe fn builtin(&self, out: *mut u8) {
        let item = self.target.datatype.size() as usize;
        if self.seat.size == 2 {
            // SAFETY: both payloads are published and stay; `out` is the program's.
            unsafe { self.pair(self.payload(0, 0), self.payload(1, 0), out, self.bytes / item) };
            return;
        }
        let mut stage = Stage(MaybeUninit::uninit());
        let part = PART / item * item;
        let mut from = 0;
        while from < self.bytes {
            let count = part.min(self.bytes - from) / item;
            // SAFETY: `count` items begin at `from` in every payload and in `out`.
            unsafe { self.subtree((0, self.tree.seats()), (from, count), out.add(from), &mut stage, 0) };
            from += count * item;
        }
    }

    /// # Safety
    /// As [`Operator::combine`] for `count` items.
    #[inline]
    unsafe fn pair(&self, left: *const u8, right: *const u8, out: *mut u8, count: usize) {
        // SAFETY: passed on.
        unsafe { self.operator.combine(left, right, out, count as u64, &self.target.datatype) }
    }

    /// Combines `number` seats from `first` on, into `out` unless it is only one
    /// rank; says where the result is.
    ///
    /// # Safety
    /// `from` and `count` must be within the payload; `out` must have room and
    /// overlap neither payload nor the buffers from `level` on.
    unsafe fn subtree(
        &self,
        (first, number): (u32, u32),
        (from, count): (usize, usize),
        out: *mut u8,
        stage: &mut Stage,
        level: usize,
    ) -> *const u8 {
        if number > 1 {
            let half = number / 2;
            let other = stage.0.as_mut_ptr().cast::<u8>().wrapping_add(level * PART);
            // SAFETY: two distinct buffers of PART bytes at least, levels beyond
            // `level` are free; the results lie there or in payload.
            unsafe {
                let left = self.subtree((first, half), (from, count), out, stage, level + 1);
                let right = self.subtree((first + half, half), (from, count), other, stage, level + 1);
                self.pair(left, right, out, count);
            }
            return out;
        }
        match self.tree.ranks(first) {
            (rank, 1) => self.payload(rank, from),
            (rank, _) => {
                // SAFETY: both payloads are published; `out` by the caller.
                unsafe { self.pair(self.payload(rank, from), self.payload(rank + 1, from), out, count) };
                out
            }
        }
    }

    /// Any operator on any type, in buffers of the type's layout.
    fn any(&self) -> Result<()> {
        let mut free = Vec::new();
        let result = self.buffered((0, self.tree.seats()), &mut free)?;
        // SAFETY: the program lends the target; the buffer is ours.
        unsafe { crate::collective::schedule::copy(&result.1, self.target) };
        Ok(())
    }

    /// Combines `number` seats from `first` on in a buffer.
    fn buffered(&self, (first, number): (u32, u32), free: &mut Vec<Buffer>) -> Result<Buffer> {
        let (left, right) = match self.tree.ranks(first) {
            _ if number > 1 => {
                let half = number / 2;
                (self.buffered((first, half), free)?, self.buffered((first + half, half), free)?)
            }
            (rank, 1) => return self.load(rank, free),
            (rank, _) => (self.load(rank, free)?, self.load(rank + 1, free)?),
        };
        let (input, inout) = (&left.1, &right.1);
        // SAFETY: two buffers of ours, of the layout that the operator expects.
        unsafe {
            self.operator.apply(input.address, inout.address, inout.count, &inout.datatype);
        }
        free.push(left);
        Ok(right)
    }

    /// What a member has published, in a buffer.
    fn load(&self, member: u32, free: &mut Vec<Buffer>) -> Result<Buffer> {
        let buffer = match free.pop() {
            Some(buffer) => buffer,
            None => Temporary::new(self.target.count, &self.target.datatype)?,
        };
        let to = &buffer.1;
        let packed: &Datatype = &Datatype::basic(Basic::Packed);
        let bytes = self.bytes as u64;
        // SAFETY: the payload has `bytes` bytes, the buffer room for them.
        unsafe {
            datatype::copy((packed, self.payload(member, 0), bytes), (&to.datatype, to.address, to.count))
        };
        Ok(buffer)
    }
}

/// Memory and the items in it.
type Buffer = (Temporary, Data);
