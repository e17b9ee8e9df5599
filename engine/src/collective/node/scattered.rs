//! Reduce_scatter over a block: each member combines the part of the operands that
//! is its own.

use super::begun::{begin_reduction, Begun, Lending};
use super::combine::published_part;
use super::helped::reduction::Reduction;
use super::helped::{self, share_out};
use super::items::{operand, Items};
use super::large::over;
use super::reach::Reach;
use super::seat::{Seat, Wait};
use super::share::{Shares, Then};
use super::whole::Whole;
use crate::collective::reduce_scatter::Counts;
use crate::collective::tree::Folded;
use crate::collective::Data;
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// A reduce_scatter of one member, in items.
pub(super) struct Scattered<'a> {
    in_place: bool,
    whole: Data,
    /// Where my part goes, and the first item of it.
    mine: Data,
    first: u64,
    operator: &'a Arc<Operator>,
}

/// How many bytes all parts have together.
pub(super) fn total(seat: &Seat, receive: &Data, counts: &Counts) -> u64 {
    counts.total(receive, seat.size).saturating_mul(Items::of(&receive.datatype).bytes)
}

impl<'a> Scattered<'a> {
    pub fn new(
        seat: &Seat,
        send: Option<&Data>,
        receive: &Data,
        counts: &Counts,
        operator: &'a Arc<Operator>,
    ) -> Self {
        let whole = Data { count: counts.total(receive, seat.size), ..send.unwrap_or(receive).clone() };
        let (first, count) = counts.part(receive, seat.rank);
        Scattered { in_place: send.is_none(), whole, mine: receive.items(0, count), first, operator }
    }

    /// With short payload.
    pub async fn run(&self, seat: &Seat, wait: &impl Wait) -> Result<()> {
        let epoch = seat.begin();
        seat.room(epoch, wait).await?;
        seat.publish(epoch, &operand(&self.whole));
        if self.mine.count == 0 {
            return Ok(());
        }
        seat.all(epoch, wait).await?;
        let item = Items::of(&self.whole.datatype).bytes;
        let bytes = self.whole.count * item;
        (0..seat.size).try_for_each(|member| seat.agree(member, epoch, bytes))?;
        let part = ((self.first * item) as usize, bytes as usize);
        published_part(seat, epoch, part, Folded::new(seat.size, 0), self.operator, &self.mine)
    }

    /// Straight between the buffers of the program.
    pub async fn run_large(&self, seat: &Seat, by: &(impl Wait + Reach)) -> Result<()> {
        let mine = operand(&self.mine);
        let is_helped = helped::wants(seat);
        let out = match (is_helped, self.in_place) {
            (true, _) => None,
            // The others still read what lies where it goes.
            (false, true) => Some(Whole::empty(&mine)?),
            (false, false) => Some(Whole::to_write(&mine)?),
        };
        let lending = if self.in_place { Lending::Copy } else { Lending::Whole };
        let result = is_helped.then_some((&self.mine, lending));
        let mut lent = begin_reduction(seat, &self.whole, result, by).await?;
        seat.all(lent.epoch, by).await?;
        if let (Some(result), Some(shares)) = (lent.result(), self.shares(seat, &lent).scattered()) {
            let done = share_out(seat, lent.epoch, &Reduction::scattered(&shares, result), by).await;
            lent.finish(done.is_ok(), &self.mine);
            return done;
        }
        // Where members do not agree, each for itself.
        let Some(out) = out.or(lent.out.take()) else { unreachable!("one of the two is there") };
        let first = self.first * Items::of(&self.whole.datatype).bytes;
        let base = out.address.wrapping_sub(first as usize);
        let part = std::iter::once(first..first + out.bytes);
        // Also who gets nothing hears of it.
        let agreed = lent.agree(seat);
        let reduced = agreed.and_then(|()| self.shares(seat, &lent).reduce(part, Some(base), Then::Kept, by));
        over(seat, lent.epoch, &mut lent.operand, by).await?;
        if reduced.is_ok() {
            out.finish(&mine);
        }
        reduced
    }

    fn shares<'s>(&'s self, seat: &'s Seat, lent: &'s Begun) -> Shares<'s> {
        Shares::new(seat, lent, self.operator, &self.whole.datatype)
    }
}
