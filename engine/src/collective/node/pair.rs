//! Allreduces of two members for whose operands slots have no room.
//!
//! Each lends its operand, as it lies or as a copy (`offers.rs`). Where each can write into the place of the
//! other's result, and operands are not quite short, it combines a half and puts it into both results. So
//! it is where results go to the places of operands. Else it takes the other's operand to a place of its
//! own, and combines all there is, for itself: the other can go on meanwhile.

use super::helped;
use super::items::{self, operand, Items};
use super::large::together;
use super::offers::{self, Offer, Offers};
use super::reach::Reach;
use super::seat::{Copied, Seat, Wait};
use super::share::{share, WHOLE_OF_TWO};
use crate::collective::Data;
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// Longer operands are combined piece by piece (`share.rs`).
const LONGEST: u64 = 64 << 10;

/// Whether an allreduce of so many bytes is done here, once both may lend.
pub(super) fn suits(seat: &Seat, operator: &Operator, bytes: u64) -> bool {
    bytes <= LONGEST && !operator.is_user() && !helped::wants(seat)
}

/// An allreduce that [`suits`].
///
/// # Errors
/// `Truncate` where the members do not agree, `NoMem`, what waiting and reaching report.
pub(super) async fn allreduce(
    seat: &Seat,
    send: &Data,
    receive: &Data,
    operator: &Arc<Operator>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let bytes = items::bytes(receive);
    let in_place = send.address == receive.address;
    let mut offer = Offer::of(seat, &operand(send), by)?;
    let result = match in_place {
        true => offer.place(),
        false if bytes <= WHOLE_OF_TWO => None,
        false => items::place(receive).and_then(|place| offers::open(seat, place, bytes, by)),
    };
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    offer.lend(seat, epoch, result);
    seat.all(epoch, by).await?;
    if offers::have_lent_results(seat, epoch) {
        let done = halves(seat, epoch, operator, receive, by);
        together(seat, by).await?;
        return done;
    }
    let offers = Offers::find(seat, epoch, bytes, 0..bytes, by);
    let result = items::place(receive).filter(|_| !in_place);
    let offers = offers.and_then(|offers| offers.taken_to(result, by));
    let last = offer.done(seat, epoch);
    let combined = || offers?.combine(0..bytes, operator, receive);
    match last {
        // The other may still read what lies where the result goes.
        Some(last) if in_place => {
            seat.all(last, by).await?;
            combined()
        }
        // While the other hears of it.
        Some(last) => {
            let done = combined();
            seat.all(last, by).await?;
            done
        }
        None => combined(),
    }
}

/// Combines this member's half of both operands, and puts it into both results. Nobody else writes there,
/// nor reads what lies there.
fn halves(seat: &Seat, epoch: u64, operator: &Arc<Operator>, receive: &Data, by: &impl Reach) -> Result<()> {
    let (bytes, item) = (items::bytes(receive), Items::of(&receive.datatype).bytes);
    let mine = share(seat.rank, seat.size, bytes, item);
    let offers = Offers::find(seat, epoch, bytes, mine.clone(), by)?;
    offers.combine(mine.clone(), operator, receive)?;
    let (other, length) = (1 - seat.rank, (mine.end - mine.start) as usize);
    let place = |member| Ok(seat.told(member, epoch, bytes)?.receive + mine.start);
    let (source, target) = (place(seat.rank)? as *const u8, place(other)?);
    // SAFETY: the other has lent the place of its result until the last epoch; mine is there.
    unsafe { by.write(seat, other, target, source, length, seat.chooser(Copied::Written)) }
}
