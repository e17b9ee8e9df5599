//! Data in one piece, as an operation lends them: the program's own, or a copy of them.
//!
//! Memory that others do not reach by plain loads and stores would have to be copied through the kernel, which
//! takes some microseconds before it moves a byte. So others find a copy of it in a bounce buffer, if there is
//! one, and results come home from there. Data with gaps are always copied.

use crate::collective::node::buffer::descriptor::{Descriptor, LentResult};
use crate::collective::node::buffer::destination::{Destination, ENDS};
use crate::collective::node::buffer::peer_memory::{PeerMemory, Reachable};
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::retained::LONGEST;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::scratch::Scratch;
use crate::collective::temporary::Temporary;
use crate::collective::{schedule, Data};
use crate::tuning::crossovers::ENDS_COPIED;
use crate::Result;
use std::ops::Range;

/// Data in one piece: the program's own, or a copy without their gaps or within reach of all.
pub(crate) struct Contiguous {
    pub address: *mut u8,
    pub bytes: u64,
    copy: Option<(Scratch, Data)>,
    /// What others reach of it, if it is lent to them.
    pub reachable: Reachable,
    /// A place for the ends that they do not reach, if they are to write there.
    ends: Option<Scratch>,
}

/// Where it comes from.
impl Contiguous {
    /// The data themselves, if they lie in one piece.
    pub fn of(data: &Data) -> Option<Contiguous> {
        let (address, bytes) = data.dense()?;
        Some(Contiguous { address, bytes, copy: None, reachable: Reachable::Nothing, ends: None })
    }

    /// The data, for this member alone.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn packed(me: &Member, data: &Data) -> Result<Contiguous> {
        match Contiguous::of(data) {
            Some(contiguous) => Ok(contiguous),
            None => Ok(Contiguous::empty(data)?.filled(me, data)),
        }
    }

    /// The data, lent to be read by others: all of it by so many of them.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_read(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
        readers: u32,
    ) -> Result<Contiguous> {
        Contiguous::to_read_but(party, data, readers, 0..0)
    }

    /// A block for each member, lent to be read by the others, each its own. The one of this member is not in a copy.
    ///
    /// # Errors
    /// `NoMem` for a copy; `Count` where the blocks together do not fit 64 bits.
    pub fn blocks_to_read(party: &Party<'_, impl Wait, impl PeerMemory>, block: &Data) -> Result<Contiguous> {
        let (bytes, rank) = (block.bytes(), u64::from(party.rank));
        Contiguous::to_read_but(party, &block.times(party.size)?, 1, rank * bytes..(rank + 1) * bytes)
    }

    fn to_read_but(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
        readers: u32,
        unread: Range<u64>,
    ) -> Result<Contiguous> {
        let room = party.narrow();
        let suits = |one: &Contiguous| match one.reachable {
            // Without room in a slot for the ends, they come through the kernel, which takes as long as a copy of some length.
            Reachable::Middle(head, tail) => head + tail <= room || ENDS_COPIED.is_passed_by(one.bytes),
            reachable => reachable == Reachable::All,
        };
        match Contiguous::lent(party, data, readers, suits) {
            Ok(contiguous) => Ok(contiguous),
            Err(scratch) => {
                Ok(Contiguous::placed(party, data, scratch)?.filled_but(party.member, data, unread))
            }
        }
    }

    /// A copy of the data, lent to be read by others.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn copied(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<Contiguous> {
        Ok(Contiguous::scratch_to_be_written(party, data)?.filled(party.member, data))
    }

    /// Room for what comes into the data, lent to be written by others.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_be_written(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<Contiguous> {
        Ok(Contiguous::to_be_written_but_ends(party, data)?.with_ends(party))
    }

    /// The same where this member would rather write all of it itself than bring home what others have written
    /// elsewhere: both take as long. Then it is not lent ([`Contiguous::is_closed`]). It is where a member may have to
    /// give so much, `given` bytes, that no copy of it stays behind: who gives would have to wait for this member.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_be_written_or_closed(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
        given: u64,
    ) -> Result<Contiguous> {
        if given.max(data.bytes()) > LONGEST {
            return Contiguous::to_be_written(party, data);
        }
        let Some(mut contiguous) = Contiguous::of(data) else { return Contiguous::empty(data) };
        let lent = (contiguous.address.cast_const(), contiguous.bytes);
        contiguous.reachable = party.memory.lend(party.member, lent, 1);
        Ok(contiguous.with_ends(party))
    }

    /// The same with a place for the ends that others do not reach.
    fn with_ends(self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Contiguous {
        match self.reachable {
            Reachable::Middle(..) => Contiguous { ends: party.memory.scratch(party.member, ENDS), ..self },
            Reachable::All | Reachable::Nothing => self,
        }
    }

    /// The same in a copy, whether or not others could reach the data.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn scratch_to_be_written(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
    ) -> Result<Contiguous> {
        let scratch = party.memory.scratch(party.member, data.bytes());
        Contiguous::placed(party, data, scratch)
    }

    /// The same where others do not write to the ends that they would reach through the kernel only.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_be_written_but_ends(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
    ) -> Result<Contiguous> {
        match Contiguous::lent(party, data, 1, |one| one.reachable != Reachable::Nothing) {
            Ok(contiguous) => Ok(contiguous),
            Err(scratch) => Contiguous::placed(party, data, scratch),
        }
    }

    /// Room for what comes into the data, for this member alone.
    ///
    /// # Errors
    /// `NoMem` for the copy.
    pub fn to_write(data: &Data) -> Result<Contiguous> {
        match Contiguous::of(data) {
            Some(contiguous) => Ok(contiguous),
            None => Contiguous::empty(data),
        }
    }

    /// Room in a copy for what comes into the data, for this member alone.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn empty(data: &Data) -> Result<Contiguous> {
        let (memory, copy) = Temporary::packed(data.bytes())?;
        let (address, bytes) = (copy.address, copy.count);
        let copy = Some((memory.into(), copy));
        Ok(Contiguous { address, bytes, copy, reachable: Reachable::Nothing, ends: None })
    }

    /// The data themselves, lent, if they lie in one piece that suits; else room for a copy within
    /// reach of the others, if there is some.
    fn lent(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
        readers: u32,
        suits: impl FnOnce(&Contiguous) -> bool,
    ) -> std::result::Result<Contiguous, Option<Scratch>> {
        let scratch = |bytes| party.memory.scratch(party.member, bytes);
        let Some(mut contiguous) = Contiguous::of(data) else { return Err(scratch(data.bytes())) };
        let lent = (contiguous.address.cast_const(), contiguous.bytes);
        contiguous.reachable = party.memory.lend(party.member, lent, readers);
        if contiguous.bytes == 0 || suits(&contiguous) {
            return Ok(contiguous);
        }
        scratch(contiguous.bytes).map_or(Ok(contiguous), |scratch| Err(Some(scratch)))
    }

    /// A place for a copy: in memory within reach of the others, or elsewhere.
    fn placed(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        data: &Data,
        scratch: Option<Scratch>,
    ) -> Result<Contiguous> {
        let bytes = data.bytes();
        let Some(scratch) = scratch else {
            let mut contiguous = Contiguous::empty(data)?;
            let lent = (contiguous.address.cast_const(), bytes);
            contiguous.reachable = party.memory.lend(party.member, lent, 1);
            return Ok(contiguous);
        };
        let address = scratch.address();
        let copy = Some((scratch, Data { address, ..Data::packed(bytes) }));
        Ok(Contiguous { address, bytes, copy, reachable: Reachable::All, ends: None })
    }

    /// The same with the data.
    fn filled(self, me: &Member, data: &Data) -> Contiguous {
        self.filled_but(me, data, 0..0)
    }

    /// The same with the data, but for bytes that nobody reads there.
    fn filled_but(self, me: &Member, data: &Data, unread: Range<u64>) -> Contiguous {
        let Some((_, copy)) = &self.copy else { return self };
        let copies = me.chooser(CopyKind::Slot);
        match data.dense() {
            Some((from, bytes)) => {
                for part in [0..unread.start, unread.end..bytes] {
                    let (at, length) = (part.start as usize, (part.end - part.start) as usize);
                    // SAFETY: the program lends the data; the copy is ours and as long.
                    unsafe { copies.copy(from.wrapping_add(at), copy.address.wrapping_add(at), length) };
                }
            }
            // SAFETY: as above.
            None => unsafe { schedule::copy(data, copy) },
        }
        self
    }
}

/// What is told of it, and what becomes of it.
impl Contiguous {
    /// What others are told who read it.
    pub fn descriptor(&self, me: &Member) -> Descriptor {
        let lent = Descriptor::new(self.address as u64, 0, self.bytes);
        let mut lent = lent.with_ends_in_slot(self.beyond_reach(), me.narrow());
        lent.is_copy = self.may_be_retained();
        lent
    }

    /// What others are told who write a result there.
    pub fn as_result(&self) -> LentResult {
        let ends = self.ends.as_ref().map_or(0, |ends| ends.address() as u64);
        LentResult {
            address: self.address as u64,
            bytes: self.bytes,
            ends,
            apart: self.beyond_reach(),
            open: self.reachable == Reachable::All || ends != 0,
        }
    }

    /// Where others, and this member, put parts of a result.
    pub fn destination(&self) -> Destination {
        let ends = self.ends.as_ref().map_or(0, |ends| ends.address() as u64);
        let (head, tail) = self.beyond_reach();
        Destination::new(self.address as u64, self.bytes, ends, [head, tail])
    }

    /// This is lent to be written by others, with room for a block like `receive` of every member. Puts
    /// the one of this member there: `own`, or what is in its place already.
    pub fn put_own(&self, me: &Member, receive: &Data, own: Option<&Data>) {
        let (block, there) = (receive.bytes(), receive.blocks(me.rank, 1));
        let at = u64::from(me.rank) * block;
        if own.is_some() || self.copy.is_some() {
            let address = self.address.wrapping_add(at as usize);
            // SAFETY: the program lends both, and the face has seen that they are apart; a copy is ours.
            unsafe { schedule::copy(own.unwrap_or(&there), &Data { address, ..Data::packed(block) }) };
        }
        // SAFETY: the others write their own blocks only.
        unsafe { self.destination().keep(at, block as usize) };
    }

    /// How many bytes at its beginning and at its end others do not reach, where they reach what
    /// is in between.
    pub fn beyond_reach(&self) -> (u64, u64) {
        match self.reachable {
            Reachable::Middle(head, tail) => (head, tail),
            Reachable::All | Reachable::Nothing => (0, 0),
        }
    }

    /// Whether this is a result that is not lent, of [`Contiguous::to_be_written_or_closed`].
    pub fn is_closed(&self) -> bool {
        self.reachable == Reachable::Nothing && self.bytes <= LONGEST
    }

    /// Whether this is a copy that the others may go on to read without this member.
    pub fn may_be_retained(&self) -> bool {
        self.copy.is_some() && self.reachable == Reachable::All && self.bytes <= LONGEST
    }

    /// Leaves it to the others, who have been told of it in this operation, if it is such a copy; else says no.
    pub fn retain(&mut self, me: &Member) -> bool {
        let may = self.may_be_retained();
        if let Some((copy, _)) = self.copy.take_if(|_| may) {
            me.retained().keep(me.half(), [copy]);
        }
        may
    }

    /// The copy, to be left to others.
    pub fn into_copy(self) -> Option<Scratch> {
        self.copy.map(|(copy, _)| copy)
    }

    /// What has come is complete: to where it belongs.
    pub fn finish(&self, data: &Data) {
        self.finish_part(data, self.bytes);
    }

    /// The same of so many bytes, which need not be all.
    pub fn finish_part(&self, data: &Data, bytes: u64) {
        if self.ends.is_some() {
            // SAFETY: the program lends the data, which others wrote until now.
            unsafe { self.destination().take_home() };
        }
        if let Some((_, copy)) = &self.copy {
            // SAFETY: the program lends the data; the copy is ours and as long.
            unsafe { schedule::copy(&Data { count: bytes, ..copy.clone() }, data) };
        }
    }
}
