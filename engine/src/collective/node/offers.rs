//! Short payload of two members that each of them lends, if that is quicker than to copy
//! it into its slot.
//!
//! What lies in a slot is copied twice, and its lines are fetched twice from the other's
//! core: by the owner to write them, by the other to read them. What is lent is read where
//! it lies, but the operation then has an epoch that ends it. Each member decides for
//! itself, since it alone knows whether the other can read its data by plain loads, and
//! says in its mark what it has done; so both see whether there is such an epoch.

use super::lent::Lent;
use super::reach::{Reach, Reaches};
use super::seat::{Copied, Seat};
use crate::collective::temporary::Temporary;
use crate::collective::Data;
use crate::memory::copy::{fetch, plain};
use crate::Result;

/// Payload up to so many bytes is not lent: copying it takes less than an epoch does.
const COPIED: u64 = 2048;

/// Publishes payload of an epoch that has just begun, or lends it. The caller writes
/// nothing there until the other has done with it, and has waited as rule 2 of the block wants.
#[inline]
pub(super) fn offer(seat: &Seat, epoch: u64, data: &Data, by: &impl Reach) {
    if seat.size == 2 && data.bytes() > COPIED {
        if let Some((address, bytes)) = lendable(seat, data, by) {
            return seat.tell(epoch, Lent::new(address as u64, 0, bytes));
        }
    }
    seat.publish(epoch, data);
}

/// Whether a member has lent what it has offered, when both have arrived. Then [`Offers`] are
/// used, and one more epoch ends the operation; else all lies in slots, as ever.
#[inline]
pub(super) fn are_lent(seat: &Seat, epoch: u64) -> bool {
    seat.size == 2 && (0..2).any(|member| seat.has_lent(member, epoch))
}

/// Where the data lie, if they may be lent. Where ranks share cores nothing is, for each epoch costs
/// them a turn; nor before both have settled how they reach each other.
fn lendable(seat: &Seat, data: &Data, by: &impl Reach) -> Option<(*mut u8, u64)> {
    let reached = seat.reaches.get().is_some_and(|&reaches| reaches >= Reaches::ToRead);
    if !reached || seat.block().shape().is_wide() {
        return None;
    }
    data.dense().filter(|&(address, bytes)| by.is_shared(seat, address, bytes))
}

/// What both members have offered.
pub(super) struct Offers<'a> {
    seat: &'a Seat,
    epoch: u64,
    bytes: u64,
    /// Where that of the other can be read.
    other: *const u8,
    /// If it cannot be read where it lies.
    _copy: Option<(Temporary, Data)>,
}

impl<'a> Offers<'a> {
    /// `bytes` bytes each.
    ///
    /// # Errors
    /// `Truncate` where the members do not agree, `NoMem`, what reaching reports.
    #[inline]
    pub fn find(seat: &'a Seat, epoch: u64, bytes: u64, by: &impl Reach) -> Result<Offers<'a>> {
        let (member, mut copy) = (1 - seat.rank, None);
        if !seat.has_lent(member, epoch) {
            seat.agree(member, epoch, bytes)?;
            let other = seat.packed(member, epoch, bytes as usize).cast_const();
            return Ok(Offers { seat, epoch, bytes, other, _copy: None });
        }
        let lent = seat.told(member, epoch, bytes)?;
        let place = || Ok(copy.insert(Temporary::packed(bytes)?).1.address);
        // SAFETY: the member has lent so much until the last epoch; the copy is ours.
        let other = unsafe { lent.find((seat, member, epoch), 0, bytes, place, Copied::Exchange, by)? };
        fetch(other, bytes as usize);
        Ok(Offers { seat, epoch, bytes, other, _copy: copy })
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

    /// Copies that of the other into the slot of this member, which has lent its own and so has no
    /// other use for it. Nothing of the other's is needed any more.
    #[inline]
    pub fn take(&mut self) {
        let slot = self.seat.packed(self.seat.rank, self.epoch, self.bytes as usize);
        // SAFETY: the payload is so long; the slot has room, and nobody reads it.
        unsafe { plain(self.other, slot, self.bytes as usize) };
        self.other = slot;
    }
}
