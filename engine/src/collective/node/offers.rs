//! Short payload of two members that each of them lends, if that is quicker than to copy
//! it into its slot, or has to, for the slot has no room.
//!
//! What lies in a slot is copied twice, and its lines are fetched twice from the other's
//! core: by the owner to write them, by the other to read them. What is lent is read where
//! it lies, but the operation then has an epoch that ends it. Each member decides for
//! itself, since it alone knows whether the other can read its data by plain loads, and
//! says in its mark what it has done; so both see whether there is such an epoch.

use super::combine;
use super::lent::Lent;
use super::reach::{settled, Plain, Reach, Reaches, Room};
use super::seat::{Copied, Seat};
use super::whole::Whole;
use super::{large, pair, swap};
use crate::collective::temporary::Temporary;
use crate::collective::tree::Folded;
use crate::collective::{Data, Operation};
use crate::memory::copy::{fetch, plain};
use crate::reduce::Operator;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// Payload up to so many bytes is not lent: copying it takes less than an epoch does.
pub(super) const COPIED: u64 = 2048;
/// So much of what the other has lent is asked for at once.
const FETCHED: u64 = 8 << 10;

/// Whether an operation with so many bytes, for which no slot has room, is one of two members that both
/// lend, whatever they have to lend. All members come to the same answer, from what all of them know.
pub(super) fn suits(seat: &Seat, operation: &Operation, bytes: u64) -> bool {
    match operation {
        Operation::Allgather { .. } | Operation::Alltoall { .. } => swap::suits(seat, bytes),
        Operation::Allreduce { operator, .. } => may_lend(seat) && pair::suits(seat, operator, bytes),
        _ => false,
    }
}

/// How a member offers what it contributes: in its slot, unless it says otherwise.
pub(super) struct Offer {
    /// Where all can read it, and how long it is, if they can.
    lies: Option<(*mut u8, u64)>,
    /// It is lent as it is, or a copy of it, for the slot has no room.
    kept: Option<Whole>,
}

impl Offer {
    /// For what may have no room in a slot.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    #[inline(always)]
    pub fn of(seat: &Seat, data: &Data, by: &impl Reach) -> Result<Offer> {
        let mut offer = Offer::of_short(seat, data, by);
        if offer.lies.is_none() && data.bytes() > seat.slot() {
            offer.keep(seat, data, by)?;
        }
        Ok(offer)
    }

    /// For what the other's data take the place of.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn copied(seat: &Seat, data: &Data, by: &impl Reach) -> Result<Offer> {
        let is_long = data.bytes() > seat.slot();
        let kept = is_long.then(|| Whole::copied(seat, data, by)).transpose()?;
        Ok(Offer { lies: None, kept })
    }

    /// For what has room in a slot.
    #[inline(always)]
    pub fn of_short(seat: &Seat, data: &Data, by: &impl Reach) -> Offer {
        let lies = (data.bytes() > COPIED && may_lend(seat)).then(|| data.dense()).flatten();
        Offer { lies: lies.filter(|&(address, bytes)| by.is_shared(seat, address, bytes)), kept: None }
    }

    #[cold]
    fn keep(&mut self, seat: &Seat, data: &Data, by: &impl Reach) -> Result<()> {
        self.kept = Some(Whole::to_read(seat, data, 1, by)?);
        Ok(())
    }

    /// Whether it is not in the slot.
    #[inline(always)]
    pub fn is_lent(&self) -> bool {
        self.lies.is_some() || self.kept.is_some()
    }

    /// Publishes it in an epoch that has just begun. The caller writes nothing there until the other has
    /// done with it, and has waited as rule 2 of the block wants. What is lent has the place of a result with
    /// it, if the other can write there.
    #[inline(always)]
    pub fn publish(&self, seat: &Seat, epoch: u64, data: &Data, result: Option<*mut u8>) {
        match self.is_lent() {
            true => self.lend(seat, epoch, result),
            false => seat.publish(epoch, data),
        }
    }

    /// The same of what is lent.
    #[inline(always)]
    pub fn lend(&self, seat: &Seat, epoch: u64, result: Option<*mut u8>) {
        let receive = result.map_or(0, |place| place as u64);
        if let Some((address, bytes)) = self.lies {
            return seat.tell(epoch, Lent::new(address as u64, receive, bytes));
        }
        if let Some(whole) = &self.kept {
            let mut lent = Lent::of(seat, whole);
            lent.receive = receive;
            lent.put(seat, epoch);
        }
    }

    /// Where it lies, if all can read and write there.
    pub fn place(&self) -> Option<*mut u8> {
        self.lies.map(|(address, _)| address)
    }

    /// This member, one of two of which some have lent, has done with what the other has offered. The epoch
    /// to wait for, until the other has done with this, unless that may stay behind.
    #[inline]
    pub fn done(&mut self, seat: &Seat, epoch: u64) -> Option<u64> {
        if let Some(whole) = &mut self.kept {
            return large::done(seat, epoch, whole);
        }
        let last = seat.begin();
        seat.arrive(last);
        Some(last)
    }
}

/// Whether a member has lent what it has offered, when both have arrived. Then [`Offers`] are
/// used, and one more epoch ends the operation; else all lies in slots, as ever.
#[inline]
pub(super) fn are_lent(seat: &Seat, epoch: u64) -> bool {
    seat.size == 2 && (0..2).any(|member| seat.has_lent(member, epoch))
}

/// Whether anything is lent. Where ranks share cores nothing is, for each epoch costs them a turn; nor
/// before both have settled how they reach each other.
#[inline]
pub(super) fn may_lend(seat: &Seat) -> bool {
    seat.size == 2 && settled(seat, Reaches::ToRead) && !seat.block().shape().is_wide()
}

/// The place of a result of so many bytes, if the other can write there.
#[inline]
pub(super) fn open(seat: &Seat, place: *mut u8, bytes: u64, by: &impl Reach) -> Option<*mut u8> {
    (by.lend(seat, (place.cast_const(), bytes), 1) == Plain::All).then_some(place)
}

/// Whether both have lent the places of their results, too, and can write there.
#[inline]
pub(super) fn have_lent_results(seat: &Seat, epoch: u64) -> bool {
    settled(seat, Reaches::ToWrite) && (0..seat.size).all(|member| seat.has_lent_result(member, epoch))
}

/// Copies what the other has offered, some of the two having lent, to data as long as it.
///
/// # Errors
/// As [`Offers::find`].
#[inline]
pub(super) fn take(seat: &Seat, epoch: u64, data: &Data, by: &impl Reach) -> Result<()> {
    let (other, bytes) = (1 - seat.rank, data.bytes());
    if bytes > seat.narrow() {
        return large::take(seat, (other, epoch), 0, bytes, data, Copied::Allgather, by);
    }
    let offers = Offers::find(seat, epoch, bytes, 0..bytes, by)?;
    // SAFETY: the payload is as long as the data, which the program lends.
    unsafe { Seat::unpack(offers.at(other, 0), data) };
    Ok(())
}

/// What both members have offered.
pub(super) struct Offers<'a> {
    seat: &'a Seat,
    epoch: u64,
    bytes: u64,
    /// Where that of the other can be read.
    other: *const u8,
    /// If it cannot be read where it lies.
    copy: Option<Room>,
}

impl<'a> Offers<'a> {
    /// `bytes` bytes each, of which this member wants a part of the other's.
    ///
    /// # Errors
    /// `Truncate` where the members do not agree, `NoMem`, what reaching reports.
    #[inline]
    pub fn find(
        seat: &'a Seat,
        epoch: u64,
        bytes: u64,
        wanted: Range<u64>,
        by: &impl Reach,
    ) -> Result<Offers<'a>> {
        let (member, mut copy) = (1 - seat.rank, None);
        if !seat.has_lent(member, epoch) {
            seat.agree(member, epoch, bytes)?;
            let other = seat.packed(member, epoch, bytes as usize).cast_const();
            return Ok(Offers { seat, epoch, bytes, other, copy: None });
        }
        let lent = seat.told(member, epoch, bytes)?;
        let place = || Ok(copy.insert(Room::from(Temporary::packed(bytes)?.0)).address());
        // SAFETY: the member has lent so much until the last epoch; the copy is ours.
        let other = unsafe { lent.find((seat, member, epoch), 0, bytes, place, Copied::Exchange, by)? };
        let length = (wanted.end - wanted.start).min(FETCHED);
        fetch(other.wrapping_add(wanted.start as usize), length as usize);
        Ok(Offers { seat, epoch, bytes, other, copy })
    }

    /// Where the payload of a member can be read, from some byte on.
    #[inline]
    pub fn at(&self, member: u32, from: usize) -> *const u8 {
        match member == self.seat.rank {
            true => self.seat.offered(self.epoch, self.bytes),
            false => self.other,
        }
        .wrapping_add(from)
    }

    /// Combines a part of both payloads into the same part of a result, which may lie in the place of one.
    ///
    /// # Errors
    /// As [`combine::combined`].
    #[inline]
    pub fn combine(&self, part: Range<u64>, operator: &Arc<Operator>, result: &Data) -> Result<()> {
        let payload = |member, at| self.at(member, at);
        // SAFETY: both can be read; the program lends the result.
        unsafe { combine::combined(Some(part), Folded::new(2, 0), operator, result, payload) }
    }

    /// Copies that of the other into the slot of this member, which has lent its own and so has no
    /// other use for it. Nothing of the other's is needed any more.
    #[inline]
    pub fn take(&mut self) {
        let slot = self.seat.packed(self.seat.rank, self.epoch, self.bytes as usize);
        // SAFETY: the payload is so long; the slot has room, and nobody reads it.
        unsafe { plain(self.other, slot, self.bytes as usize) };
        self.other = slot;
    }

    /// The same of what has no room there: to where the result goes, or elsewhere.
    ///
    /// # Errors
    /// `NoMem` for another place.
    pub fn taken_to(mut self, result: Option<*mut u8>, by: &impl Reach) -> Result<Offers<'a>> {
        if self.copy.is_some() {
            return Ok(self);
        }
        let place = match result {
            Some(result) => result,
            None => {
                let room = by
                    .room(self.seat, self.bytes)
                    .map_or_else(|| Ok(Temporary::packed(self.bytes)?.0.into()), Ok)?;
                self.copy.insert(room).address()
            }
        };
        // SAFETY: the payload is so long; the place has room, and nobody else uses it.
        unsafe { plain(self.other, place, self.bytes as usize) };
        self.other = place;
        Ok(self)
    }
}
