//! Data that an operation on a node lends: the program's own, or a copy of them.
//!
//! What others do not reach by plain loads and stores they would have to copy through the
//! kernel, which takes some microseconds before it moves a byte. So they find a copy of it in a
//! bounce buffer, if there is one, and results come home from there. Data with gaps are always
//! copied.

use super::behind::LONGEST;
use super::reach::{Plain, Reach, Room};
use super::seat::{Copied, Seat};
use super::target::{Target, ENDS};
use crate::collective::temporary::Temporary;
use crate::collective::{schedule, Data};
use crate::Result;

/// Data of which others do not reach the ends are copied for them up to so many bytes, if there
/// is no room in a slot for the ends: one that comes through the kernel takes about as long.
const COPIED: u64 = 128 << 10;

/// Data in one piece: the program's own, or a copy without their gaps or within reach of all.
pub(super) struct Whole {
    pub address: *mut u8,
    pub bytes: u64,
    copy: Option<(Room, Data)>,
    /// What others reach of it, if it is lent to them.
    pub plain: Plain,
    /// A place for the ends that they do not reach, if they are to write there.
    pub ends: Option<Room>,
}

impl Whole {
    /// The data themselves, if they lie in one piece.
    pub fn of(data: &Data) -> Option<Whole> {
        let (address, bytes) = data.dense()?;
        Some(Whole { address, bytes, copy: None, plain: Plain::Nothing, ends: None })
    }

    /// The data, for this member alone.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn packed(seat: &Seat, data: &Data) -> Result<Whole> {
        match Whole::of(data) {
            Some(whole) => Ok(whole),
            None => Ok(Whole::empty(data)?.filled(seat, data)),
        }
    }

    /// The data, lent to be read by others: all of it by so many of them.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_read(seat: &Seat, data: &Data, readers: u32, by: &impl Reach) -> Result<Whole> {
        let room = seat.narrow();
        let suits = |whole: &Whole| match whole.plain {
            Plain::Middle(head, tail) => head + tail <= room || whole.bytes > COPIED,
            plain => plain == Plain::All,
        };
        match Whole::lent(seat, (data, readers), suits, by) {
            Ok(whole) => Ok(whole),
            Err(room) => Ok(Whole::placed(seat, data, room, by)?.filled(seat, data)),
        }
    }

    /// A copy of the data, lent to be read by others.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn copied(seat: &Seat, data: &Data, by: &impl Reach) -> Result<Whole> {
        Ok(Whole::room_to_be_written(seat, data, by)?.filled(seat, data))
    }

    /// Room for what comes into the data, lent to be written by others.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_be_written(seat: &Seat, data: &Data, by: &impl Reach) -> Result<Whole> {
        let mut whole = Whole::to_be_written_but_ends(seat, data, by)?;
        if matches!(whole.plain, Plain::Middle(..)) {
            whole.ends = by.room(seat, ENDS);
        }
        Ok(whole)
    }

    /// The same in a copy, whether or not others could reach the data.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn room_to_be_written(seat: &Seat, data: &Data, by: &impl Reach) -> Result<Whole> {
        let room = by.room(seat, data.bytes());
        Whole::placed(seat, data, room, by)
    }

    /// The same where others do not write to the ends that they would reach through the kernel only.
    ///
    /// # Errors
    /// `NoMem` for a copy.
    pub fn to_be_written_but_ends(seat: &Seat, data: &Data, by: &impl Reach) -> Result<Whole> {
        match Whole::lent(seat, (data, 1), |whole| whole.plain != Plain::Nothing, by) {
            Ok(whole) => Ok(whole),
            Err(room) => Whole::placed(seat, data, room, by),
        }
    }

    /// Room for what comes into the data, for this member alone.
    ///
    /// # Errors
    /// `NoMem` for the copy.
    pub fn to_write(data: &Data) -> Result<Whole> {
        match Whole::of(data) {
            Some(whole) => Ok(whole),
            None => Whole::empty(data),
        }
    }

    /// Room in a copy for what comes into the data, for this member alone.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn empty(data: &Data) -> Result<Whole> {
        let (memory, copy) = Temporary::packed(data.bytes())?;
        let address = copy.address;
        Ok(Whole {
            address,
            bytes: copy.count,
            copy: Some((memory.into(), copy)),
            plain: Plain::Nothing,
            ends: None,
        })
    }

    /// This is lent to be written by others, with room for a block like `receive` of every member. Puts
    /// the one of this member there: `own`, or what is in its place already.
    pub fn put_own(&self, seat: &Seat, receive: &Data, own: Option<&Data>) {
        let (block, there) = (receive.bytes(), receive.blocks(seat.rank, 1));
        let at = u64::from(seat.rank) * block;
        if own.is_some() || self.copy.is_some() {
            let address = self.address.wrapping_add(at as usize);
            // SAFETY: the program lends both, and the face has seen that they are apart; a copy is ours.
            unsafe { schedule::copy(own.unwrap_or(&there), &Data { address, ..Data::packed(block) }) };
        }
        // SAFETY: the others write their own blocks only.
        unsafe { Target::own(self).keep(at, block as usize) };
    }

    /// How many bytes at its beginning and at its end others do not reach, where they reach what
    /// is in between.
    pub fn beyond_reach(&self) -> (u64, u64) {
        match self.plain {
            Plain::Middle(head, tail) => (head, tail),
            Plain::All | Plain::Nothing => (0, 0),
        }
    }

    /// Whether this is a copy that the others may go on to read without this member.
    pub fn may_stay_behind(&self) -> bool {
        self.copy.is_some() && self.plain == Plain::All && self.bytes <= LONGEST
    }

    /// Leaves it to the others since an epoch, if it is such a copy; else says no.
    pub fn stay_behind(&mut self, seat: &Seat, epoch: u64) -> bool {
        let may = self.may_stay_behind();
        if let Some((copy, _)) = self.copy.take_if(|_| may) {
            seat.leave_behind(epoch, copy);
        }
        may
    }

    /// What has come is complete: to where it belongs.
    pub fn finish(&self, data: &Data) {
        self.finish_part(data, self.bytes);
    }

    /// The same of so many bytes, which need not be all.
    pub fn finish_part(&self, data: &Data, bytes: u64) {
        if self.ends.is_some() {
            // SAFETY: the program lends the data, which others wrote until now.
            unsafe { Target::own(self).take_home() };
        }
        if let Some((_, copy)) = &self.copy {
            // SAFETY: the program lends the data; the copy is ours and as long.
            unsafe { schedule::copy(&Data { count: bytes, ..copy.clone() }, data) };
        }
    }

    /// The data themselves, lent, if they lie in one piece that suits; else room for a copy within
    /// reach of the others, if there is some.
    fn lent(
        seat: &Seat,
        (data, readers): (&Data, u32),
        suits: impl FnOnce(&Whole) -> bool,
        by: &impl Reach,
    ) -> std::result::Result<Whole, Option<Room>> {
        let room = |bytes| by.room(seat, bytes);
        let Some(mut whole) = Whole::of(data) else { return Err(room(data.bytes())) };
        whole.plain = by.lend(seat, (whole.address, whole.bytes), readers);
        if whole.bytes == 0 || suits(&whole) {
            return Ok(whole);
        }
        room(whole.bytes).map_or(Ok(whole), |room| Err(Some(room)))
    }

    /// A place for a copy: in a room within reach of the others, or elsewhere.
    fn placed(seat: &Seat, data: &Data, room: Option<Room>, by: &impl Reach) -> Result<Whole> {
        let bytes = data.bytes();
        let Some(room) = room else {
            let mut whole = Whole::empty(data)?;
            whole.plain = by.lend(seat, (whole.address.cast_const(), bytes), 1);
            return Ok(whole);
        };
        let address = room.address();
        let copy = Data { address, ..Data::packed(bytes) };
        Ok(Whole { address, bytes, copy: Some((room, copy)), plain: Plain::All, ends: None })
    }

    /// The same with the data.
    fn filled(self, seat: &Seat, data: &Data) -> Whole {
        if let Some((_, copy)) = &self.copy {
            // SAFETY: the program lends the data; the copy is ours and as long.
            unsafe {
                match data.dense() {
                    Some((from, bytes)) => {
                        seat.chooser(Copied::Slot).copy(from, copy.address, bytes as usize);
                    }
                    None => schedule::copy(data, copy),
                }
            }
        }
        self
    }
}
