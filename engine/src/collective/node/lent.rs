//! Memory that a member lends to the others, and how they read it.
//!
//! Pages that belong to other data too are not shared, so others would have to copy the
//! ends of what is lent through the kernel, which takes longer than all the rest of a few
//! pages. Where that is so the lender puts the ends into its slot, as payload of the
//! epoch in which it lends: they stay there as long as what is lent does.

use super::block::INLINE_BYTES;
use super::reach::{Reach, Whole};
use super::seat::{Seat, Wait};
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
    /// Bytes at its beginning that lie in the slot.
    head: u32,
    /// Bytes at its end that lie behind them.
    tail: u32,
    /// Others can write by plain stores where its result goes, but for its ends.
    pub open: bool,
    /// How many bytes at the beginning and at the end of its result others cannot write so,
    /// where they can write what is in between.
    pub closed: [u16; 2],
}

const _: () = assert!(std::mem::size_of::<Lent>() <= INLINE_BYTES);

impl Lent {
    /// Of what a member contributes and where its result goes.
    pub fn new(send: u64, receive: u64, bytes: u64) -> Lent {
        Lent { send, receive, bytes, head: 0, tail: 0, open: false, closed: [0; 2] }
    }

    /// The same of one's own data, whose ends lie apart as far as there is room.
    pub fn of(seat: &Seat, send: &Whole, receive: u64, by: &impl Reach) -> Lent {
        let (head, tail) = by.lend(seat, send.address, send.bytes);
        let room = seat.narrow();
        let head = if head <= room { head } else { 0 };
        let tail = if head + tail <= room { tail } else { 0 };
        Lent { head: head as u32, tail: tail as u32, ..Lent::new(send.address as u64, receive, send.bytes) }
    }

    /// Of a buffer that others may write to. Its ends, where they cannot by plain stores, lie
    /// nowhere else.
    pub fn to_be_written(seat: &Seat, buffer: &Whole, by: &impl Reach) -> Lent {
        let (head, tail) = by.lend(seat, buffer.address, buffer.bytes);
        let middle = buffer.address.wrapping_add(head as usize);
        let open = by.is_shared(seat, middle, buffer.bytes - head - tail);
        let (head, tail) = (head as u32, tail as u32);
        Lent { head, tail, open, ..Lent::new(0, buffer.address as u64, buffer.bytes) }
    }

    /// How many bytes its ends are.
    pub fn ends(&self) -> (u64, u64) {
        (self.head.into(), self.tail.into())
    }

    /// Lends one's own data in an epoch that has just begun.
    pub async fn tell(self, seat: &Seat, epoch: u64, by: &impl Wait) -> Result<()> {
        seat.room(epoch, by).await?;
        seat.tell_with(epoch, self, |slot| {
            let (head, tail) = (self.head as usize, self.tail as usize);
            let end = (self.send + self.bytes) as usize - tail;
            // SAFETY: the program lends the data, and the slot has room for both ends.
            unsafe {
                std::ptr::copy_nonoverlapping(self.send as *const u8, slot, head);
                std::ptr::copy_nonoverlapping(end as *const u8, slot.add(head), tail);
            }
        });
        Ok(())
    }

    /// Reads `bytes` bytes from `offset` on of what a member has lent in an epoch.
    ///
    /// # Errors
    /// As [`Reach::read`].
    ///
    /// # Safety
    /// As [`Reach::read`]; the range must be within what is lent.
    pub unsafe fn read(
        &self,
        (seat, member, epoch): (&Seat, u32, u64),
        offset: u64,
        target: *mut u8,
        bytes: usize,
        copies: &mut Chooser,
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
