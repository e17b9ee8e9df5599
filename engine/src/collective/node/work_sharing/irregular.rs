//! Long gatherv and scatterv: the part of a member but the root is its own block.
//!
//! In a gatherv the root publishes where it expects the blocks of the others, in a scatterv each of the others where it
//! expects its own. A member that has both, that and the table with the block, may copy it. As in `gather_scatter.rs`,
//! a member waits for the root to begin, and for nobody else: it leaves when its own part is over. A block that fits a
//! slot is no work in a gatherv: its owner leaves at once, and the root takes it when all have come.

use crate::collective::node::buffer::expected::{Expected, ExpectedBlock, Incoming};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::buffer::table::Table;
use crate::collective::node::buffer::table_writer::{has_room, lend_together, Long, OwnTable};
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing::arrivals::{may_expect, Arrivals};
use crate::collective::node::work_sharing::gather_scatter::in_turn;
use crate::collective::node::work_sharing::work::{finish_own, share_out, take, Pieces, Work};
use crate::collective::Data;
use crate::Result;
use std::iter;
use std::ops::Range;

/// Whether these are done so: where a root can say what it expects of all. All members know it alike.
pub(crate) fn applies(me: &Member) -> bool {
    let blocks = me.size as usize - 1;
    may_expect(me, blocks) && has_room(me, 0, blocks)
}

/// Blocks of uneven length that go from or to a root, as one member sees them.
struct Uneven<'a, Waits, Memory> {
    arrivals: Arrivals<'a, Waits, Memory>,
    root: u32,
    /// They go to the root.
    is_up: bool,
}

impl<'a, Waits: Wait, Memory: PeerMemory> Uneven<'a, Waits, Memory> {
    fn new(party: &'a Party<'a, Waits, Memory>, (root, epoch): (u32, u64), is_up: bool) -> Self {
        // Only a root publishes a block for each member.
        Uneven { arrivals: Arrivals { party, epoch, is_ordered: !is_up }, root, is_up }
    }

    /// Who gets the block of a member, where it goes, and the pieces of it, if it is work.
    fn block(&self, member: u32) -> Result<Option<(u32, ExpectedBlock, Pieces)>> {
        if member == self.root {
            return Ok(None);
        }
        let table = |of| Table::of(self.arrivals.party, of, self.arrivals.epoch);
        if self.is_up && !table(member)?.is_lent() {
            return Ok(None);
        }
        let (from, to) = if self.is_up { (member, self.root) } else { (self.root, member) };
        let expected = table(to)?.expected().into_iter().flatten().find(|block| block.source() == from);
        Ok(expected.map(|block| (to, block, in_turn(block.bytes()))))
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for Uneven<'_, Waits, Memory> {
    fn pieces(&self, member: u32) -> u32 {
        // A member that is in another operation has no part in this one; that is reported where its table is read.
        self.block(member).ok().flatten().map_or(0, |(_, _, pieces)| pieces.number)
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        match self.block(member)? {
            Some((to, expected, all)) => self.arrivals.copy(to, &expected, all.range(pieces)),
            None => Ok(()),
        }
    }
}

/// What a member does in a gatherv that has offered its block.
pub(crate) async fn give(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: u32,
    mine: &OwnTable<'_>,
) -> Result<()> {
    let place = (root, mine.epoch);
    let uneven = Uneven::new(party, place, true);
    if mine.is_lent {
        return finish_own(party, place, &uneven).await;
    }
    // A root that only tests claims nothing, not even an empty part.
    take(party, mine.epoch, &uneven, party.rank, |left| left).unwrap_or(Ok(()))
}

/// What the root does in a gatherv; `own` when it has published what it expects.
pub(crate) async fn collect(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    receive: &[Data],
    own: impl FnOnce(),
) -> Result<()> {
    lend_together(party, receive);
    let incoming = party.others().map(|member| (member, 0, &receive[member as usize]));
    let expected = Expected::new(party, incoming.clone())?;
    let mut mine = OwnTable::new(party, &[], Some(&expected), Long::Lent(1))?;
    mine.publish(party).await?;
    own();
    let uneven = Uneven::new(party, (party.rank, mine.epoch), true);
    let done = share_out(party, mine.epoch, &uneven).await;
    let taken = expected.places.iter().zip(incoming).map(|(place, block)| {
        let (source, nth, data): Incoming = block;
        let table = Table::of(party, source, mine.epoch)?;
        if !table.is_lent() {
            return table.take(0, nth, data);
        }
        place.finish_part(data, uneven.arrivals.agree(block)?);
        Ok(())
    });
    taken.fold(done, Result::and)
}

/// What the root does in a scatterv when it has lent its blocks.
pub(crate) async fn deal_out(party: &Party<'_, impl Wait, impl PeerMemory>, epoch: u64) -> Result<()> {
    share_out(party, epoch, &Uneven::new(party, (party.rank, epoch), false)).await
}

/// What a member does in a scatterv.
pub(crate) async fn get(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: u32,
    receive: &Data,
) -> Result<()> {
    let block: Incoming = (root, 0, receive);
    let expected = Expected::new(party, iter::once(block))?;
    let mut mine = OwnTable::new(party, &[], Some(&expected), Long::Lent(1))?;
    mine.publish(party).await?;
    let place = (root, mine.epoch);
    party.wait_for(root, mine.epoch).await?;
    let table = Table::of(party, root, mine.epoch)?;
    if !table.is_lent() {
        return table.take(u64::from(party.rank), 0, receive);
    }
    let uneven = Uneven::new(party, place, false);
    finish_own(party, place, &uneven).await?;
    let bytes = uneven.arrivals.agree(block)?;
    expected.places.iter().for_each(|place| place.finish_part(receive, bytes));
    Ok(())
}
