//! Memory that a member lends to the others, and how they read it.
//!
//! Pages that belong to other data too are not shared. Others would have to copy the ends of what is lent
//! through the kernel, which takes longer than all the rest of a few pages. So the lender puts such ends into
//! its slot, as payload of the epoch in which it lends. They stay there as long as what is lent does.

use crate::collective::node::buffer::destination::Destination;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::memory::copy::Chooser;
use crate::Result;

/// The memory that a member lends to the others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// What it contributes.
    pub send: u64,
    /// Where its result goes, if others read or write there.
    pub receive: u64,
    /// How long what it contributes is.
    pub bytes: u64,
    /// Where the ends of its result go, if they have a place of their own (`destination.rs`).
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

/// The result of a member, as it is lent.
pub(crate) struct LentResult {
    pub address: u64,
    pub bytes: u64,
    /// Where its ends go; 0: to their own place.
    pub ends: u64,
    /// How long the ends are that others cannot write by plain stores.
    pub apart: (u64, u64),
    /// Others can write all of it by plain stores, but for such ends.
    pub open: bool,
}

impl Descriptor {
    /// Of what a member contributes and where its result goes.
    pub fn new(send: u64, receive: u64, bytes: u64) -> Descriptor {
        Descriptor { send, receive, bytes, ..Descriptor::default() }
    }

    /// Of a copy that may be read after its owner has gone on.
    pub fn copy(address: *const u8, bytes: u64) -> Descriptor {
        Descriptor { is_copy: true, ..Descriptor::new(address as u64, 0, bytes) }
    }

    /// The same, of which so many bytes at the beginning and at the end lie in the slot, as far as there is room.
    pub fn with_ends_in_slot(self, (head, tail): (u64, u64), room: u64) -> Descriptor {
        let head = if head <= room { head } else { 0 };
        let tail = if head + tail <= room { tail } else { 0 };
        Descriptor { head: head as u16, tail: tail as u16, ..self }
    }

    /// The same and where the member's result goes, which is lent too.
    pub fn with_result(self, result: LentResult) -> Descriptor {
        let LentResult { address, bytes, ends, apart: (head, tail), open } = result;
        let result_bytes = [0, 16, 32].map(|bits| (bytes >> bits) as u16);
        Descriptor { receive: address, ends, apart: [head as u16, tail as u16], open, result_bytes, ..self }
    }

    /// How long the result is that is lent.
    pub fn result_bytes(&self) -> u64 {
        self.result_bytes.iter().rev().fold(0, |bytes, &part| bytes << 16 | u64::from(part))
    }

    /// Where others put the result that is lent, which has so many bytes.
    pub fn destination(&self, bytes: u64) -> Destination {
        Destination::new(self.receive, bytes, self.ends, self.apart.map(u64::from))
    }

    /// Lends one's own data in an epoch that has just begun.
    pub async fn lend(self, party: &Party<'_, impl Wait, impl PeerMemory>, epoch: u64) -> Result<()> {
        party.wait_until_free(epoch, party.narrow()).await?;
        self.put(party.member, epoch);
        Ok(())
    }

    /// The same of a member that has waited as rule 2 of the control block demands.
    #[inline]
    pub fn put(self, me: &Member, epoch: u64) {
        me.publish_words(epoch, self, |slot| {
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
    /// As [`PeerMemory::read`], and what `place` reports.
    ///
    /// # Safety
    /// As [`Descriptor::read`]; the place must have room for them.
    pub unsafe fn find(
        &self,
        party: &Party<'_, impl Wait, impl PeerMemory>,
        (member, epoch): (u32, u64),
        (offset, bytes): (u64, u64),
        place: impl FnOnce() -> Result<*mut u8>,
        kind: CopyKind,
    ) -> Result<*const u8> {
        if let Some(found) = party.memory.direct(party.member, member, self.send + offset, bytes) {
            return Ok(found);
        }
        let (place, copies) = (place()?, party.member.chooser(kind));
        // SAFETY: by the caller.
        unsafe { self.read(party, (member, epoch), offset, (place, bytes as usize), copies)? };
        Ok(place.cast_const())
    }

    /// Reads bytes from `offset` on of what a member has lent in an epoch.
    ///
    /// # Errors
    /// As [`PeerMemory::read`].
    ///
    /// # Safety
    /// As [`PeerMemory::read`]; the range must be within what is lent.
    #[inline]
    pub unsafe fn read(
        &self,
        party: &Party<'_, impl Wait, impl PeerMemory>,
        (member, epoch): (u32, u64),
        offset: u64,
        (target, bytes): (*mut u8, usize),
        copies: &Chooser,
    ) -> Result<()> {
        if self.head + self.tail == 0 {
            let from = self.send + offset;
            // SAFETY: by the caller.
            return unsafe { party.memory.read(party.member, member, from, target, bytes, copies) };
        }
        // SAFETY: the same.
        unsafe { self.read_in_parts(party, (member, epoch), offset, (target, bytes), copies) }
    }

    /// The same of what has ends in the slot.
    ///
    /// # Errors
    /// As [`Descriptor::read`].
    ///
    /// # Safety
    /// As [`Descriptor::read`].
    unsafe fn read_in_parts(
        &self,
        party: &Party<'_, impl Wait, impl PeerMemory>,
        (member, epoch): (u32, u64),
        offset: u64,
        (target, bytes): (*mut u8, usize),
        copies: &Chooser,
    ) -> Result<()> {
        let (head, tail) = (u64::from(self.head), self.bytes - u64::from(self.tail));
        let end = offset + bytes as u64;
        let first = head.clamp(offset, end);
        let last = tail.clamp(first, end);
        let slot = party.packed(member, epoch, party.narrow() as usize).cast_const();
        let at = |from: u64| target.wrapping_add((from - offset) as usize);
        // SAFETY: the parts of the range before `first` and from `last` on lie in the
        // slot, one behind the other, the others in the member's memory; by the caller.
        unsafe {
            let before = slot.wrapping_add(offset as usize);
            std::ptr::copy_nonoverlapping(before, target, (first - offset) as usize);
            if first < last {
                let (from, middle) = (self.send + first, (last - first) as usize);
                party.memory.read(party.member, member, from, at(first), middle, copies)?;
            }
            let behind = slot.wrapping_add((head + last).wrapping_sub(tail) as usize);
            std::ptr::copy_nonoverlapping(behind, at(last), (end - last) as usize);
        }
        Ok(())
    }
}

/// What members have lent. A descriptor is all that is published as words.
impl Member {
    /// The descriptor that a member has published.
    #[inline]
    fn descriptor(&self, member: u32, epoch: u64) -> Descriptor {
        // SAFETY: nobody publishes other words.
        unsafe { self.words(member, epoch) }
    }

    /// What a member that has arrived has lent.
    ///
    /// # Errors
    /// `Truncate`: it is not `expected` bytes long.
    #[inline]
    pub(crate) fn lent_by(&self, member: u32, epoch: u64, expected: u64) -> Result<Descriptor> {
        if !self.has_words(member, epoch) {
            return Err(self.disagree(member, self.published_by(member, epoch), expected));
        }
        let lent = self.descriptor(member, epoch);
        match lent.bytes == expected {
            true => Ok(lent),
            false => Err(self.disagree(member, lent.bytes, expected)),
        }
    }

    /// Whether a member that has arrived has lent a copy that others may read after it has gone on.
    #[inline]
    pub(crate) fn has_lent_copy(&self, member: u32, epoch: u64) -> bool {
        self.has_words(member, epoch) && self.descriptor(member, epoch).is_copy
    }

    /// Whether all members have, so that no epoch has to end the operation.
    #[inline]
    pub(crate) fn have_all_lent_copies(&self, epoch: u64) -> bool {
        (0..self.size).all(|member| self.has_lent_copy(member, epoch))
    }

    /// Whether a member that has arrived has lent the place of its result, too.
    #[inline]
    pub(crate) fn has_lent_result(&self, member: u32, epoch: u64) -> bool {
        self.has_words(member, epoch) && self.descriptor(member, epoch).receive != 0
    }

    /// Where the payload of this member lies, which has lent or published so many bytes.
    #[inline]
    pub(crate) fn offered(&self, epoch: u64, bytes: u64) -> *const u8 {
        match self.has_words(self.rank, epoch) {
            true => self.descriptor(self.rank, epoch).send as *const u8,
            false => self.packed(self.rank, epoch, bytes as usize).cast_const(),
        }
    }
}
