//! Allgathers and alltoalls of two members with a core each.
//!
//! Each has a block for the other, and takes that of the other from where it is offered (`offers.rs`). Or each
//! puts its own into the place of the other's result, where both can write there and both would rather do so
//! (`direction.rs`).
//!
//! # Ownership
//! As in `large.rs`: who has arrived at the first epoch has lent its block, and the place of its result; at
//! that place nobody but the other writes. Who has arrived at the last one has put its block there.

use super::helped;
use super::large::together;
use super::offers::{self, Offer, COPIED};
use super::reach::Reach;
use super::seat::{Copied, Seat, Wait};
use crate::collective::{schedule, Data};
use crate::Result;

/// Whether an allgather or alltoall is done here in which each contributes so many bytes. All members come to
/// the same answer, from what all of them know; little goes over slots.
#[inline]
pub(super) fn suits(seat: &Seat, bytes: u64) -> bool {
    bytes > COPIED && offers::may_lend(seat) && !helped::wants(seat)
}

/// An alltoall that [`suits`], or an allgather: gives the other a block and gets one in return.
///
/// # Errors
/// `Truncate` where the members do not agree, `NoMem`, what waiting and reaching report.
pub(super) async fn run<const ALLTOALL: bool>(
    seat: &Seat,
    send: Option<&Data>,
    receive: &Data,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let (me, other) = (seat.rank, 1 - seat.rank);
    let (own, takes) = (receive.blocks(me, 1), receive.blocks(other, 1));
    let parts = send.filter(|_| ALLTOALL).map(|send| [send.blocks(me, 1), send.blocks(other, 1)]);
    // What this member offers to the other, and what it keeps for itself.
    let (gives, keeps) = match (&parts, send) {
        (Some([keeps, gives]), _) => (gives, Some(keeps)),
        (None, Some(send)) => (send, Some(send)),
        (None, None) if ALLTOALL => (&takes, None),
        (None, None) => (&own, None),
    };
    let is_replaced = gives.address == takes.address;
    let mut offer = match is_replaced {
        true => Offer::copied(seat, gives, by)?,
        false => Offer::of(seat, gives, by)?,
    };
    let turn = seat.direction.next(takes.bytes());
    let may_put = offer.is_lent() && !is_replaced && seat.direction.wants_to_put(turn);
    let place = may_put.then(|| takes.dense()).flatten();
    let place = place.and_then(|(address, bytes)| offers::open(seat, address, bytes, by));
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    offer.publish(seat, epoch, gives, place);
    if let Some(keeps) = keeps {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(keeps, &own) };
    }
    seat.all(epoch, by).await?;
    let bytes = takes.bytes();
    if !offers::are_lent(seat, epoch) {
        seat.agree(other, epoch, bytes)?;
        seat.take(other, epoch, (0, bytes), &takes);
        return Ok(());
    }
    if offers::have_lent_results(seat, epoch) {
        let done = seat.direction.copy(turn, bytes, true, || put(seat, epoch, bytes, by));
        together(seat, by).await?;
        return done;
    }
    let done = seat.direction.copy(turn, bytes, false, || offers::take(seat, epoch, &takes, by));
    if let Some(last) = offer.done(seat, epoch) {
        seat.all(last, by).await?;
    }
    done
}

/// Puts this member's block into the result of the other.
#[inline]
fn put(seat: &Seat, epoch: u64, bytes: u64, by: &impl Reach) -> Result<()> {
    let other = 1 - seat.rank;
    let target = seat.told(other, epoch, bytes)?.receive;
    let (source, copies) = (seat.offered(epoch, bytes), seat.chooser(Copied::Cached));
    // SAFETY: the other has lent the place until the last epoch, and nobody else writes there; the block is mine.
    unsafe { by.write(seat, other, target, source, bytes as usize, copies) }
}
