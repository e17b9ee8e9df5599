//! Long gatherv and scatterv: the part of a member but the root is its own block.
//!
//! In a gatherv the root publishes where it awaits the blocks of the others, in a scatterv each of the
//! others where it awaits its own. Who has that and the table with the block may copy it. As in `rooted.rs`, a
//! member waits for the root to begin, and for nobody else: it leaves when its own part is over. A block that fits
//! a slot is no work in a gatherv: its owner leaves at once, and the root takes it when all have come.

use super::super::large::others;
use super::super::reach::Reach;
use super::super::seat::{Seat, Wait};
use super::super::table::{has_room, lend_together, offer, Long, Offer, Table};
use super::awaited::{Arrivals, Awaited, Awaiting, Incoming};
use super::rooted::in_turn;
use super::{finish_own, share_out, take, Pieces, Work};
use crate::collective::Data;
use crate::Result;
use std::iter;
use std::ops::Range;

/// Whether these are done so at a seat: where a root can say what it awaits of all. All members know it alike.
pub(in super::super) fn wants(seat: &Seat) -> bool {
    let blocks = seat.size as usize - 1;
    Awaiting::may_be(seat, blocks) && has_room(seat, 0, blocks)
}

/// Blocks of uneven length that go from or to a root, as one member sees them.
struct Uneven<'a> {
    arrivals: Arrivals<'a>,
    root: u32,
    /// They go to the root.
    is_up: bool,
}

impl<'a> Uneven<'a> {
    fn new(seat: &'a Seat, (root, epoch): (u32, u64), is_up: bool) -> Self {
        // Only a root publishes a block for each member.
        Uneven { arrivals: Arrivals { seat, epoch, is_ordered: !is_up }, root, is_up }
    }

    /// Who gets the block of a member, where it goes, and the pieces of it, if it is work.
    fn block(&self, member: u32, by: &impl Reach) -> Result<Option<(u32, Awaited, Pieces)>> {
        if member == self.root {
            return Ok(None);
        }
        let table = |of| Table::of(self.arrivals.seat, of, self.arrivals.epoch, by);
        if self.is_up && !table(member)?.is_lent() {
            return Ok(None);
        }
        let (from, to) = if self.is_up { (member, self.root) } else { (self.root, member) };
        let awaited = table(to)?.awaited().into_iter().flatten().find(|block| block.source() == from);
        Ok(awaited.map(|block| (to, block, in_turn(block.bytes()))))
    }
}

impl Work for Uneven<'_> {
    fn pieces(&self, member: u32, by: &impl Reach) -> u32 {
        // Who is in another operation has no part in this one; that is reported where its table is looked at.
        self.block(member, by).ok().flatten().map_or(0, |(_, _, pieces)| pieces.number)
    }

    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()> {
        match self.block(member, by)? {
            Some((to, awaited, all)) => self.arrivals.copy(to, &awaited, all.range(pieces), by),
            None => Ok(()),
        }
    }
}

/// What a member does in a gatherv that has offered its block.
pub(in super::super) async fn give(
    seat: &Seat,
    root: u32,
    offer: &Offer,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let place = (root, offer.epoch);
    let uneven = Uneven::new(seat, place, true);
    if offer.is_lent {
        return finish_own(seat, place, &uneven, by).await;
    }
    // A root that only tests claims nothing, not even an empty part.
    take(seat, offer.epoch, &uneven, seat.rank, |left| left, by).unwrap_or(Ok(()))
}

/// What the root does in a gatherv; `own` when it has published what it awaits.
pub(in super::super) async fn collect(
    seat: &Seat,
    receive: &[Data],
    by: &(impl Wait + Reach),
    own: impl FnOnce(),
) -> Result<()> {
    lend_together(seat, receive, by);
    let incoming = others(seat).map(|member| (member, 0, &receive[member as usize]));
    let awaiting = Awaiting::new(seat, incoming.clone(), by)?;
    let offer = offer(seat, &[], Some(&awaiting), Long::Lent(1), by).await?;
    own();
    let uneven = Uneven::new(seat, (seat.rank, offer.epoch), true);
    let done = share_out(seat, offer.epoch, &uneven, by).await;
    let taken = awaiting.wholes.iter().zip(incoming).map(|(whole, block)| {
        let (source, nth, data): Incoming = block;
        let table = Table::of(seat, source, offer.epoch, by)?;
        if !table.is_lent() {
            return table.take(0, nth, data);
        }
        whole.finish_part(data, uneven.arrivals.agree(block, by)?);
        Ok(())
    });
    taken.fold(done, Result::and)
}

/// What the root does in a scatterv when it has lent its blocks.
pub(in super::super) async fn deal_out(seat: &Seat, epoch: u64, by: &(impl Wait + Reach)) -> Result<()> {
    share_out(seat, epoch, &Uneven::new(seat, (seat.rank, epoch), false), by).await
}

/// What a member does in a scatterv.
pub(in super::super) async fn get(
    seat: &Seat,
    root: u32,
    receive: &Data,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let block: Incoming = (root, 0, receive);
    let awaiting = Awaiting::new(seat, iter::once(block), by)?;
    let offer = offer(seat, &[], Some(&awaiting), Long::Lent(1), by).await?;
    let place = (root, offer.epoch);
    seat.member(root, offer.epoch, by).await?;
    let table = Table::of(seat, root, offer.epoch, by)?;
    if !table.is_lent() {
        return table.take(u64::from(seat.rank), 0, receive);
    }
    let uneven = Uneven::new(seat, place, false);
    finish_own(seat, place, &uneven, by).await?;
    let bytes = uneven.arrivals.agree(block, by)?;
    awaiting.wholes.iter().for_each(|whole| whole.finish_part(receive, bytes));
    Ok(())
}
