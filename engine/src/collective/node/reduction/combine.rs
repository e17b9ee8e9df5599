//! Combining operands that can be read here, in the order of a plan (`tree.rs`).

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::shape::MOST_MEMBERS;
use crate::collective::node::reduction::elements::{self, place, Elements};
use crate::collective::node::reduction::slices::{in_turn, slice};
use crate::collective::temporary::Temporary;
use crate::collective::tree::{Folded, Parts, Plan};
use crate::collective::Data;
use crate::datatype::{Basic, Datatype};
use crate::memory::copy::fetch;
use crate::reduce::Operator;
use crate::{datatype, Result};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that go up the tree at a time: one buffer for each level stays in the
/// nearest cache.
const PART: usize = 1024;
/// Longer payloads are read by each member from another place on.
const LONG: u64 = 4096;
/// Payloads of so many bytes, and of no more in all, are asked for before they are combined.
const FETCHED: (u64, u64) = (512, 16 << 10);
/// Levels of the tree of the largest communicator, and one for pairs.
const LEVELS: usize = MOST_MEMBERS.ilog2() as usize + 1;

/// Buffers for partial results, one for each level.
#[repr(align(128))]
struct Stage(MaybeUninit<[[u8; PART]; LEVELS]>);

/// Combines what all members have published into `target`, when all have arrived.
///
/// # Errors
/// `Truncate` where a member has published something else; `NoMem` for the buffers
/// of derived types and the program's functions.
#[inline]
pub(crate) fn published(me: &Member, epoch: u64, operator: &Arc<Operator>, target: &Data) -> Result<()> {
    let bytes = elements::bytes(target);
    for member in 0..me.size {
        me.agree(member, epoch, bytes)?;
    }
    published_part(me, epoch, (0, bytes as usize), Folded::new(me.size, 0), operator, target)
}

/// Combines the part of payloads of `bytes` bytes that begins at `offset` and is
/// as long as `target`, in the order of `plan`.
///
/// # Errors
/// `NoMem` as [`published`].
#[inline]
pub(crate) fn published_part(
    me: &Member,
    epoch: u64,
    (offset, bytes): (usize, usize),
    plan: impl Plan,
    operator: &Arc<Operator>,
    target: &Data,
) -> Result<()> {
    // SAFETY: `offset + at` is within the payload, which has `bytes` bytes.
    let payload = |member, at| unsafe { me.packed(member, epoch, bytes).add(offset + at).cast_const() };
    let items = Elements::of(&target.datatype);
    let length = elements::bytes(target);
    if length <= LONG {
        if length >= FETCHED.0 && length * u64::from(me.size) <= FETCHED.1 {
            me.others().for_each(|member| fetch(payload(member, 0), length as usize));
        }
        if let Some(out) = place(target) {
            let tree = Tree::new(operator, &target.datatype, plan, payload);
            // SAFETY: all payloads are published and stay; the program lends the target.
            if unsafe { tree.combine_two(out, length as usize) } {
                return Ok(());
            }
        }
        // SAFETY: as above.
        return unsafe { combined(Some(0..length), plan, operator, target, payload) };
    }
    let first = slice(me.rank, me.size, length, items.bytes).start;
    // SAFETY: as above.
    unsafe { combined(in_turn(first, length), plan, operator, target, payload) }
}

/// Combines parts of what can be read at `payload` into the target, in the order of `plan`.
///
/// # Errors
/// `NoMem` as [`published`].
///
/// # Safety
/// Payloads as long as the target can be read; the target is lent by the program and
/// overlaps them only as [`Tree::combine`] allows.
#[inline]
pub(crate) unsafe fn combined(
    parts: impl IntoIterator<Item = Range<u64>>,
    plan: impl Plan,
    operator: &Arc<Operator>,
    target: &Data,
    payload: impl Fn(u32, usize) -> *const u8,
) -> Result<()> {
    let (contiguous, out) = match place(target) {
        Some(out) => (None, out),
        None => {
            let contiguous = Contiguous::to_write(target)?;
            let out = contiguous.address;
            (Some(contiguous), out)
        }
    };
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let (begin, length) = (part.start as usize, (part.end - part.start) as usize);
        let tree = Tree::new(operator, &target.datatype, plan, |member, at| payload(member, begin + at));
        // SAFETY: by the caller, where the bytes of the items of the target lie; or the
        // copy of it is ours and as long.
        unsafe { tree.combine(out.wrapping_add(begin), length, &mut Buffers::default())? };
    }
    if let Some(contiguous) = contiguous {
        contiguous.finish(target);
    }
    Ok(())
}

/// A combination of operands. `operand` says where the items of a rank lie, as
/// bytes, from some byte on.
pub(crate) struct Tree<'a, Order, Operand> {
    operator: &'a Operator,
    datatype: &'a Arc<Datatype>,
    items: Elements,
    plan: Order,
    operand: Operand,
}

impl<'a, Order: Plan, Operand: Fn(u32, usize) -> *const u8> Tree<'a, Order, Operand> {
    /// In the order of `plan`.
    #[inline]
    pub fn new(operator: &'a Operator, datatype: &'a Arc<Datatype>, plan: Order, operand: Operand) -> Self {
        Tree { operator, datatype, items: Elements::of(datatype), plan, operand }
    }

    /// Combines `bytes` bytes of each operand, whole items. The program's functions
    /// are called here, so no lock may be held.
    ///
    /// # Errors
    /// `NoMem` for buffers.
    ///
    /// # Safety
    /// All operands can be read; `out` has room and overlaps none of them, except
    /// that it may be one of two.
    #[inline]
    pub unsafe fn combine(&self, out: *mut u8, bytes: usize, buffers: &mut Buffers) -> Result<()> {
        // SAFETY: passed on.
        if unsafe { self.combine_two(out, bytes) } {
            return Ok(());
        }
        // SAFETY: passed on.
        unsafe { self.combine_many(out, bytes, buffers) }
    }

    /// As [`Tree::combine`], of any number of operands. Apart, for its buffers are large.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn combine_many(&self, out: *mut u8, bytes: usize, buffers: &mut Buffers) -> Result<()> {
        let item = self.items.bytes as usize;
        if let Some(exact) = self.operator.exact(self.datatype) {
            let mut operands = Vec::new();
            self.leaves(self.plan.top(), &mut operands);
            // SAFETY: by the caller.
            unsafe { exact.sum(&operands, out, bytes / item) };
            return Ok(());
        }
        if self.operator.is_user() || self.items.as_they_lie.is_none() || item > PART {
            // SAFETY: passed on.
            return unsafe { self.buffered(out, bytes / item, buffers) };
        }
        let mut stage = Stage(MaybeUninit::uninit());
        let part = PART / item * item;
        let mut from = 0;
        while from < bytes {
            let count = part.min(bytes - from) / item;
            // SAFETY: `count` items begin at `from` in every operand and in `out`.
            unsafe {
                let to = out.add(from);
                let found = self.subtree(self.plan.top(), (from, count), to, &mut stage, 0);
                if found != to.cast_const() {
                    std::ptr::copy_nonoverlapping(found, to, count * item);
                }
            }
            from += count * item;
        }
        Ok(())
    }

    /// Combines the operands if they are two and an operator of MPI's own takes them where
    /// they lie; says whether it has.
    ///
    /// # Safety
    /// As [`Tree::combine`].
    #[inline]
    unsafe fn combine_two(&self, out: *mut u8, bytes: usize) -> bool {
        let Parts::Both(left, right) = self.plan.parts(self.plan.top()) else { return false };
        let (Parts::Rank(left), Parts::Rank(right)) = (self.plan.parts(left), self.plan.parts(right)) else {
            return false;
        };
        let item = self.items.bytes as usize;
        let plain = self.items.as_they_lie.is_some() && !self.operator.is_user() && item <= PART;
        if !plain || self.operator.exact(self.datatype).is_some() {
            return false;
        }
        // SAFETY: by the caller.
        unsafe { self.pair((self.operand)(left, 0), (self.operand)(right, 0), out, bytes / item) };
        true
    }

    /// All operands of a combination.
    #[cold]
    fn leaves(&self, node: Order::Node, operands: &mut Vec<*const u8>) {
        match self.plan.parts(node) {
            Parts::Rank(rank) => operands.push((self.operand)(rank, 0)),
            Parts::Both(left, right) => {
                [left, right].map(|part| self.leaves(part, operands)).into_iter().collect()
            }
        }
    }

    /// # Safety
    /// As [`Operator::combine`] for `count` items.
    #[inline]
    unsafe fn pair(&self, left: *const u8, right: *const u8, out: *mut u8, count: usize) {
        // SAFETY: passed on.
        unsafe { self.operator.combine(left, right, out, count as u64, self.datatype) }
    }

    /// One combination, into `out` unless it is only one rank; says where the
    /// result is.
    ///
    /// # Safety
    /// `from` and `count` must be within the operands; `out` must have room and
    /// overlap neither operands nor the buffers from `level` on.
    unsafe fn subtree(
        &self,
        node: Order::Node,
        (from, count): (usize, usize),
        out: *mut u8,
        stage: &mut Stage,
        level: usize,
    ) -> *const u8 {
        let (left, right) = match self.plan.parts(node) {
            Parts::Rank(rank) => return (self.operand)(rank, from),
            Parts::Both(left, right) => (left, right),
        };
        debug_assert!(level < LEVELS);
        let other = stage.0.as_mut_ptr().cast::<u8>().wrapping_add(level * PART);
        // SAFETY: two distinct buffers of PART bytes at least, levels beyond
        // `level` are free; the results lie there or in operands.
        unsafe {
            let left = self.subtree(left, (from, count), out, stage, level + 1);
            let right = self.subtree(right, (from, count), other, stage, level + 1);
            self.pair(left, right, out, count);
        }
        out
    }

    /// Any operator on any type: the right one of two operands is overwritten, in
    /// a buffer of the type's layout.
    ///
    /// # Safety
    /// As [`Tree::combine`].
    unsafe fn buffered(&self, out: *mut u8, count: usize, buffers: &mut Buffers) -> Result<()> {
        let count = count as u64;
        let result = self.owned(self.plan.top(), count, buffers)?;
        // SAFETY: the buffer holds `count` items, `out` has room for their bytes.
        unsafe { store(&self.items, &result.1, count * self.items.bytes, out) };
        buffers.free.push(result);
        Ok(())
    }

    /// One combination in a buffer.
    fn owned(&self, node: Order::Node, count: u64, buffers: &mut Buffers) -> Result<Buffer> {
        let (left, right) = match self.plan.parts(node) {
            Parts::Rank(rank) => return self.load(rank, count, buffers),
            Parts::Both(left, right) => (left, right),
        };
        // A function of the program reads its left operand only.
        let there = match (self.plan.parts(left), self.items.as_they_lie) {
            (Parts::Rank(rank), Some(offset)) => {
                Some((self.operand)(rank, 0).wrapping_offset(-offset as isize))
            }
            _ => None,
        };
        let left = there.is_none().then(|| self.owned(left, count, buffers)).transpose()?;
        let right = self.owned(right, count, buffers)?;
        let input = left.as_ref().map_or(std::ptr::null(), |left| left.1.address.cast_const());
        // SAFETY: an operand, or a buffer of ours, and another buffer of ours, of
        // the layout that the operator expects.
        unsafe { self.operator.apply(there.unwrap_or(input), right.1.address, count, self.datatype) };
        buffers.free.extend(left);
        Ok(right)
    }

    /// What a rank contributes, in a buffer.
    fn load(&self, rank: u32, count: u64, buffers: &mut Buffers) -> Result<Buffer> {
        let buffer = match buffers.free.pop() {
            Some(buffer) if buffer.1.count >= count => buffer,
            _ => Temporary::new(count, self.datatype)?,
        };
        let from = (self.operand)(rank, 0);
        // SAFETY: the operand has so many bytes, the buffer room for them.
        unsafe { load(&self.items, from, count * self.items.bytes, &buffer.1) };
        Ok(buffer)
    }
}

/// Lays `bytes` bytes of items out in a buffer of their type.
///
/// # Safety
/// `from` must have so many bytes, and the buffer room for their items.
pub(crate) unsafe fn load(items: &Elements, from: *const u8, bytes: u64, to: &Data) {
    let packed: &Datatype = Datatype::shared(Basic::Packed);
    // SAFETY: by the caller.
    unsafe {
        match items.as_they_lie {
            Some(offset) => {
                let to = to.address.wrapping_offset(offset as isize);
                std::ptr::copy_nonoverlapping(from, to, bytes as usize);
            }
            None => {
                datatype::copy((packed, from, bytes), (&to.datatype, to.address, to.count));
            }
        }
    }
}

/// The other way: `bytes` bytes of the items of a buffer.
///
/// # Safety
/// The buffer must hold so many items, and `to` have room for their bytes.
pub(crate) unsafe fn store(items: &Elements, from: &Data, bytes: u64, to: *mut u8) {
    let packed: &Datatype = Datatype::shared(Basic::Packed);
    // SAFETY: by the caller.
    unsafe {
        match items.as_they_lie {
            Some(offset) => {
                let from = from.address.wrapping_offset(offset as isize);
                std::ptr::copy_nonoverlapping(from, to, bytes as usize);
            }
            None => {
                datatype::copy((&from.datatype, from.address.cast_const(), from.count), (packed, to, bytes));
            }
        }
    }
}

/// Buffers that were used and can be used again, for items of one type.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Vec<Buffer>,
}

/// Memory and the items in it.
type Buffer = (Temporary, Data);
