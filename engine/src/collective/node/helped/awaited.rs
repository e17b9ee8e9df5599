//! Long operations with tables (`exchange.rs`): the part of a member is all that comes to it.
//!
//! Beside its own blocks a member publishes where those go that it awaits. Where all members have done so
//! and something is lent, whoever waits also copies for those that compute, and no epoch ends the
//! operation. Who awaits a block says how long it is at most; a longer one is copied by nobody, and its
//! owner reports it.

use super::super::reach::Reach;
use super::super::seat::{Copied, Seat, Wait};
use super::super::table::{Block, Table};
use super::super::target::Target;
use super::super::whole::Whole;
use super::{share_out, wants, Pieces, Work, MOST_PIECES, PIECE};
use crate::collective::temporary::Temporary;
use crate::collective::Data;
use crate::Result;
use std::ops::Range;

/// The most blocks of a member: each may have a piece more than its share of them.
const MOST_BLOCKS: u64 = MOST_PIECES as u64 / 2;
/// The bits of a length; the member is above them.
const LENGTH_BITS: u32 = 48;

/// A block that a member awaits, and where it goes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Awaited {
    address: u64,
    /// As in [`Target`].
    ends: u64,
    /// How long it is at most, and whose.
    what: u64,
    apart: [u16; 2],
    /// Which of the blocks from that member.
    nth: u32,
}

impl Awaited {
    pub fn bytes(&self) -> u64 {
        self.what & ((1 << LENGTH_BITS) - 1)
    }

    pub fn source(&self) -> u32 {
        (self.what >> LENGTH_BITS) as u32
    }

    fn target(&self) -> Target {
        Target::new(self.address, self.bytes(), self.ends, self.apart.map(u64::from))
    }
}

/// A block that this member awaits: from whom, which of those, and where it goes.
pub(in super::super) type Incoming<'a> = (u32, u32, &'a Data);

/// What this member awaits.
pub(in super::super) struct Awaiting {
    pub list: Vec<Awaited>,
    pub wholes: Vec<Whole>,
}

impl Awaiting {
    /// Whether a member may await so many blocks, as far as their number goes.
    pub fn may_be(seat: &Seat, blocks: usize) -> bool {
        wants(seat) && blocks as u64 <= MOST_BLOCKS
    }

    /// Lends the places of what comes.
    ///
    /// # Errors
    /// `NoMem` for copies of data with gaps.
    pub fn new<'a>(
        seat: &Seat,
        incoming: impl Iterator<Item = Incoming<'a>> + Clone,
        by: &impl Reach,
    ) -> Result<Self> {
        let blocks = incoming.clone().count();
        let mut awaiting = Awaiting { list: Vec::with_capacity(blocks), wholes: Vec::with_capacity(blocks) };
        for (source, nth, data) in incoming {
            let whole = match data.bytes() <= seat.narrow() {
                true => Whole::to_write(data)?,
                false => Whole::to_be_written(seat, data, by)?,
            };
            let (address, what) = (whole.address as u64, whole.bytes | u64::from(source) << LENGTH_BITS);
            let (ends, apart) = Target::own(&whole).ends();
            let apart = apart.map(|bytes| bytes as u16);
            // Of a shorter block the ends come home as they were.
            // SAFETY: nobody else knows of the places yet.
            unsafe { Target::own(&whole).keep(0, whole.bytes as usize) };
            awaiting.list.push(Awaited { address, ends, what, apart, nth });
            awaiting.wholes.push(whole);
        }
        Ok(awaiting)
    }
}

/// An operation whose members have all published what they await.
pub(in super::super) struct Arrivals<'a> {
    pub seat: &'a Seat,
    pub epoch: u64,
    /// Each member has published a block for each, in their order.
    pub is_ordered: bool,
}

impl Arrivals<'_> {
    /// Has all of it done, and brings home what has come to this member.
    ///
    /// # Errors
    /// `Truncate` where a block is longer than awaited, what waiting and reaching report.
    pub async fn run(
        &self,
        awaiting: &Awaiting,
        incoming: impl Iterator<Item = Incoming<'_>> + Clone,
        by: &(impl Wait + Reach),
    ) -> Result<()> {
        let agreed: Result<Vec<u64>> = incoming.clone().map(|block| self.agree(block, by)).collect();
        let done = share_out(self.seat, self.epoch, self, by).await;
        for ((whole, (_, _, data)), bytes) in awaiting.wholes.iter().zip(incoming).zip(agreed?) {
            whole.finish_part(data, bytes);
        }
        done
    }

    /// How long a block is that this member gets.
    pub(super) fn agree(&self, (source, nth, data): Incoming, by: &impl Reach) -> Result<u64> {
        let table = Table::of(self.seat, source, self.epoch, by)?;
        let block = self.find(&table, self.seat.rank, nth)?;
        table.agree(&block, data.bytes())?;
        Ok(block.bytes())
    }

    fn find<By: Reach>(&self, table: &Table<'_, By>, member: u32, nth: u32) -> Result<Block> {
        table.find(member, if self.is_ordered { member.into() } else { 0 }, nth)
    }

    /// What a member awaits, and the pieces of each block.
    fn awaited(&self, member: u32, by: &impl Reach) -> Result<Vec<(Awaited, Pieces)>> {
        let table = Table::of(self.seat, member, self.epoch, by)?;
        let all: Vec<Awaited> = table.awaited().into_iter().flatten().collect();
        let bytes: u64 = all.iter().map(Awaited::bytes).sum();
        let unit = (bytes / MOST_BLOCKS).next_multiple_of(PIECE).max(PIECE);
        Ok(all.into_iter().map(|block| (block, Pieces::of(block.bytes(), unit, MOST_PIECES))).collect())
    }

    /// Copies a range of a block to the member that awaits it.
    ///
    /// # Errors
    /// What reaching reports, `NoMem`.
    pub(super) fn copy(&self, to: u32, awaited: &Awaited, range: Range<u64>, by: &impl Reach) -> Result<()> {
        let (seat, from) = (self.seat, awaited.source());
        let table = Table::of(seat, from, self.epoch, by)?;
        // What is wrong, the member reports that awaits it.
        let Ok(block) = self.find(&table, to, awaited.nth) else { return Ok(()) };
        let end = range.end.min(block.bytes());
        if block.bytes() > awaited.bytes() || range.start >= end {
            return Ok(());
        }
        let (at, bytes, target) = (range.start, (end - range.start) as usize, awaited.target());
        if to == seat.rank {
            // SAFETY: these bytes are claimed, and the place is this member's own.
            unsafe {
                table.read(&block, at, (target.here(at), bytes))?;
                target.keep(at, bytes);
            }
            return Ok(());
        }
        let mut staged = None;
        let source = match table.direct(&block, at, bytes as u64)? {
            Some(found) => found,
            None => {
                let place = staged.insert(Temporary::packed(bytes as u64)?).1.address;
                // SAFETY: the room is ours.
                unsafe { table.read(&block, at, (place, bytes))? };
                place.cast_const()
            }
        };
        let copies = seat.chooser(Copied::Written);
        // SAFETY: the member has lent the place until all is done, and these bytes are claimed.
        unsafe { target.write((seat, to), at, (source, bytes), copies, by) }
    }
}

impl Work for Arrivals<'_> {
    fn pieces(&self, member: u32, by: &impl Reach) -> u32 {
        self.awaited(member, by).map_or(0, |all| all.iter().map(|(_, pieces)| pieces.number).sum())
    }

    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()> {
        let mut first = 0;
        for (awaited, all) in self.awaited(member, by)? {
            let last = first + all.number;
            let mine = pieces.start.clamp(first, last) - first..pieces.end.clamp(first, last) - first;
            if !mine.is_empty() {
                self.copy(member, &awaited, all.range(mine), by)?;
            }
            first = last;
        }
        Ok(())
    }
}
