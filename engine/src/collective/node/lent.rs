//! Memory that a member lends to the others, and how they read it.
//!
//! Pages that belong to other data too are not shared, so others would have to copy the
//! ends of what is lent through the kernel, which takes longer than all the rest of a few
//! pages. Where that is so the lender puts the ends into its slot, as payload of the
//! epoch in which it lends: they stay there as long as what is lent does.

use super::block::INLINE_BYTES;
use super::reach::{Plain, Reach};
use super::seat::{Copied, Seat, Wait};
use super::whole::Whole;
use crate::memory::copy::Chooser;
use crate::Result;

/// The memory that a member lends to the others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lent {
    /// What it contributes.
    pub send: u64,
    /// Where its result goes, if others read or write there.
    pub receive: u64,
    /// How long what it contributes is.
    pub bytes: u64,
    /// Where the ends of its result go, if they have a place of their own (`target.rs`).
    pub ends: u64,
    /// How long the ends are that others cannot write by plain stores, where they can write what is
    /// in between: of its beginning, and of its end.
    pub apart: [u16; 2],
    /// Bytes at the beginning of what it contributes that lie in the slot.
    head: u16,
    /// Bytes at its end that lie behind them.
    tail: u16,
    /// Others can write its result by plain stores.
    pub open: bool,
    /// What it contributes is a copy, and may be read after it has gone on.
    pub is_copy: bool,
    /// How long its result is, the lower part first.
    result_bytes: [u16; 3],
}

const _: () = assert!(std::mem::size_of::<Lent>() <= INLINE_BYTES);

impl Lent {
    /// Of what a member contributes and where its result goes.
    pub fn new(send: u64, receive: u64, bytes: u64) -> Lent {
        Lent { send, receive, bytes, ..Lent::default() }
    }

    /// Of a copy that may be read after its owner has gone on.
    pub fn copy(address: *const u8, bytes: u64) -> Lent {
        Lent { is_copy: true, ..Lent::new(address as u64, 0, bytes) }
    }

    /// Of what a member contributes: its own data, which are lent, and whose ends lie apart as far as there is room.
    pub fn of(seat: &Seat, send: &Whole) -> Lent {
        let (head, tail) = send.beyond_reach();
        let room = seat.narrow();
        let head = if head <= room { head } else { 0 };
        let tail = if head + tail <= room { tail } else { 0 };
        let (head, tail, is_copy) = (head as u16, tail as u16, send.may_stay_behind());
        Lent { head, tail, is_copy, ..Lent::new(send.address as u64, 0, send.bytes) }
    }

    /// The same and where one's result goes, which is lent too.
    pub fn with_result(self, result: &Whole) -> Lent {
        let (head, tail) = result.beyond_reach();
        let ends = result.ends.as_ref().map_or(0, |ends| ends.address() as u64);
        let open = result.plain == Plain::All || ends != 0;
        let result_bytes = [0, 16, 32].map(|bits| (result.bytes >> bits) as u16);
        let apart = [head as u16, tail as u16];
        Lent { receive: result.address as u64, ends, apart, open, result_bytes, ..self }
    }

    /// How long the result is that is lent.
    pub fn result_bytes(&self) -> u64 {
        self.result_bytes.iter().rev().fold(0, |bytes, &part| bytes << 16 | u64::from(part))
    }

    /// Lends one's own data in an epoch that has just begun.
    pub async fn tell(self, seat: &Seat, epoch: u64, by: &impl Wait) -> Result<()> {
        seat.room(epoch, by).await?;
        self.put(seat, epoch);
        Ok(())
    }

    /// The same for who has waited as rule 2 of the block wants.
    pub fn put(self, seat: &Seat, epoch: u64) {
        seat.tell_with(epoch, self, |slot| {
            let (head, tail) = (self.head as usize, self.tail as usize);
            if head + tail == 0 {
                return;
            }
            let end = (self.send + self.bytes) as usize - tail;
            // SAFETY: the program lends the data, and the slot has room for both ends.
            unsafe {
                std::ptr::copy_nonoverlapping(self.send as *const u8, slot, head);
                std::ptr::copy_nonoverlapping(end as *const u8, slot.add(head), tail);
            }
        });
    }

    /// Where `bytes` bytes from `offset` on of what another member has lent can be read in this
    /// process: where they lie, or in a copy at the place that `place` finds.
    ///
    /// # Errors
    /// As [`Reach::read`], and what `place` reports.
    ///
    /// # Safety
    /// As [`Lent::read`]; the place must have room for them.
    pub unsafe fn find(
        &self,
        (seat, member, epoch): (&Seat, u32, u64),
        offset: u64,
        bytes: u64,
        place: impl FnOnce() -> Result<*mut u8>,
        copied: Copied,
        by: &impl Reach,
    ) -> Result<*const u8> {
        if let Some(found) = by.direct(seat, member, self.send + offset, bytes) {
            return Ok(found);
        }
        let (place, copies) = (place()?, seat.chooser(copied));
        // SAFETY: by the caller.
        unsafe { self.read((seat, member, epoch), offset, place, bytes as usize, copies, by)? };
        Ok(place.cast_const())
    }

    /// Reads `bytes` bytes from `offset` on of what a member has lent in an epoch.
    ///
    /// # Errors
    /// As [`Reach::read`].
    ///
    /// # Safety
    /// As [`Reach::read`]; the range must be within what is lent.
    #[inline]
    pub unsafe fn read(
        &self,
        (seat, member, epoch): (&Seat, u32, u64),
        offset: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
        by: &impl Reach,
    ) -> Result<()> {
        if self.head + self.tail == 0 {
            // SAFETY: by the caller.
            return unsafe { by.read(seat, member, self.send + offset, target, bytes, copies) };
        }
        // SAFETY: the same.
        unsafe { self.read_in_parts((seat, member, epoch), offset, target, bytes, copies, by) }
    }

    /// The same of what has ends in the slot.
    ///
    /// # Errors
    /// As [`Lent::read`].
    ///
    /// # Safety
    /// As [`Lent::read`].
    unsafe fn read_in_parts(
        &self,
        (seat, member, epoch): (&Seat, u32, u64),
        offset: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
        by: &impl Reach,
    ) -> Result<()> {
        let (head, tail) = (u64::from(self.head), self.bytes - u64::from(self.tail));
        let end = offset + bytes as u64;
        let first = head.clamp(offset, end);
        let last = tail.clamp(first, end);
        let slot = seat.packed(member, epoch, seat.narrow() as usize).cast_const();
        let at = |from: u64| target.wrapping_add((from - offset) as usize);
        // SAFETY: the parts of the range before `first` and from `last` on lie in the
        // slot, one behind the other, the others in the member's memory; by the caller.
        unsafe {
            let before = slot.wrapping_add(offset as usize);
            std::ptr::copy_nonoverlapping(before, target, (first - offset) as usize);
            if first < last {
                by.read(seat, member, self.send + first, at(first), (last - first) as usize, copies)?;
            }
            let behind = slot.wrapping_add((head + last).wrapping_sub(tail) as usize);
            std::ptr::copy_nonoverlapping(behind, at(last), (end - last) as usize);
        }
        Ok(())
    }
}
