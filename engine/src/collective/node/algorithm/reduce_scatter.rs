//! Reduce_scatter over a block: each member combines the part of the operands that
//! is its own.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::lending::over;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::combine::published_part;
use crate::collective::node::reduction::divided::{DividedReduction, Then};
use crate::collective::node::reduction::elements::{operand, Elements};
use crate::collective::node::reduction::operands::{begin_reduction, Lending, Operands};
use crate::collective::node::work_sharing::reduction::ReductionWork;
use crate::collective::node::work_sharing::work::share_out;
use crate::collective::tree::Folded;
use crate::collective::{Counts, Data};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// A reduce_scatter of one member, in items.
pub(crate) struct ReduceScatter<'a> {
    in_place: bool,
    whole: Data,
    /// Where my part goes, and the first item of it.
    mine: Data,
    first: u64,
    operator: &'a Arc<Operator>,
}

/// How many bytes all parts have together.
pub(crate) fn total(me: &Member, receive: &Data, counts: &Counts) -> u64 {
    counts.total(receive, me.size).saturating_mul(Elements::of(&receive.datatype).bytes)
}

impl<'a> ReduceScatter<'a> {
    pub fn new(
        me: &Member,
        send: Option<&Data>,
        receive: &Data,
        counts: &Counts,
        operator: &'a Arc<Operator>,
    ) -> Self {
        let whole = Data { count: counts.total(receive, me.size), ..send.unwrap_or(receive).clone() };
        let (first, count) = counts.part(receive, me.rank);
        ReduceScatter { in_place: send.is_none(), whole, mine: receive.items(0, count), first, operator }
    }

    /// With short payload.
    pub async fn run(&self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        let epoch = party.begin();
        let whole = operand(&self.whole);
        party.wait_until_free(epoch, whole.bytes()).await?;
        party.publish(epoch, &whole);
        if self.mine.count == 0 {
            return Ok(());
        }
        party.wait_for_all(epoch).await?;
        let item = Elements::of(&self.whole.datatype).bytes;
        let bytes = self.whole.count * item;
        (0..party.size).try_for_each(|member| party.agree(member, epoch, bytes))?;
        let part = ((self.first * item) as usize, bytes as usize);
        published_part(party.member, epoch, part, Folded::new(party.size, 0), self.operator, &self.mine)
    }

    /// Straight between the buffers of the program.
    pub async fn run_large(&self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        let mine = operand(&self.mine);
        let shares_work = party.shares_work();
        let out = match (shares_work, self.in_place) {
            (true, _) => None,
            // The others still read what lies where it goes.
            (false, true) => Some(Contiguous::empty(&mine)?),
            (false, false) => Some(Contiguous::to_write(&mine)?),
        };
        let lending = if self.in_place { Lending::Copy } else { Lending::Whole };
        let result = shares_work.then_some((&self.mine, lending));
        let mut lent = begin_reduction(party, &self.whole, result).await?;
        party.wait_for_all(lent.epoch).await?;
        if let (Some(result), Some(reduction)) = (lent.result(), self.reduction(party, &lent).in_parts()) {
            let done = share_out(party, lent.epoch, &ReductionWork::in_parts(&reduction, result)).await;
            lent.finish(done.is_ok(), &self.mine);
            return done;
        }
        // Where members do not agree, each for itself.
        let Some(out) = out.or(lent.out.take()) else { unreachable!("one of the two is there") };
        let first = self.first * Elements::of(&self.whole.datatype).bytes;
        let base = out.address.wrapping_sub(first as usize);
        let part = std::iter::once(first..first + out.bytes);
        // Also who gets nothing hears of it.
        let agreed = lent.agree(party.member);
        let reduced = agreed.and_then(|()| self.reduction(party, &lent).reduce(part, Some(base), Then::Kept));
        over(party, lent.epoch, &mut lent.operand).await?;
        if reduced.is_ok() {
            out.finish(&mine);
        }
        reduced
    }

    fn reduction<'s, Waits: Wait, Memory: PeerMemory>(
        &'s self,
        party: &'s Party<'s, Waits, Memory>,
        lent: &'s Operands,
    ) -> DividedReduction<'s, Waits, Memory> {
        DividedReduction::new(party, lent, self.operator, &self.whole.datatype)
    }
}
