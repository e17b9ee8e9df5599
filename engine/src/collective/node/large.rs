//! Operations whose payload is too long for a slot: straight between the buffers
//! of the program.
//!
//! A member publishes where its data lie ([`Lent`]) instead of the data. Each
//! takes what it needs from the memory of the others, by plain loads where that
//! memory is mapped here, else through the kernel ([`Reach`]). In a reduction
//! every member reduces a share of all operands, along the tree of `tree.rs`; in
//! an allreduce of little, or of two members that cannot write to each other, all of
//! them: each for itself.
//!
//! # Ownership
//! One epoch begins the operation: who has arrived there has lent its buffers,
//! and touches in them from then on only what its part of the operation writes.
//! One epoch ends it: who has arrived there has done with the memory of others,
//! and who has lent some returns when all have. In an allreduce by shares there is
//! one in the middle: who has arrived there has written its share of the result,
//! which the others then read; unless each has put its share into the results of all.
//! Where all that others read is copies that stay behind (`behind.rs`), nothing ends the operation,
//! as if they lay in slots; and who has lent such a copy does not wait for the end.
//! What members write are the shares; no two overlap, and nobody reads an operand in the
//! share of another.
//!
//! A member that fails once it has begun arrives at the remaining epochs all the
//! same, so that no other waits for it in vain.

use super::begun::{begin_reduction, Begun, Lending};
use super::exchange;
use super::helped::reduction::Reduction;
use super::helped::{self, share_out};
use super::items;
use super::lent::Lent;
use super::prefix::Scan;
use super::pushed;
use super::reach::{Reach, Reaches};
use super::rooted;
use super::scattered::{total, Scattered};
use super::seat::{Copied, Seat, Wait};
use super::share::{in_turn, may_be_alone, may_be_whole, Shares, Then};
use super::whole::Whole;
use crate::collective::members::Role;
use crate::collective::{schedule, Data, Members, Operation, Root};
use crate::memory::copy::last_cache;
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// What all members write in an operation stays in no cache, if it is so much.
const BEYOND: u64 = 16 << 20;

/// Whether an operation is done here, once `fits` has said that it is too long
/// for slots: all members come to the same answer, from what all of them know.
#[inline]
pub fn wants(seat: &Seat, operation: &Operation) -> bool {
    let slot = seat.narrow();
    match operation {
        Operation::Broadcast { data, .. } => data.bytes() > slot,
        Operation::Reduce { send, receive, .. } => {
            send.as_ref().or(receive.as_ref()).is_some_and(|data| items::bytes(data) > slot)
        }
        Operation::Allreduce { receive, .. }
        | Operation::Scan { receive, .. }
        | Operation::Exscan { receive, .. } => items::bytes(receive) > slot,
        Operation::ReduceScatter { receive, counts, .. } => total(seat, receive, counts) > slot,
        Operation::Allgather { receive, .. } => receive.bytes() > slot,
        Operation::Alltoall { receive, .. } => {
            receive.bytes().saturating_mul(u64::from(seat.size)) > slot && receive.bytes() > 0
        }
        Operation::Gather { send, receive, .. } => longer(slot, receive.as_ref().or(send.as_ref()), 1),
        Operation::Scatter { send, receive, .. } => {
            longer(slot, send.as_ref().or(receive.as_ref()), seat.size)
        }
        Operation::Gatherv { .. }
        | Operation::Scatterv { .. }
        | Operation::Allgatherv { .. }
        | Operation::Alltoallw { .. }
        | Operation::Neighbours { .. } => true,
        Operation::Barrier => false,
    }
}

/// Whether `blocks` blocks are too long for a slot.
fn longer(slot: u64, block: Option<&Data>, blocks: u32) -> bool {
    block.is_some_and(|block| block.bytes().saturating_mul(u64::from(blocks)) > slot)
}

/// Whether all members reach each other's memory as an operation needs it;
/// settled together, once.
///
/// # Errors
/// What waiting reports.
#[inline]
pub async fn can(seat: &Seat, operation: &Operation, by: &(impl Wait + Reach)) -> Result<bool> {
    let reaches = match seat.reaches.get() {
        Some(reaches) => *reaches,
        None => settle(seat, by).await?,
    };
    let needs = match operation {
        Operation::Reduce { .. }
        | Operation::Gather { .. }
        | Operation::Scan { .. }
        | Operation::Exscan { .. } => Reaches::ToWrite,
        _ => Reaches::ToRead,
    };
    Ok(reaches >= needs)
}

#[cold]
async fn settle(seat: &Seat, by: &(impl Wait + Reach)) -> Result<Reaches> {
    let all = [Reaches::Nothing, Reaches::ToRead, Reaches::ToWrite];
    let epoch = seat.begin();
    let mine = by.reaches(seat) as u64;
    let is_wide = seat.rank == 0 && seat.block().shape().is_wide() && by.widen(seat);
    seat.room(epoch, by).await?;
    seat.tell(epoch, Lent::new(mine, is_wide.into(), 1));
    seat.all(epoch, by).await?;
    let is_wide = seat.told(0, epoch, 1)?.receive == 1;
    seat.is_wide.get_or_init(|| is_wide);
    let mut least = mine;
    for member in 0..seat.size {
        least = least.min(seat.told(member, epoch, 1)?.send);
    }
    Ok(*seat.reaches.get_or_init(|| all[least as usize]))
}

/// Runs an operation that [`wants`] to be done here to its end.
///
/// # Errors
/// `NoMem` for copies of data with gaps, `Truncate` where members do not agree,
/// what waiting and reaching report.
pub async fn run(seat: &Seat, operation: &Operation, by: &(impl Wait + Reach)) -> Result<()> {
    match operation {
        Operation::Broadcast { root, data } => broadcast(seat, *root, data, by).await,
        Operation::Reduce { root, send, receive, operator } => {
            reduce(seat, *root, send.as_ref(), receive.as_ref(), operator, by).await
        }
        Operation::Allreduce { send, receive, operator } => {
            allreduce(seat, send.as_ref().unwrap_or(receive), receive, operator, by).await
        }
        Operation::ReduceScatter { send, receive, counts, operator } => {
            Scattered::new(seat, send.as_ref(), receive, counts, operator).run_large(seat, by).await
        }
        Operation::Scan { send, receive, operator } => {
            Scan::new(send.as_ref(), receive, operator, false).run_large(seat, by).await
        }
        Operation::Exscan { send, receive, operator } => {
            Scan::new(send.as_ref(), receive, operator, true).run_large(seat, by).await
        }
        Operation::Allgather { send, receive } => allgather(seat, send.as_ref(), receive, by).await,
        Operation::Alltoall { send, receive } => alltoall(seat, send.as_ref(), receive, by).await,
        Operation::Gather { root, send, receive } => {
            rooted::gather(seat, *root, send.as_ref(), receive.as_ref(), by).await
        }
        Operation::Scatter { root, send, receive } => {
            rooted::scatter(seat, *root, send.as_ref(), receive.as_ref(), by).await
        }
        Operation::Gatherv { root, send, receive } => {
            exchange::gatherv(seat, *root, send.as_ref(), receive, by).await
        }
        Operation::Scatterv { root, send, receive } => {
            exchange::scatterv(seat, *root, send, receive.as_ref(), by).await
        }
        Operation::Allgatherv { send, receive } => {
            exchange::allgatherv(seat, send.as_ref(), receive, by).await
        }
        Operation::Alltoallw { send, receive } => {
            exchange::alltoallw(seat, send.as_deref(), receive, by).await
        }
        Operation::Neighbours { hood, send, receive } => {
            exchange::neighbours(seat, hood, send, receive, by).await
        }
        Operation::Barrier => unreachable!("`wants` has said no"),
    }
}

/// The rank of the root.
pub(super) fn root_of(seat: &Seat, root: Root) -> u32 {
    let members = Members { rank: seat.rank, size: seat.size, remote: None };
    match members.role(root) {
        Role::Leaf(root) => root,
        _ => seat.rank,
    }
}

/// Begins an operation: lends a buffer.
async fn begin(seat: &Seat, send: &Whole, by: &impl Wait) -> Result<u64> {
    let lent = Lent::of(seat, send);
    let epoch = seat.begin();
    lent.tell(seat, epoch, by).await?;
    Ok(epoch)
}

/// Goes on to the next epoch when all others do.
pub(super) async fn together(seat: &Seat, by: &impl Wait) -> Result<()> {
    let epoch = seat.begin();
    seat.arrive(epoch);
    seat.all(epoch, by).await
}

/// Ends an operation of the root, in which the others read what it has lent since `epoch`.
pub(super) async fn given(seat: &Seat, epoch: u64, lent: &mut Whole, by: &impl Wait) -> Result<()> {
    match lent.stay_behind(seat, epoch) {
        true => Ok(()),
        false => together(seat, by).await,
    }
}

/// The same of another member, which has taken what it wanted.
pub(super) fn taken(seat: &Seat, (root, epoch): (u32, u64)) {
    if !seat.has_lent_copy(root, epoch) {
        seat.arrive(seat.begin());
    }
}

/// Ends an operation in which others have read what this member has lent since `epoch`, and wrote
/// nowhere. Where all have lent copies it is over already.
pub(super) async fn over(seat: &Seat, epoch: u64, lent: &mut Whole, by: &impl Wait) -> Result<()> {
    match done(seat, epoch, lent) {
        Some(last) => seat.all(last, by).await,
        None => Ok(()),
    }
}

/// The first half: this member has done with what the others have lent. The epoch to wait for, until they
/// have done with what it has lent, unless that may stay behind.
pub(super) fn done(seat: &Seat, epoch: u64, lent: &mut Whole) -> Option<u64> {
    let all = seat.have_all_lent_copies(epoch);
    let last = (!all).then(|| {
        let last = seat.begin();
        seat.arrive(last);
        last
    });
    let stays = lent.stay_behind(seat, epoch);
    last.filter(|_| !stays)
}

pub(super) async fn broadcast(seat: &Seat, root: Root, data: &Data, by: &(impl Wait + Reach)) -> Result<()> {
    let root = root_of(seat, root);
    if helped::wants(seat) {
        return helped::rooted::broadcast(seat, root, data, by).await;
    }
    if pushed::wants(seat) {
        return match root == seat.rank {
            true => pushed::give(seat, data, by).await,
            false => pushed::get(seat, data, by).await,
        };
    }
    if root == seat.rank {
        let mut whole = Whole::to_read(seat, data, seat.size - 1, by)?;
        let epoch = begin(seat, &whole, by).await?;
        return given(seat, epoch, &mut whole, by).await;
    }
    let epoch = seat.begin();
    seat.arrive(epoch);
    seat.member(root, epoch, by).await?;
    let done = take(seat, (root, epoch), 0, data.bytes(), data, Copied::Broadcast, by);
    taken(seat, (root, epoch));
    done
}

/// Takes items from what a member has lent, `total` bytes, `offset` bytes on.
pub(super) fn take(
    seat: &Seat,
    (member, epoch): (u32, u64),
    offset: u64,
    total: u64,
    data: &Data,
    copied: Copied,
    by: &impl Reach,
) -> Result<()> {
    let lent = seat.told(member, epoch, total)?;
    let (from, copies) = ((seat, member, epoch), seat.chooser(copied));
    if let Some((address, bytes)) = data.dense() {
        // SAFETY: the member has lent `total` bytes until the last epoch; the target is lent by the
        // program.
        return unsafe { lent.read(from, offset, address, bytes as usize, copies, by) };
    }
    let whole = Whole::to_write(data)?;
    // SAFETY: as above, into a copy.
    unsafe { lent.read(from, offset, whole.address, data.bytes() as usize, copies, by)? };
    whole.finish(data);
    Ok(())
}

async fn allgather(seat: &Seat, send: Option<&Data>, receive: &Data, by: &(impl Wait + Reach)) -> Result<()> {
    if helped::wants(seat) {
        return helped::blocks::allgather(seat, send, receive, by).await;
    }
    let own = receive.blocks(seat.rank, 1);
    let mut whole = Whole::to_read(seat, send.unwrap_or(&own), seat.size - 1, by)?;
    let epoch = begin(seat, &whole, by).await?;
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(send, &own) };
    }
    seat.all(epoch, by).await?;
    let bytes = receive.bytes();
    let done = others(seat).try_for_each(|member| {
        take(seat, (member, epoch), 0, bytes, &receive.blocks(member, 1), Copied::Allgather, by)
    });
    over(seat, epoch, &mut whole, by).await?;
    done
}

async fn alltoall(seat: &Seat, send: Option<&Data>, receive: &Data, by: &(impl Wait + Reach)) -> Result<()> {
    let block = receive.bytes();
    let (offset, total) = (u64::from(seat.rank) * block, u64::from(seat.size) * block);
    let copied = match total.saturating_mul(u64::from(seat.size)) {
        all if last_cache().is_some_and(|cache| all >= 2 * cache.max(BEYOND)) => Copied::FarBeyond,
        BEYOND.. => Copied::Beyond,
        _ => Copied::Alltoall,
    };
    if helped::wants(seat) {
        return helped::blocks::alltoall(seat, send, receive, copied, by).await;
    }
    let mut whole = match send {
        Some(send) => Whole::to_read(seat, &send.times(seat.size)?, 1, by)?,
        // What comes takes the place of what others still want to read.
        None => Whole::copied(seat, &receive.times(seat.size)?, by)?,
    };
    let epoch = begin(seat, &whole, by).await?;
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(&send.blocks(seat.rank, 1), &receive.blocks(seat.rank, 1)) };
    }
    seat.all(epoch, by).await?;
    let done = others(seat).try_for_each(|member| {
        take(seat, (member, epoch), offset, total, &receive.blocks(member, 1), copied, by)
    });
    over(seat, epoch, &mut whole, by).await?;
    done
}

/// The other members, beginning with the next one: so not all read from the same.
pub(super) fn others(seat: &Seat) -> impl Iterator<Item = u32> + Clone + use<> {
    let (rank, size) = (seat.rank, seat.size);
    (1..size).map(move |step| (rank + step) % size)
}

async fn allreduce(
    seat: &Seat,
    send: &Data,
    receive: &Data,
    operator: &Arc<Operator>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let is_helped = helped::wants(seat);
    // Nobody touches the result of another if each reduces the whole for itself.
    let is_whole = !is_helped && may_be_whole(seat.size, items::bytes(receive), operator);
    let lending = if is_whole { Lending::Not } else { Lending::Whole };
    let mut lent = begin_reduction(seat, send, Some((receive, lending)), by).await?;
    seat.all(lent.epoch, by).await?;
    let shares = Shares::new(seat, &lent, operator, &receive.datatype);
    let helped = is_helped.then(|| Reduction::for_all(&shares, lent.result())).flatten();
    if let Some(reduction) = helped {
        let done = share_out(seat, lent.epoch, &reduction, by).await;
        lent.finish(done.is_ok(), receive);
        return done;
    }
    if shares.are_better_whole() {
        let parts = in_turn(shares.mine().start, shares.bytes);
        let reduced = shares.reduce(parts, lent.result(), Then::Kept, by);
        over(seat, lent.epoch, &mut lent.operand, by).await?;
        lent.finish(reduced.is_ok(), receive);
        return reduced;
    }
    let then = if shares.are_better_put() { Then::Put } else { Then::Read };
    let mut done = shares.reduce([shares.mine()], lent.result(), then, by);
    together(seat, by).await?;
    if then == Then::Read {
        done = done.and_then(|()| shares.gather(by));
        together(seat, by).await?;
    }
    lent.finish(done.is_ok(), receive);
    done
}

pub(super) async fn reduce(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    operator: &Arc<Operator>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let root = root_of(seat, root);
    let Some(mine) = send.or(receive) else { return Ok(()) };
    let result = receive.filter(|_| root == seat.rank);
    let is_helped = helped::wants(seat);
    let is_alone = !is_helped && may_be_alone(seat.size, items::bytes(mine), operator);
    let lending = match (is_alone, is_helped) {
        (true, _) => Lending::Not,
        (false, true) => Lending::Whole,
        (false, false) => Lending::ButEnds,
    };
    let mut lent = begin_reduction(seat, mine, result.map(|result| (result, lending)), by).await?;
    if is_alone {
        return reduce_alone(seat, &mut lent, (mine, result), operator, by).await;
    }
    seat.all(lent.epoch, by).await?;
    let shares = Shares::new(seat, &lent, operator, &mine.datatype);
    let helped = is_helped.then(|| Reduction::for_one(&shares, lent.result(), root)).flatten();
    let reduced = match helped {
        Some(reduction) => share_out(seat, lent.epoch, &reduction, by).await,
        None => {
            let parts = shares.mine_for(root);
            let reduced = parts.and_then(|parts| shares.reduce(parts, lent.result(), Then::To(root), by));
            together(seat, by).await?;
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
    seat: &Seat,
    lent: &mut Begun,
    (mine, result): (&Data, Option<&Data>),
    operator: &Arc<Operator>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let Some(result) = result else {
        let last = seat.begin();
        seat.arrive(last);
        return match lent.operand.stay_behind(seat, lent.epoch) {
            true => Ok(()),
            false => seat.all(last, by).await,
        };
    };
    seat.all(lent.epoch, by).await?;
    let shares = Shares::new(seat, lent, operator, &mine.datatype);
    let whole = 0..shares.bytes;
    let reduced = shares.reduce([whole], lent.result(), Then::Kept, by);
    seat.arrive(seat.begin());
    lent.finish(reduced.is_ok(), result);
    reduced
}
