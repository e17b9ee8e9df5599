//! The operations, in their forms over a block.

use crate::collective::node::algorithm::pair;
use crate::collective::node::algorithm::pair::offer::{self, Offer, Offers};
use crate::collective::node::algorithm::reduce_scatter::{total, ReduceScatter};
use crate::collective::node::algorithm::scan::Scan;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::{at_once, Wait};
use crate::collective::node::reduction::combine;
use crate::collective::node::reduction::elements::{self, operand};
use crate::collective::{schedule, Data, Operation, Root};
use crate::reduce::Operator;
use crate::tuning::crossovers::{READ_BY_ALL, WHOLE};
use crate::{Error, Result};
use std::sync::Arc;

/// Whether an operation goes over the block: all members come to the same answer,
/// from what all of them know.
#[inline]
pub fn fits(me: &Member, operation: &Operation) -> bool {
    let bytes = |data: &Option<Data>, other: &Option<Data>| data.as_ref().or(other.as_ref()).map(Data::bytes);
    let total = match operation {
        Operation::Barrier => return true,
        Operation::Broadcast { data, .. } => data.bytes(),
        Operation::Reduce { send, receive, .. } => {
            send.as_ref().or(receive.as_ref()).map_or(0, elements::bytes)
        }
        Operation::Allreduce { receive, .. }
        | Operation::Scan { receive, .. }
        | Operation::Exscan { receive, .. } => elements::bytes(receive),
        Operation::ReduceScatter { receive, counts, .. } => total(me, receive, counts),
        Operation::Gather { send, receive, .. } => bytes(receive, send).unwrap_or(0),
        Operation::Scatter { send, receive, .. } => blocks(me, bytes(send, receive).unwrap_or(0)),
        Operation::Allgather { receive, .. } => receive.bytes(),
        Operation::Alltoall { receive, .. } => blocks(me, receive.bytes()),
        // Not all members know how much it is: see `irregular.rs`.
        Operation::Gatherv { .. }
        | Operation::Scatterv { .. }
        | Operation::Allgatherv { .. }
        | Operation::Alltoallw { .. }
        | Operation::Neighbours { .. } => 0,
    };
    total > 0
        && (total <= me.narrow()
            || total <= me.slot() && suits_wide(me, operation, total)
            || pair::applies(me, operation, total))
}

/// Whether payload goes over wide halves. They are of no use where one member would do all
/// the work, or everybody the work of all.
fn suits_wide(me: &Member, operation: &Operation, total: u64) -> bool {
    match operation {
        Operation::Gather { .. } => false,
        Operation::Broadcast { .. } | Operation::Allgather { .. } => !READ_BY_ALL.is_passed_by(total),
        Operation::Allreduce { .. } => !WHOLE.is_passed_by(total.saturating_mul(u64::from(me.size - 1))),
        _ => true,
    }
}

/// Bytes of a block for each member.
fn blocks(me: &Member, bytes: u64) -> u64 {
    bytes.saturating_mul(u64::from(me.size))
}

/// The form of an operation, as a future that `$run` drives.
macro_rules! form_of {
    ($party:ident, $operation:ident, $run:ident) => {
        match $operation {
            Operation::Barrier => $run!(barrier($party)),
            Operation::Broadcast { root, data } => $run!(broadcast($party, *root, data)),
            Operation::Reduce { root, send, receive, operator } => {
                $run!(reduce($party, *root, send.as_ref(), receive.as_ref(), operator))
            }
            Operation::Allreduce { send, receive, operator } => {
                let send = send.as_ref().unwrap_or(receive);
                match elements::bytes(receive) <= $party.slot() {
                    true => $run!(allreduce($party, send, receive, operator)),
                    false => $run!(pair::allreduce::allreduce($party, send, receive, operator)),
                }
            }
            Operation::ReduceScatter { send, receive, counts, operator } => {
                let part = ReduceScatter::new($party.member, send.as_ref(), receive, counts, operator);
                $run!(part.run($party))
            }
            Operation::Scan { send, receive, operator } => {
                $run!(Scan::new(send.as_ref(), receive, operator, false).run($party))
            }
            Operation::Exscan { send, receive, operator } => {
                $run!(Scan::new(send.as_ref(), receive, operator, true).run($party))
            }
            Operation::Gather { root, send, receive } => {
                $run!(gather($party, *root, send.as_ref(), receive.as_ref()))
            }
            Operation::Scatter { root, send, receive } => {
                $run!(scatter($party, *root, send.as_ref(), receive.as_ref()))
            }
            Operation::Allgather { send, receive }
                if pair::exchange::applies($party.member, receive.bytes()) =>
            {
                $run!(pair::exchange::run::<false>($party, send.as_ref(), receive))
            }
            Operation::Alltoall { send, receive }
                if pair::exchange::applies($party.member, blocks($party.member, receive.bytes())) =>
            {
                $run!(pair::exchange::run::<true>($party, send.as_ref(), receive))
            }
            Operation::Allgather { send, receive } => $run!(allgather($party, send.as_ref(), receive)),
            Operation::Alltoall { send, receive } => $run!(alltoall($party, send.as_ref(), receive)),
            _ => unreachable!("`fits` has said no"),
        }
    };
}

/// Runs an operation that [`fits`] and has been checked to its end.
///
/// # Errors
/// `NoMem` as in the message forms, `Truncate` where members do not agree, what
/// waiting reports.
pub fn run(party: &Party<'_, impl Wait, impl PeerMemory>, operation: &Operation) -> Result<()> {
    macro_rules! blocking {
        ($form:expr) => {
            at_once($form)
        };
    }
    form_of!(party, operation, blocking)
}

/// The same beside others.
///
/// # Errors
/// As [`run`].
pub async fn run_nonblocking(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    operation: &Operation,
) -> Result<()> {
    macro_rules! waiting {
        ($form:expr) => {
            $form.await
        };
    }
    form_of!(party, operation, waiting)
}

#[inline]
async fn barrier(party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
    let epoch = party.arrive_at_next();
    party.wait_for_all(epoch).await
}

#[inline]
async fn broadcast(party: &Party<'_, impl Wait, impl PeerMemory>, root: Root, data: &Data) -> Result<()> {
    let root = party.root_of(root);
    let epoch = party.begin();
    if root == party.rank {
        party.wait_until_free(epoch, data.bytes()).await?;
        party.publish(epoch, data);
        return Ok(());
    }
    party.arrive(epoch);
    party.wait_for(root, epoch).await?;
    party.agree(root, epoch, data.bytes())?;
    party.take(root, epoch, (0, data.bytes()), data);
    Ok(())
}

#[inline]
async fn allreduce(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: &Data,
    receive: &Data,
    operator: &Arc<Operator>,
) -> Result<()> {
    let epoch = party.begin();
    let mine = operand(send);
    let offer = Offer::of_short(party, &mine);
    party.wait_until_free(epoch, offer.room(party.member, &mine)).await?;
    offer.publish(party.member, epoch, &mine, None);
    party.wait_for_all(epoch).await?;
    if !offer::are_lent(party.member, epoch) {
        return combine::published(party.member, epoch, operator, receive);
    }
    let is_free = party.has_words(party.rank, epoch);
    let bytes = elements::bytes(receive);
    let mut offers = Offers::find(party, epoch, bytes, 0..bytes);
    if let (Ok(offers), true) = (&mut offers, is_free) {
        offers.take();
    }
    let combined = || offers?.combine(0..bytes, operator, receive);
    if !is_free {
        let done = combined();
        party.meet().await?;
        return done;
    }
    let last = party.arrive_at_next();
    if send.address == receive.address {
        // The other may still read what lies where the result goes.
        party.wait_for_all(last).await?;
        return combined();
    }
    // While the other hears of it.
    let done = combined();
    party.wait_for_all(last).await?;
    done
}

async fn reduce(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    operator: &Arc<Operator>,
) -> Result<()> {
    let Some(mine) = send.or(receive) else { return Ok(()) };
    let (epoch, mine) = (party.begin(), operand(mine));
    party.wait_until_free(epoch, mine.bytes()).await?;
    party.publish(epoch, &mine);
    match receive {
        Some(receive) if party.root_of(root) == party.rank => {
            party.wait_for_all(epoch).await?;
            combine::published(party.member, epoch, operator, receive)
        }
        _ => Ok(()),
    }
}

async fn gather(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
) -> Result<()> {
    let root = party.root_of(root);
    let epoch = party.begin();
    let (Some(receive), true) = (receive, root == party.rank) else {
        let Some(send) = send else { return Ok(()) };
        party.wait_until_free(epoch, send.bytes()).await?;
        party.publish(epoch, send);
        return Ok(());
    };
    party.arrive(epoch);
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(send, &receive.blocks(party.rank, 1)) };
    }
    party.wait_for_all(epoch).await?;
    collect(party.member, epoch, receive)
}

/// Takes the block of each other member.
fn collect(me: &Member, epoch: u64, receive: &Data) -> Result<()> {
    for member in (0..me.size).filter(|&member| member != me.rank) {
        me.agree(member, epoch, receive.bytes())?;
        me.take(member, epoch, (0, receive.bytes()), &receive.blocks(member, 1));
    }
    Ok(())
}

async fn scatter(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
) -> Result<()> {
    let root = party.root_of(root);
    let epoch = party.begin();
    let (Some(send), true) = (send, root == party.rank) else {
        let Some(receive) = receive else { return Ok(()) };
        party.arrive(epoch);
        party.wait_for(root, epoch).await?;
        let whole = blocks(party.member, receive.bytes());
        party.agree(root, epoch, whole)?;
        party.take(root, epoch, (u64::from(party.rank) * receive.bytes(), whole), receive);
        return Ok(());
    };
    let all = send.times(party.size)?;
    party.wait_until_free(epoch, all.bytes()).await?;
    party.publish(epoch, &all);
    if let Some(receive) = receive {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(&send.blocks(party.rank, 1), receive) };
    }
    Ok(())
}

async fn allgather(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    let own = receive.blocks(party.rank, 1);
    let epoch = party.begin();
    let mine = send.unwrap_or(&own);
    party.wait_until_free(epoch, mine.bytes()).await?;
    party.publish(epoch, mine);
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(send, &own) };
    }
    party.wait_for_all(epoch).await?;
    match collect(party.member, epoch, receive) {
        Ok(()) => Ok(()),
        Err(error) => disagree(party, epoch, error).await,
    }
}

async fn alltoall(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    let whole = blocks(party.member, receive.bytes());
    let epoch = party.begin();
    let all = send.unwrap_or(receive).times(party.size)?;
    party.wait_until_free(epoch, all.bytes()).await?;
    // Incoming data may take the place of data that the others still want to read: not in the slot.
    party.publish(epoch, &all);
    party.wait_for_all(epoch).await?;
    let mine = u64::from(party.rank) * receive.bytes();
    for member in 0..party.size {
        if let Err(error) = party.agree(member, epoch, whole) {
            return disagree(party, epoch, error).await;
        }
        party.take(member, epoch, (mine, whole), &receive.blocks(member, 1));
    }
    Ok(())
}

/// Members disagree about how much it is. The other one of two may have lent its part (`pair/exchange.rs`), and then it
/// ends the operation with one more epoch.
#[cold]
async fn disagree(party: &Party<'_, impl Wait, impl PeerMemory>, epoch: u64, error: Error) -> Result<()> {
    if offer::are_lent(party.member, epoch) {
        party.meet().await?;
    }
    Err(error)
}
