//! The operations, in their forms over a block.

use super::combine;
use super::items::{self, operand};
use super::large::together;
use super::later::at_once;
use super::offers::{self, Offer, Offers};
use super::pair;
use super::prefix::Scan;
use super::reach::Reach;
use super::scattered::{total, Scattered};
use super::seat::{Seat, Wait};
use super::share::WHOLE;
use super::swap;
use crate::collective::members::Role;
use crate::collective::{Data, Members, Operation, Root};
use crate::reduce::Operator;
use crate::{Error, Result};
use std::sync::Arc;

/// Whether an operation goes over the block: all members come to the same answer,
/// from what all of them know.
#[inline]
pub fn fits(seat: &Seat, operation: &Operation) -> bool {
    let bytes = |data: &Option<Data>, other: &Option<Data>| data.as_ref().or(other.as_ref()).map(Data::bytes);
    let total = match operation {
        Operation::Barrier => return true,
        Operation::Broadcast { data, .. } => data.bytes(),
        Operation::Reduce { send, receive, .. } => send.as_ref().or(receive.as_ref()).map_or(0, items::bytes),
        Operation::Allreduce { receive, .. }
        | Operation::Scan { receive, .. }
        | Operation::Exscan { receive, .. } => items::bytes(receive),
        Operation::ReduceScatter { receive, counts, .. } => total(seat, receive, counts),
        Operation::Gather { send, receive, .. } => bytes(receive, send).unwrap_or(0),
        Operation::Scatter { send, receive, .. } => blocks(seat, bytes(send, receive).unwrap_or(0)),
        Operation::Allgather { receive, .. } => receive.bytes(),
        Operation::Alltoall { receive, .. } => blocks(seat, receive.bytes()),
        // Not all members know how much it is: see `exchange.rs`.
        Operation::Gatherv { .. }
        | Operation::Scatterv { .. }
        | Operation::Allgatherv { .. }
        | Operation::Alltoallw { .. }
        | Operation::Neighbours { .. } => 0,
    };
    total > 0
        && (total <= seat.narrow()
            || total <= seat.slot() && suits_wide(seat, operation, total)
            || offers::suits(seat, operation, total))
}

/// What all members read of one member, or of each, is read sooner where it lies if it is longer.
const READ_BY_ALL: u64 = 32 << 10;

/// Whether payload goes over wide slots. They are of no use where one member would do all
/// the work, or everybody the work of all.
fn suits_wide(seat: &Seat, operation: &Operation, total: u64) -> bool {
    match operation {
        Operation::Gather { .. } => false,
        Operation::Broadcast { .. } | Operation::Allgather { .. } => total <= READ_BY_ALL,
        Operation::Allreduce { .. } => total.saturating_mul(u64::from(seat.size - 1)) <= WHOLE,
        _ => true,
    }
}

/// Bytes of a block for each member.
fn blocks(seat: &Seat, bytes: u64) -> u64 {
    bytes.saturating_mul(u64::from(seat.size))
}

/// The form of an operation, and what becomes of it.
macro_rules! form_of {
    ($seat:ident, $operation:ident, $wait:ident, $run:ident) => {
        match $operation {
            Operation::Barrier => $run!(barrier($seat, $wait)),
            Operation::Broadcast { root, data } => $run!(broadcast($seat, *root, data, $wait)),
            Operation::Reduce { root, send, receive, operator } => {
                $run!(reduce($seat, *root, send.as_ref(), receive.as_ref(), operator, $wait))
            }
            Operation::Allreduce { send, receive, operator } => {
                let send = send.as_ref().unwrap_or(receive);
                match items::bytes(receive) <= $seat.slot() {
                    true => $run!(allreduce($seat, send, receive, operator, $wait)),
                    false => $run!(pair::allreduce($seat, send, receive, operator, $wait)),
                }
            }
            Operation::ReduceScatter { send, receive, counts, operator } => {
                let part = Scattered::new($seat, send.as_ref(), receive, counts, operator);
                $run!(part.run($seat, $wait))
            }
            Operation::Scan { send, receive, operator } => {
                $run!(Scan::new(send.as_ref(), receive, operator, false).run($seat, $wait))
            }
            Operation::Exscan { send, receive, operator } => {
                $run!(Scan::new(send.as_ref(), receive, operator, true).run($seat, $wait))
            }
            Operation::Gather { root, send, receive } => {
                $run!(gather($seat, *root, send.as_ref(), receive.as_ref(), $wait))
            }
            Operation::Scatter { root, send, receive } => {
                $run!(scatter($seat, *root, send.as_ref(), receive.as_ref(), $wait))
            }
            Operation::Allgather { send, receive } if swap::suits($seat, receive.bytes()) => {
                $run!(swap::run::<false>($seat, send.as_ref(), receive, $wait))
            }
            Operation::Alltoall { send, receive } if swap::suits($seat, blocks($seat, receive.bytes())) => {
                $run!(swap::run::<true>($seat, send.as_ref(), receive, $wait))
            }
            Operation::Allgather { send, receive } => $run!(allgather($seat, send.as_ref(), receive, $wait)),
            Operation::Alltoall { send, receive } => $run!(alltoall($seat, send.as_ref(), receive, $wait)),
            _ => unreachable!("`fits` has said no"),
        }
    };
}

/// Runs an operation that [`fits`] and has been checked to its end.
///
/// # Errors
/// `NoMem` as in the message forms, `Truncate` where members do not agree, what
/// waiting reports.
pub fn run(seat: &Seat, operation: &Operation, wait: &(impl Wait + Reach)) -> Result<()> {
    macro_rules! blocking {
        ($form:expr) => {
            at_once($form)
        };
    }
    form_of!(seat, operation, wait, blocking)
}

/// The same beside others.
///
/// # Errors
/// As [`run`].
pub async fn run_later(seat: &Seat, operation: &Operation, wait: &(impl Wait + Reach)) -> Result<()> {
    macro_rules! waiting {
        ($form:expr) => {
            $form.await
        };
    }
    form_of!(seat, operation, wait, waiting)
}

/// The rank of the root, and whether I am it.
fn root_of(seat: &Seat, root: Root) -> (u32, bool) {
    let members = Members { rank: seat.rank, size: seat.size, remote: None };
    match members.role(root) {
        Role::Leaf(root) => (root, false),
        _ => (seat.rank, true),
    }
}

#[inline]
async fn barrier(seat: &Seat, wait: &impl Wait) -> Result<()> {
    let epoch = seat.begin();
    seat.arrive(epoch);
    seat.all(epoch, wait).await
}

#[inline]
async fn broadcast(seat: &Seat, root: Root, data: &Data, wait: &impl Wait) -> Result<()> {
    let (root, is_me) = root_of(seat, root);
    let epoch = seat.begin();
    if is_me {
        seat.room(epoch, wait).await?;
        seat.publish(epoch, data);
        return Ok(());
    }
    seat.arrive(epoch);
    seat.member(root, epoch, wait).await?;
    seat.agree(root, epoch, data.bytes())?;
    seat.take(root, epoch, (0, data.bytes()), data);
    Ok(())
}

#[inline]
async fn allreduce(
    seat: &Seat,
    send: &Data,
    receive: &Data,
    operator: &Arc<Operator>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    let mine = operand(send);
    Offer::of_short(seat, &mine, by).publish(seat, epoch, &mine, None);
    seat.all(epoch, by).await?;
    if !offers::are_lent(seat, epoch) {
        return combine::published(seat, epoch, operator, receive);
    }
    let is_free = seat.has_lent(seat.rank, epoch);
    let bytes = items::bytes(receive);
    let mut offers = Offers::find(seat, epoch, bytes, 0..bytes, by);
    if let (Ok(offers), true) = (&mut offers, is_free) {
        offers.take();
    }
    let combined = || offers?.combine(0..bytes, operator, receive);
    if !is_free {
        let done = combined();
        together(seat, by).await?;
        return done;
    }
    let last = seat.begin();
    seat.arrive(last);
    if send.address == receive.address {
        // The other may still read what lies where the result goes.
        seat.all(last, by).await?;
        return combined();
    }
    // While the other hears of it.
    let done = combined();
    seat.all(last, by).await?;
    done
}

async fn reduce(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    operator: &Arc<Operator>,
    wait: &impl Wait,
) -> Result<()> {
    let Some(mine) = send.or(receive) else { return Ok(()) };
    let epoch = seat.begin();
    seat.room(epoch, wait).await?;
    seat.publish(epoch, &operand(mine));
    match receive {
        Some(receive) if root_of(seat, root).1 => {
            seat.all(epoch, wait).await?;
            combine::published(seat, epoch, operator, receive)
        }
        _ => Ok(()),
    }
}

async fn gather(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    wait: &impl Wait,
) -> Result<()> {
    let (_, is_me) = root_of(seat, root);
    let epoch = seat.begin();
    let (Some(receive), true) = (receive, is_me) else {
        let Some(send) = send else { return Ok(()) };
        seat.room(epoch, wait).await?;
        seat.publish(epoch, send);
        return Ok(());
    };
    seat.arrive(epoch);
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { crate::collective::schedule::copy(send, &receive.blocks(seat.rank, 1)) };
    }
    seat.all(epoch, wait).await?;
    collect(seat, epoch, receive)
}

/// Takes the block of each other member.
fn collect(seat: &Seat, epoch: u64, receive: &Data) -> Result<()> {
    for member in (0..seat.size).filter(|&member| member != seat.rank) {
        seat.agree(member, epoch, receive.bytes())?;
        seat.take(member, epoch, (0, receive.bytes()), &receive.blocks(member, 1));
    }
    Ok(())
}

async fn scatter(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    wait: &impl Wait,
) -> Result<()> {
    let (root, is_me) = root_of(seat, root);
    let epoch = seat.begin();
    let (Some(send), true) = (send, is_me) else {
        let Some(receive) = receive else { return Ok(()) };
        seat.arrive(epoch);
        seat.member(root, epoch, wait).await?;
        let whole = blocks(seat, receive.bytes());
        seat.agree(root, epoch, whole)?;
        seat.take(root, epoch, (u64::from(seat.rank) * receive.bytes(), whole), receive);
        return Ok(());
    };
    seat.room(epoch, wait).await?;
    seat.publish(epoch, &send.times(seat.size)?);
    if let Some(receive) = receive {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { crate::collective::schedule::copy(&send.blocks(seat.rank, 1), receive) };
    }
    Ok(())
}

async fn allgather(seat: &Seat, send: Option<&Data>, receive: &Data, wait: &impl Wait) -> Result<()> {
    let own = receive.blocks(seat.rank, 1);
    let epoch = seat.begin();
    seat.room(epoch, wait).await?;
    seat.publish(epoch, send.unwrap_or(&own));
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { crate::collective::schedule::copy(send, &own) };
    }
    seat.all(epoch, wait).await?;
    match collect(seat, epoch, receive) {
        Ok(()) => Ok(()),
        Err(error) => disagree(seat, epoch, error, wait).await,
    }
}

async fn alltoall(seat: &Seat, send: Option<&Data>, receive: &Data, wait: &impl Wait) -> Result<()> {
    let whole = blocks(seat, receive.bytes());
    let epoch = seat.begin();
    seat.room(epoch, wait).await?;
    // What comes may take the place of what the others still want to read: not in the slot.
    seat.publish(epoch, &send.unwrap_or(receive).times(seat.size)?);
    seat.all(epoch, wait).await?;
    let mine = u64::from(seat.rank) * receive.bytes();
    for member in 0..seat.size {
        if let Err(error) = seat.agree(member, epoch, whole) {
            return disagree(seat, epoch, error, wait).await;
        }
        seat.take(member, epoch, (mine, whole), &receive.blocks(member, 1));
    }
    Ok(())
}

/// Members disagree about how much it is. The other one of two may have lent its part (`swap.rs`), and then it
/// ends the operation with one more epoch.
#[cold]
async fn disagree(seat: &Seat, epoch: u64, error: Error, wait: &impl Wait) -> Result<()> {
    if offers::are_lent(seat, epoch) {
        together(seat, wait).await?;
    }
    Err(error)
}
