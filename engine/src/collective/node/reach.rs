//! The memory of the other members, as the large forms need it.

use super::seat::Seat;
use crate::collective::temporary::Temporary;
use crate::collective::{schedule, Data};
use crate::memory::copy::Chooser;
use crate::Result;

/// What can be done with the memory of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaches {
    /// Nothing.
    Nothing,
    /// It can be read.
    ToRead,
    /// It can be read and written.
    ToWrite,
}

/// How a member reaches the memory of the others. The engine's own asks the
/// transport; tests have a simpler one.
pub trait Reach {
    /// How the memory of all other members can be reached, wherever it lies.
    fn reaches(&self, seat: &Seat) -> Reaches;

    /// Provides memory for the wide slots of a block that this rank has lent.
    fn widen(&self, seat: &Seat) -> bool;

    /// The program lends this memory until the operation is complete: others are
    /// about to be told its address. How many bytes at its beginning and at its end
    /// others cannot read by plain loads, where they can read what is in between.
    fn lend(&self, seat: &Seat, address: *const u8, bytes: u64) -> (u64, u64);

    /// Whether others can read all of this memory by plain loads.
    fn is_shared(&self, seat: &Seat, address: *const u8, bytes: u64) -> bool;

    /// Where a range of a member's memory lies in this process, if all of it can
    /// be read by plain loads.
    fn direct(&self, seat: &Seat, member: u32, address: u64, bytes: u64) -> Option<*const u8>;

    /// Reads a member's memory by the best means there is; plain loads and stores
    /// in the way of `copies`.
    ///
    /// # Errors
    /// The system's reason not to.
    ///
    /// # Safety
    /// The member must have lent the range and not write there meanwhile;
    /// `target` must have room and overlap it nowhere.
    unsafe fn read(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &mut Chooser,
    ) -> Result<()>;

    /// Writes into a member's memory by the best means there is; plain stores in the
    /// way of `copies`.
    ///
    /// # Errors
    /// The system's reason not to.
    ///
    /// # Safety
    /// The member must have lent the range, and nobody else may touch it
    /// meanwhile; `source` must be readable.
    unsafe fn write(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &mut Chooser,
    ) -> Result<()>;

    /// Has `make` write a range of a member's memory by plain stores, at the address that it
    /// is given, if the range can be written so here. `make` is short: who forks waits for it.
    ///
    /// # Errors
    /// What `make` reports.
    ///
    /// # Safety
    /// The member must have lent the range, and nobody else may touch it meanwhile.
    unsafe fn write_there(
        &self,
        seat: &Seat,
        member: u32,
        address: u64,
        bytes: u64,
        make: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Option<Result<()>>;
}

/// Data in one piece: the program's own, or a copy without their gaps.
pub(super) struct Whole {
    pub address: *mut u8,
    pub bytes: u64,
    copy: Option<(Temporary, Data)>,
}

impl Whole {
    /// The data themselves, if they lie in one piece.
    pub fn of(data: &Data) -> Option<Whole> {
        let (address, bytes) = data.dense()?;
        Some(Whole { address, bytes, copy: None })
    }

    /// The data to be read by others.
    ///
    /// # Errors
    /// `NoMem` for the copy.
    pub fn to_read(data: &Data) -> Result<Whole> {
        match Whole::of(data) {
            Some(whole) => Ok(whole),
            None => Whole::copied(data),
        }
    }

    /// A copy of the data.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn copied(data: &Data) -> Result<Whole> {
        let whole = Whole::empty(data)?;
        if let Some((_, copy)) = &whole.copy {
            // SAFETY: the program lends the data; the copy is ours and as long.
            unsafe { schedule::copy(data, copy) };
        }
        Ok(whole)
    }

    /// Room for what comes into the data.
    ///
    /// # Errors
    /// `NoMem` for the copy.
    pub fn to_write(data: &Data) -> Result<Whole> {
        match Whole::of(data) {
            Some(whole) => Ok(whole),
            None => Whole::empty(data),
        }
    }

    /// Room in a copy for what comes into the data.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn empty(data: &Data) -> Result<Whole> {
        let copy = Temporary::packed(data.bytes())?;
        Ok(Whole { address: copy.1.address, bytes: data.bytes(), copy: Some(copy) })
    }

    /// Room for a block of every member in `all`, where the own one of a member is put at once:
    /// `own`, or what is there already.
    ///
    /// # Errors
    /// `NoMem` for the copy.
    pub fn to_gather(all: &Data, own: Option<&Data>, member: u32, block: u64) -> Result<Whole> {
        let Some(own) = own else { return Whole::to_read(all) };
        let whole = Whole::to_write(all)?;
        let address = whole.address.wrapping_add((u64::from(member) * block) as usize);
        // SAFETY: the program lends both, and the face has seen that they are apart; a copy is ours.
        unsafe { schedule::copy(own, &Data { address, ..Data::packed(block) }) };
        Ok(whole)
    }

    /// What has come is complete: to where it belongs.
    pub fn finish(&self, data: &Data) {
        if let Some((_, copy)) = &self.copy {
            // SAFETY: the program lends the data; the copy is ours and as long.
            unsafe { schedule::copy(copy, data) };
        }
    }
}
