//! Short payload of two members that each of them lends, if that is quicker than to copy
//! it into its slot, or has to, for the slot has no room.
//!
//! Payload in a slot is copied twice, and its lines are fetched twice from the other's core: by the
//! owner to write them, by the other to read them. Lent payload is read where it lies, but the
//! operation then has an epoch that ends it. Each member decides for itself, since it alone knows
//! whether the other can read its data by plain loads, and says in its mark what it has done; so
//! both see whether there is such an epoch.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::lending;
use crate::collective::node::buffer::peer_memory::{PeerMemory, Reachable};
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::access::Access;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::combine;
use crate::collective::scratch::Scratch;
use crate::collective::temporary::Temporary;
use crate::collective::tree::Folded;
use crate::collective::Data;
use crate::memory::copy::{fetch, plain};
use crate::reduce::Operator;
use crate::tuning::crossovers::IN_SLOTS_OF_TWO;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// So much of what the other has lent is asked for at once.
const FETCHED: u64 = 8 << 10;

/// How a member offers what it contributes: in its slot, unless it says otherwise.
pub(crate) struct Offer {
    /// Where all can read it, and how long it is, if they can.
    lies: Option<(*mut u8, u64)>,
    /// It is lent as it is, or a copy of it, for the slot has no room.
    kept: Option<Contiguous>,
}

impl Offer {
    /// For what may have no room in a slot.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    #[inline(always)]
    pub fn of(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<Offer> {
        let mut offer = Offer::of_short(party, data);
        if offer.lies.is_none() && data.bytes() > party.slot() {
            offer.keep(party, data)?;
        }
        Ok(offer)
    }

    /// For what the other's data take the place of.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn copied(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<Offer> {
        let is_long = data.bytes() > party.slot();
        let kept = is_long.then(|| Contiguous::copied(party, data)).transpose()?;
        Ok(Offer { lies: None, kept })
    }

    /// For what has room in a slot.
    #[inline(always)]
    pub fn of_short(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Offer {
        let lies = (IN_SLOTS_OF_TWO.is_passed_by(data.bytes()) && may_lend(party.member))
            .then(|| data.dense())
            .flatten();
        Offer {
            lies: lies.filter(|&(address, bytes)| party.memory.is_shared(party.member, address, bytes)),
            kept: None,
        }
    }

    #[cold]
    fn keep(&mut self, party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<()> {
        self.kept = Some(Contiguous::to_read(party, data, 1)?);
        Ok(())
    }

    /// Whether it is not in the slot.
    #[inline(always)]
    pub fn is_lent(&self) -> bool {
        self.lies.is_some() || self.kept.is_some()
    }

    /// How much of its half it takes, or what says where it lies.
    #[inline(always)]
    pub fn room(&self, me: &Member, data: &Data) -> u64 {
        match self.is_lent() {
            true => me.narrow(),
            false => data.bytes(),
        }
    }

    /// Publishes it in an epoch that has just begun. The caller writes nothing there until the other has done
    /// with it, and has waited as rule 2 of the block wants. A lent operand has the place of a result with
    /// it, if the other can write there.
    #[inline(always)]
    pub fn publish(&self, me: &Member, epoch: u64, data: &Data, result: Option<*mut u8>) {
        match self.is_lent() {
            true => self.lend(me, epoch, result),
            false => me.publish(epoch, data),
        }
    }

    /// The same of what is lent.
    #[inline(always)]
    pub fn lend(&self, me: &Member, epoch: u64, result: Option<*mut u8>) {
        let receive = result.map_or(0, |place| place as u64);
        if let Some((address, bytes)) = self.lies {
            return Descriptor::new(address as u64, receive, bytes).put(me, epoch);
        }
        if let Some(kept) = &self.kept {
            let mut lent = kept.descriptor(me);
            lent.receive = receive;
            lent.put(me, epoch);
        }
    }

    /// Where it lies, if all can read and write there.
    pub fn place(&self) -> Option<*mut u8> {
        self.lies.map(|(address, _)| address)
    }

    /// This member, one of two of which some have lent, has done with what the other has offered. The epoch
    /// to wait for, until the other has done with this, unless that may stay behind.
    #[inline]
    pub fn done(&mut self, me: &Member, epoch: u64) -> Option<u64> {
        match &mut self.kept {
            Some(kept) => lending::done(me, epoch, kept),
            None => Some(me.arrive_at_next()),
        }
    }
}

/// Whether a member has lent what it has offered, when both have arrived. Then [`Offers`] are
/// used, and one more epoch ends the operation; else all lies in slots, as ever.
#[inline]
pub(crate) fn are_lent(me: &Member, epoch: u64) -> bool {
    me.size == 2 && (0..2).any(|member| me.has_words(member, epoch))
}

/// Whether anything is lent. Nothing is where ranks share CPUs, for each epoch costs them a turn, nor
/// before both have settled how they reach each other.
#[inline]
pub(crate) fn may_lend(me: &Member) -> bool {
    me.size == 2 && me.reaches(Access::Read) && !me.shares_cpus()
}

/// The place of a result of so many bytes, if the other can write there.
#[inline]
pub(crate) fn open(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    place: *mut u8,
    bytes: u64,
) -> Option<*mut u8> {
    (party.memory.lend(party.member, (place.cast_const(), bytes), 1) == Reachable::All).then_some(place)
}

/// Whether both have lent the places of their results, too, and can write there.
#[inline]
pub(crate) fn have_lent_results(me: &Member, epoch: u64) -> bool {
    me.reaches(Access::Write) && (0..me.size).all(|member| me.has_lent_result(member, epoch))
}

/// Copies what the other has offered, some of the two having lent, to data as long as it.
///
/// # Errors
/// As [`Offers::find`].
#[inline]
pub(crate) fn take(party: &Party<'_, impl Wait, impl PeerMemory>, epoch: u64, data: &Data) -> Result<()> {
    let (other, bytes) = (1 - party.rank, data.bytes());
    if bytes > party.narrow() {
        return lending::take(party, (other, epoch), (0, bytes), data, CopyKind::Allgather);
    }
    let offers = Offers::find(party, epoch, bytes, 0..bytes)?;
    // SAFETY: the payload is as long as the data, which the program lends.
    unsafe { Member::unpack(offers.at(other, 0), data) };
    Ok(())
}

/// What both members have offered.
pub(crate) struct Offers<'a> {
    me: &'a Member,
    epoch: u64,
    bytes: u64,
    /// Where that of the other can be read.
    other: *const u8,
    /// If it cannot be read where it lies.
    copy: Option<Scratch>,
}

impl<'a> Offers<'a> {
    /// `bytes` bytes each, of which this member wants a part of the other's.
    ///
    /// # Errors
    /// `Truncate` where the members do not agree, `NoMem`, what reaching reports.
    #[inline]
    pub fn find(
        party: &Party<'a, impl Wait, impl PeerMemory>,
        epoch: u64,
        bytes: u64,
        wanted: Range<u64>,
    ) -> Result<Offers<'a>> {
        let (member, mut copy) = (1 - party.rank, None);
        if !party.has_words(member, epoch) {
            party.agree(member, epoch, bytes)?;
            let other = party.packed(member, epoch, bytes as usize).cast_const();
            return Ok(Offers { me: party.member, epoch, bytes, other, copy: None });
        }
        let lent = party.lent_by(member, epoch, bytes)?;
        let place = || Ok(copy.insert(Scratch::from(Temporary::packed(bytes)?.0)).address());
        // SAFETY: the member has lent so much until the last epoch; the copy is ours.
        let other = unsafe { lent.find(party, (member, epoch), (0, bytes), place, CopyKind::Exchange)? };
        let length = (wanted.end - wanted.start).min(FETCHED);
        fetch(other.wrapping_add(wanted.start as usize), length as usize);
        Ok(Offers { me: party.member, epoch, bytes, other, copy })
    }

    /// Where the payload of a member can be read, from some byte on.
    #[inline]
    pub fn at(&self, member: u32, from: usize) -> *const u8 {
        match member == self.me.rank {
            true => self.me.offered(self.epoch, self.bytes),
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
        let slot = self.me.packed(self.me.rank, self.epoch, self.bytes as usize);
        // SAFETY: the payload is so long; the slot has room, and nobody reads it.
        unsafe { plain(self.other, slot, self.bytes as usize) };
        self.other = slot;
    }

    /// The same of what has no room there: to where the result goes, or elsewhere.
    ///
    /// # Errors
    /// `NoMem` for another place.
    pub fn taken_to(
        mut self,
        result: Option<*mut u8>,
        party: &Party<'_, impl Wait, impl PeerMemory>,
    ) -> Result<Offers<'a>> {
        if self.copy.is_some() {
            return Ok(self);
        }
        let place = match result {
            Some(result) => result,
            None => {
                let scratch = party.memory.scratch(party.member, self.bytes);
                let scratch = scratch.map_or_else(|| Ok(Temporary::packed(self.bytes)?.0.into()), Ok)?;
                self.copy.insert(scratch).address()
            }
        };
        // SAFETY: the payload is so long; the place has room, and nobody else uses it.
        unsafe { plain(self.other, place, self.bytes as usize) };
        self.other = place;
        Ok(self)
    }
}
