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
use super::whole::Whole;
use crate::collective::temporary::Temporary;
use crate::collective::Data;
use crate::datatype::{self, Basic, Datatype};
use crate::memory::copy::fetch;
use crate::Result;

/// Payload up to so many bytes is not lent: copying it takes less than an epoch does.
const COPIED: u64 = 2048;

/// Publishes payload of an epoch that has just begun, or lends it. The caller writes
/// nothing there until the operation is over, and has waited as rule 2 of the block wants.
#[inline]
pub(super) fn offer(seat: &Seat, epoch: u64, data: &Data, by: &impl Reach) {
    if seat.size == 2 && data.bytes() > COPIED {
        if let Some(whole) = lendable(seat, data, by) {
            return seat.tell(epoch, Lent::new(whole.address as u64, 0, whole.bytes));
        }
    }
    seat.publish(epoch, data);
}

/// Whether a member has lent what it has offered, when both have arrived. Then [`used`]
/// does the operation, and one more epoch ends it; else all lies in slots, as ever.
#[inline]
pub(super) fn are_lent(seat: &Seat, epoch: u64) -> bool {
    seat.size == 2 && (0..2).any(|member| seat.has_lent(member, epoch))
}

/// The data, if they may be lent. Where ranks share cores nothing is, for each epoch costs
/// them a turn; nor before both have settled how they reach each other.
fn lendable(seat: &Seat, data: &Data, by: &impl Reach) -> Option<Whole> {
    let reached = seat.reaches.get().is_some_and(|&reaches| reaches >= Reaches::ToRead);
    if !reached || seat.block().shape().is_wide() {
        return None;
    }
    Whole::of(data).filter(|whole| by.is_shared(seat, whole.address, whole.bytes))
}

/// What both members have offered.
pub(super) struct Offers {
    places: [*const u8; 2],
    /// Of what cannot be read where it lies.
    copy: Option<(Temporary, Data)>,
}

impl Offers {
    /// Where the payload of a member can be read, from some byte on.
    #[inline]
    pub fn at(&self, member: u32, from: usize) -> *const u8 {
        self.places[member as usize].wrapping_add(from)
    }

    /// Copies the payload of a member from some byte on to `data`.
    ///
    /// # Safety
    /// The payload must be long enough; the program lends the data.
    pub unsafe fn take(&self, (member, from): (u32, u64), data: &Data) {
        let packed = Datatype::shared(Basic::Packed);
        let source = (&**packed, self.at(member, from as usize), data.bytes());
        // SAFETY: by the caller.
        unsafe { datatype::copy(source, (&data.datatype, data.address, data.count)) };
    }

    /// # Errors
    /// `Truncate` where the members do not agree, `NoMem`, what reaching reports.
    fn find(seat: &Seat, epoch: u64, bytes: u64, by: &impl Reach) -> Result<Offers> {
        let mut offers = Offers { places: [std::ptr::null(); 2], copy: None };
        for member in 0..2 {
            offers.places[member as usize] = match seat.has_lent(member, epoch) {
                true => offers.lent((seat, member, epoch), bytes, by)?,
                false => {
                    seat.agree(member, epoch, bytes)?;
                    seat.packed(member, epoch, bytes as usize).cast_const()
                }
            };
        }
        Ok(offers)
    }

    fn lent(
        &mut self,
        (seat, member, epoch): (&Seat, u32, u64),
        bytes: u64,
        by: &impl Reach,
    ) -> Result<*const u8> {
        let lent = seat.told(member, epoch, bytes)?;
        if member == seat.rank {
            return Ok(lent.send as *const u8);
        }
        let place = || Ok(self.copy.insert(Temporary::packed(bytes)?).1.address);
        // SAFETY: the member has lent so much until the last epoch; the copy is ours.
        let found = unsafe { lent.find((seat, member, epoch), 0, bytes, place, Copied::Exchange, by)? };
        fetch(found, bytes as usize);
        Ok(found)
    }
}

/// Has what both have offered used, `bytes` bytes each.
///
/// # Errors
/// As [`Offers::find`], and what `using` reports.
pub(super) fn used(
    seat: &Seat,
    epoch: u64,
    bytes: u64,
    by: &impl Reach,
    using: impl FnOnce(&Offers) -> Result<()>,
) -> Result<()> {
    Offers::find(seat, epoch, bytes, by).and_then(|offers| using(&offers))
}
