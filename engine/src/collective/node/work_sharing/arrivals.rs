//! Long operations with tables (`irregular.rs`): the part of a member is all that comes to it.
//!
//! Beside its own blocks a member publishes where those go that it expects. Where all members have done so
//! and something is lent, a member that waits also copies for those that compute, and no epoch ends the
//! operation. The member that expects a block says how long it is at most. Nobody copies a longer one, and the
//! member that expects it reports it.

use crate::collective::node::buffer::expected::{Expected, ExpectedBlock, Incoming};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::buffer::table::Table;
use crate::collective::node::buffer::table_entry::TableBlock;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::claim::MOST_PIECES;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing::work::{share_out, Pieces, Work, PIECE};
use crate::collective::temporary::Temporary;
use crate::Result;
use std::ops::Range;

/// The most blocks of a member: each may have a piece more than its share of them.
const MOST_BLOCKS: u64 = MOST_PIECES as u64 / 2;

/// Whether a member may expect so many blocks, as far as their number goes.
pub(crate) fn may_expect(me: &Member, blocks: usize) -> bool {
    me.shares_work() && blocks as u64 <= MOST_BLOCKS
}

/// An operation whose members have all published what they expect.
pub(crate) struct Arrivals<'a, Waits, Memory> {
    pub party: &'a Party<'a, Waits, Memory>,
    pub epoch: u64,
    /// Each member has published a block for each, in their order.
    pub is_ordered: bool,
}

impl<'a, Waits: Wait, Memory: PeerMemory> Arrivals<'a, Waits, Memory> {
    /// Has all of it done, and brings home what has come to this member.
    ///
    /// # Errors
    /// `Truncate` where a block is longer than awaited, what waiting and reaching report.
    pub async fn run(
        &self,
        expected: &Expected,
        incoming: impl Iterator<Item = Incoming<'_>> + Clone,
    ) -> Result<()> {
        let agreed: Result<Vec<u64>> = incoming.clone().map(|block| self.agree(block)).collect();
        let done = share_out(self.party, self.epoch, self).await;
        for ((place, (_, _, data)), bytes) in expected.places.iter().zip(incoming).zip(agreed?) {
            place.finish_part(data, bytes);
        }
        done
    }

    /// How long a block is that this member gets.
    pub(crate) fn agree(&self, (source, nth, data): Incoming) -> Result<u64> {
        let table = Table::of(self.party, source, self.epoch)?;
        let block = self.find(&table, self.party.rank, nth)?;
        table.agree(&block, data.bytes())?;
        Ok(block.bytes())
    }

    fn find(&self, table: &Table<'a, Waits, Memory>, member: u32, nth: u32) -> Result<TableBlock> {
        table.find(member, if self.is_ordered { member.into() } else { 0 }, nth)
    }

    /// What a member expects, and the pieces of each block.
    fn expected_by(&self, member: u32) -> Result<Vec<(ExpectedBlock, Pieces)>> {
        let table = Table::of(self.party, member, self.epoch)?;
        let all: Vec<ExpectedBlock> = table.expected().into_iter().flatten().collect();
        let bytes: u64 = all.iter().map(ExpectedBlock::bytes).sum();
        let unit = (bytes / MOST_BLOCKS).next_multiple_of(PIECE).max(PIECE);
        Ok(all.into_iter().map(|block| (block, Pieces::of(block.bytes(), unit, MOST_PIECES))).collect())
    }

    /// Copies a range of a block to the member that expects it.
    ///
    /// # Errors
    /// What reaching reports, `NoMem`.
    pub(crate) fn copy(&self, to: u32, expected: &ExpectedBlock, range: Range<u64>) -> Result<()> {
        let (party, from) = (self.party, expected.source());
        let table = Table::of(party, from, self.epoch)?;
        // The member that expects the block reports what is wrong.
        let Ok(block) = self.find(&table, to, expected.nth) else { return Ok(()) };
        let end = range.end.min(block.bytes());
        if block.bytes() > expected.bytes() || range.start >= end {
            return Ok(());
        }
        let (at, bytes, target) = (range.start, (end - range.start) as usize, expected.destination());
        if to == party.rank {
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
        let copies = party.member.chooser(CopyKind::Written);
        // SAFETY: the member has lent the place until all is done, and these bytes are claimed.
        unsafe { target.write(party, to, at, (source, bytes), copies) }
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for Arrivals<'_, Waits, Memory> {
    fn pieces(&self, member: u32) -> u32 {
        self.expected_by(member).map_or(0, |all| all.iter().map(|(_, pieces)| pieces.number).sum())
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        let mut first = 0;
        for (expected, all) in self.expected_by(member)? {
            let last = first + all.number;
            let mine = pieces.start.clamp(first, last) - first..pieces.end.clamp(first, last) - first;
            if !mine.is_empty() {
                self.copy(member, &expected, all.range(mine))?;
            }
            first = last;
        }
        Ok(())
    }
}
