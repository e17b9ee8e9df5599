//! Long reduces and allreduces.

use crate::collective::node::buffer::lending::over;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::divided::{DividedReduction, Then};
use crate::collective::node::reduction::elements;
use crate::collective::node::reduction::operands::{begin_reduction, Lending, Operands};
use crate::collective::node::reduction::slices::{in_turn, may_be_alone, may_be_whole};
use crate::collective::node::work_sharing::reduction::ReductionWork;
use crate::collective::node::work_sharing::work::share_out;
use crate::collective::{Data, Root};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// A combination of what all members have, to all.
///
/// # Errors
/// As `zero_copy::run`.
pub(crate) async fn allreduce(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: &Data,
    receive: &Data,
    operator: &Arc<Operator>,
) -> Result<()> {
    let shares_work = party.shares_work();
    // Nobody touches the result of another if each reduces the whole for itself.
    let is_whole = !shares_work && may_be_whole(party.size, elements::bytes(receive), operator);
    let lending = if is_whole { Lending::Not } else { Lending::Whole };
    let mut lent = begin_reduction(party, send, Some((receive, lending))).await?;
    party.wait_for_all(lent.epoch).await?;
    let reduction = DividedReduction::new(party, &lent, operator, &receive.datatype);
    let work = shares_work.then(|| ReductionWork::for_all(&reduction, lent.result())).flatten();
    if let Some(work) = work {
        let done = share_out(party, lent.epoch, &work).await;
        lent.finish(done.is_ok(), receive);
        return done;
    }
    if reduction.are_better_whole() {
        let parts = in_turn(reduction.mine().start, reduction.bytes);
        let reduced = reduction.reduce(parts, lent.result(), Then::Kept);
        over(party, lent.epoch, &mut lent.operand).await?;
        lent.finish(reduced.is_ok(), receive);
        return reduced;
    }
    let then = if reduction.are_better_put() { Then::Put } else { Then::Read };
    let mut done = reduction.reduce([reduction.mine()], lent.result(), then);
    party.meet().await?;
    if then == Then::Read {
        done = done.and_then(|()| reduction.gather());
        party.meet().await?;
    }
    lent.finish(done.is_ok(), receive);
    done
}

/// A combination of what all members have, to a root.
///
/// # Errors
/// As `zero_copy::run`.
pub(crate) async fn reduce(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    operator: &Arc<Operator>,
) -> Result<()> {
    let root = party.root_of(root);
    let Some(mine) = send.or(receive) else { return Ok(()) };
    let result = receive.filter(|_| root == party.rank);
    let shares_work = party.shares_work();
    let is_alone = !shares_work && may_be_alone(party.size, elements::bytes(mine), operator);
    let lending = match (is_alone, shares_work) {
        (true, _) => Lending::Not,
        (false, true) => Lending::Whole,
        (false, false) => Lending::ButEnds,
    };
    let mut lent = begin_reduction(party, mine, result.map(|result| (result, lending))).await?;
    if is_alone {
        return reduce_alone(party, &mut lent, (mine, result), operator).await;
    }
    party.wait_for_all(lent.epoch).await?;
    let reduction = DividedReduction::new(party, &lent, operator, &mine.datatype);
    let work = shares_work.then(|| ReductionWork::for_one(&reduction, lent.result(), root)).flatten();
    let reduced = match work {
        Some(work) => share_out(party, lent.epoch, &work).await,
        None => {
            let parts = reduction.mine_for(root);
            let reduced = parts.and_then(|parts| reduction.reduce(parts, lent.result(), Then::To(root)));
            party.meet().await?;
            reduced
        }
    };
    if let Some(result) = result {
        lent.finish(reduced.is_ok(), result);
    }
    reduced
}

/// A reduction of little, which the root does alone.
async fn reduce_alone(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    lent: &mut Operands,
    (mine, result): (&Data, Option<&Data>),
    operator: &Arc<Operator>,
) -> Result<()> {
    let Some(result) = result else {
        let last = party.arrive_at_next();
        return match lent.operand.retain(party.member) {
            true => Ok(()),
            false => party.wait_for_all(last).await,
        };
    };
    party.wait_for_all(lent.epoch).await?;
    let reduction = DividedReduction::new(party, lent, operator, &mine.datatype);
    let whole = 0..reduction.bytes;
    let reduced = reduction.reduce([whole], lent.result(), Then::Kept);
    party.arrive_at_next();
    lent.finish(reduced.is_ok(), result);
    reduced
}
