//! Long reductions: a piece is reduced along the tree of `tree.rs` by whoever has claimed it, so the
//! bits are those that the owner of the part would have made.

use super::super::reach::Reach;
use super::super::share::{Shares, Then};
use super::{Pieces, Work, MOST_PIECES};
use crate::Result;
use std::ops::Range;

/// What the part of a member is.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// All of its own result.
    Whole,
    /// A share of the results of all.
    Put,
    /// A share of the result of this member.
    To(u32),
    /// Its result, which is a part of that of all.
    Scattered,
}

/// A reduction whose operands all members have lent.
pub(in super::super) struct Reduction<'a> {
    shares: &'a Shares<'a>,
    /// Where my result begins, if I get one.
    out: Option<*mut u8>,
    way: Way,
}

impl<'a> Reduction<'a> {
    /// An allreduce; `None` where members do not agree, which all of them find. Shares are put into
    /// the results of others, not read from there: what is to be read would be a second sort of work,
    /// which could begin only when all of the first is done.
    pub fn for_all(shares: &'a Shares<'a>, out: Option<*mut u8>) -> Option<Self> {
        let way = if shares.are_better_whole() { Way::Whole } else { Way::Put };
        shares.are_agreed().then_some(Reduction { shares, out, way })
    }

    /// A reduce; `None` where members do not agree, which all of them find.
    pub fn for_one(shares: &'a Shares<'a>, out: Option<*mut u8>, root: u32) -> Option<Self> {
        shares.are_agreed().then_some(Reduction { shares, out, way: Way::To(root) })
    }

    /// A reduction whose result is [`Shares::scattered`].
    pub fn scattered(shares: &'a Shares<'a>, out: *mut u8) -> Self {
        Reduction { shares, out: Some(out), way: Way::Scattered }
    }

    fn part(&self, member: u32) -> (u64, Pieces) {
        let part = match self.way {
            Way::Whole => 0..self.shares.bytes,
            Way::Scattered => self.shares.part(member),
            Way::Put | Way::To(_) => self.shares.share(member),
        };
        (part.start, Pieces::of(part.end - part.start, self.shares.piece, MOST_PIECES))
    }

    /// Where some pieces of the whole lie. Each member begins at its share.
    fn in_turn(&self, member: u32, all: &Pieces, pieces: Range<u32>) -> [Range<u64>; 2] {
        let first = (self.shares.share(member).start / all.each) as u32;
        let (from, to, end) = (first + pieces.start, first + pieces.end, all.number);
        [from.min(end)..to.min(end), from.max(end) - end..to.max(end) - end].map(|pieces| all.range(pieces))
    }
}

impl Work for Reduction<'_> {
    fn pieces(&self, member: u32, _: &impl Reach) -> u32 {
        self.part(member).1.number
    }

    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()> {
        let (start, all) = self.part(member);
        let place = || {
            let range = all.range(pieces.clone());
            Some(start + range.start..start + range.end)
        };
        let (out, then) = match self.shares.is_mine(member) {
            true => (self.out, Then::Kept),
            false => (None, Then::To(member)),
        };
        match self.way {
            Way::Whole => self.shares.reduce(self.in_turn(member, &all, pieces), out, then, by),
            Way::Scattered => {
                let base = out.map(|out| out.wrapping_sub(start as usize));
                self.shares.reduce(place(), base, then, by)
            }
            Way::Put => self.shares.reduce(place(), self.out, Then::Put, by),
            Way::To(root) => self.shares.reduce(place(), self.out, Then::To(root), by),
        }
    }
}
