//! Long reductions: a piece is reduced along the tree of `tree.rs` by whoever has claimed it, so the
//! bits are those that the owner of the part would have made.

use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::claim::MOST_PIECES;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::divided::{DividedReduction, Then};
use crate::collective::node::work_sharing::work::{Pieces, Work};
use crate::Result;
use std::ops::Range;

/// What the part of a member is.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// All of its own result.
    Whole,
    /// A slice of the results of all.
    Put,
    /// A slice of the result of this member.
    To(u32),
    /// Its result, which is a part of that of all.
    Parts,
}

/// A reduction whose operands all members have lent.
pub(crate) struct ReductionWork<'a, Waits, Memory> {
    reduction: &'a DividedReduction<'a, Waits, Memory>,
    /// Where my result begins, if I get one.
    out: Option<*mut u8>,
    way: Way,
}

impl<'a, Waits: Wait, Memory: PeerMemory> ReductionWork<'a, Waits, Memory> {
    /// An allreduce; `None` where members do not agree, which all of them find. Slices are put into
    /// the results of others, not read from there: what is to be read would be a second sort of work,
    /// which could begin only when all of the first is done.
    pub fn for_all(reduction: &'a DividedReduction<'a, Waits, Memory>, out: Option<*mut u8>) -> Option<Self> {
        let way = if reduction.are_better_whole() { Way::Whole } else { Way::Put };
        reduction.are_agreed().then_some(ReductionWork { reduction, out, way })
    }

    /// A reduce; `None` where members do not agree, which all of them find.
    pub fn for_one(
        reduction: &'a DividedReduction<'a, Waits, Memory>,
        out: Option<*mut u8>,
        root: u32,
    ) -> Option<Self> {
        reduction.are_agreed().then_some(ReductionWork { reduction, out, way: Way::To(root) })
    }

    /// A reduction whose result is [`DividedReduction::in_parts`].
    pub fn in_parts(reduction: &'a DividedReduction<'a, Waits, Memory>, out: *mut u8) -> Self {
        ReductionWork { reduction, out: Some(out), way: Way::Parts }
    }

    fn part(&self, member: u32) -> (u64, Pieces) {
        let part = match self.way {
            Way::Whole => 0..self.reduction.bytes,
            Way::Parts => self.reduction.part(member),
            Way::Put | Way::To(_) => self.reduction.slice(member),
        };
        (part.start, Pieces::of(part.end - part.start, self.reduction.piece, MOST_PIECES))
    }

    /// Where some pieces of the whole lie. Each member begins at its slice.
    fn in_turn(&self, member: u32, all: &Pieces, pieces: Range<u32>) -> [Range<u64>; 2] {
        let first = (self.reduction.slice(member).start / all.each) as u32;
        let (from, to, end) = (first + pieces.start, first + pieces.end, all.number);
        [from.min(end)..to.min(end), from.max(end) - end..to.max(end) - end].map(|pieces| all.range(pieces))
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for ReductionWork<'_, Waits, Memory> {
    fn pieces(&self, member: u32) -> u32 {
        self.part(member).1.number
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        let (start, all) = self.part(member);
        let place = || {
            let range = all.range(pieces.clone());
            Some(start + range.start..start + range.end)
        };
        let (out, then) = match self.reduction.is_mine(member) {
            true => (self.out, Then::Kept),
            false => (None, Then::To(member)),
        };
        match self.way {
            Way::Whole => self.reduction.reduce(self.in_turn(member, &all, pieces), out, then),
            Way::Parts => {
                let base = out.map(|out| out.wrapping_sub(start as usize));
                self.reduction.reduce(place(), base, then)
            }
            Way::Put => self.reduction.reduce(place(), self.out, Then::Put),
            Way::To(root) => self.reduction.reduce(place(), self.out, Then::To(root)),
        }
    }
}
