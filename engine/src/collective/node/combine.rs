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
                let payload = |member, from| self.payload(member, from);
                let tree = Tree::new(self.operator, datatype, self.seat.size, payload);
                // SAFETY: all payloads are published and stay; the program lends
                // the target, and dense items lie there.
                unsafe { tree.combine(out, self.bytes) };
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

/// One of MPI's own operators on operands without gaps, along the tree. `operand`
/// says where the operand of a member lies from some byte on.
pub(super) struct Tree<'a, Operand> {
    operator: &'a Operator,
    datatype: &'a Datatype,
    size: u32,
    tree: Folded,
    operand: Operand,
}

impl<'a, Operand: Fn(u32, usize) -> *const u8> Tree<'a, Operand> {
    /// Of the operands of `size` members.
    #[inline]
    pub fn new(operator: &'a Operator, datatype: &'a Datatype, size: u32, operand: Operand) -> Self {
        Tree { operator, datatype, size, tree: Folded::new(size, 0), operand }
    }

    /// Combines `bytes` bytes of each operand.
    ///
    /// # Safety
    /// All operands can be read; `out` has room and overlaps none of them, except
    /// that it may be one of two.
    #[inline]
    pub unsafe fn combine(&self, out: *mut u8, bytes: usize) {
        let item = self.datatype.size() as usize;
        if self.size == 2 {
            // SAFETY: by the caller.
            unsafe { self.pair((self.operand)(0, 0), (self.operand)(1, 0), out, bytes / item) };
            return;
        }
        let mut stage = Stage(MaybeUninit::uninit());
        let part = PART / item * item;
        let mut from = 0;
        while from < bytes {
            let count = part.min(bytes - from) / item;
            // SAFETY: `count` items begin at `from` in every operand and in `out`.
            unsafe { self.subtree((0, self.tree.seats()), (from, count), out.add(from), &mut stage, 0) };
            from += count * item;
        }
    }

    /// # Safety
    /// As [`Operator::combine`] for `count` items.
    #[inline]
    unsafe fn pair(&self, left: *const u8, right: *const u8, out: *mut u8, count: usize) {
        // SAFETY: passed on.
        unsafe { self.operator.combine(left, right, out, count as u64, self.datatype) }
    }

    /// Combines `number` seats from `first` on, into `out` unless it is only one
    /// rank; says where the result is.
    ///
    /// # Safety
    /// `from` and `count` must be within the operands; `out` must have room and
    /// overlap neither operands nor the buffers from `level` on.
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
            // `level` are free; the results lie there or in operands.
            unsafe {
                let left = self.subtree((first, half), (from, count), out, stage, level + 1);
                let right = self.subtree((first + half, half), (from, count), other, stage, level + 1);
                self.pair(left, right, out, count);
            }
            return out;
        }
        let operand = &self.operand;
        match self.tree.ranks(first) {
            (rank, 1) => operand(rank, from),
            (rank, _) => {
                // SAFETY: both operands can be read; `out` by the caller.
                unsafe { self.pair(operand(rank, from), operand(rank + 1, from), out, count) };
                out
            }
        }
    }
}

/// Memory and the items in it.
type Buffer = (Temporary, Data);
