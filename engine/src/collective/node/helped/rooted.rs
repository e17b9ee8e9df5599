//! Long broadcast, scatter and gather: the part of a member but the root is its own block.
//!
//! Such a member waits for the root to begin, and for nobody else: it leaves when its own part is over. The root, if it
//! waits, does what it can for those who have begun.

use super::super::large::root_of;
use super::super::lent::Lent;
use super::super::reach::Reach;
use super::super::seat::{Copied, Seat, Wait};
use super::super::target::Target;
use super::super::whole::Whole;
use super::{copy, finish_own, share_out, Copy, Pieces, Work, MOST_PIECES, PIECE};
use crate::collective::{schedule, Data, Root};
use crate::Result;
use std::ops::Range;

/// Where root and member are both there they take pieces in turn. So there are some of them, as in
/// a message that both copy (`message/together.rs`),
const SHARES: u64 = 4;
/// but none longer than this, because a fork waits for each.
const LONGEST: u64 = 256 << 10;

/// A block between a member and the root, who may take turns with it.
pub(super) fn in_turn(bytes: u64) -> Pieces {
    let unit = (bytes / SHARES).next_multiple_of(PIECE).clamp(PIECE, LONGEST);
    Pieces::of(bytes, unit, MOST_PIECES)
}

/// What goes where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One block from the root to all.
    Same,
    /// A block from the root to each.
    Each,
    /// A block of each to the root.
    Up,
}

/// Blocks that go from or to a root, as one member sees them.
struct Rooted<'a> {
    seat: &'a Seat,
    epoch: u64,
    root: u32,
    /// Bytes of a block.
    block: u64,
    way: Way,
}

impl<'a> Rooted<'a> {
    /// Begins an operation: lends what a member gives or where it wants what it gets.
    async fn begin(
        seat: &'a Seat,
        (root, block, way): (u32, u64, Way),
        mine: &Whole,
        by: &(impl Wait + Reach),
    ) -> Result<Self> {
        let epoch = seat.begin();
        if (root == seat.rank) == (way == Way::Up) {
            seat.room(epoch, by).await?;
            seat.tell(epoch, Lent::new(0, 0, block).with_result(mine));
        } else {
            Lent::of(seat, mine).tell(seat, epoch, by).await?;
        }
        Ok(Rooted { seat, epoch, root, block, way })
    }

    /// What a member has lent.
    fn lent(&self, member: u32) -> Result<Lent> {
        let blocks = match self.way {
            Way::Each if member == self.root => self.seat.size,
            _ => 1,
        };
        self.seat.told(member, self.epoch, self.block * u64::from(blocks))
    }

    /// The part of a member that is not the root: what others leave of it.
    async fn finish(&self, by: &(impl Wait + Reach)) -> Result<()> {
        finish_own(self.seat, (self.root, self.epoch), self, by).await?;
        self.lent(self.root).map(drop)
    }
}

impl Work for Rooted<'_> {
    fn pieces(&self, member: u32, _: &impl Reach) -> u32 {
        if member == self.root {
            return 0;
        }
        in_turn(self.block).number
    }

    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()> {
        let (root, first) = (self.root, u64::from(member) * self.block);
        let (from, to) = if self.way == Way::Up { (member, root) } else { (root, member) };
        let (lent, target) = (self.lent(from)?, self.lent(to)?);
        let (range, all) = (in_turn(self.block).range(pieces), u64::from(self.seat.size) * self.block);
        let copied = Copy {
            from,
            lent: &lent,
            offset: range.start + if self.way == Way::Each { first } else { 0 },
            to,
            target: Target::of(&target, if self.way == Way::Up { all } else { self.block }),
            at: range.start + if self.way == Way::Up { first } else { 0 },
            bytes: (range.end - range.start) as usize,
        };
        // Two that take turns copy alike, as in a message.
        let copies = match (self.way, self.seat.size) {
            (Way::Same, 2) => (Copied::Cached, Copied::Cached),
            _ => (Copied::Broadcast, Copied::Written),
        };
        // SAFETY: both have lent their memory until the part is over, and the pieces are claimed.
        unsafe { copy(self.seat, self.epoch, &copied, copies, by) }
    }
}

/// Data of a root to all.
pub(in super::super) async fn broadcast(
    seat: &Seat,
    root: u32,
    data: &Data,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let what = (root, data.bytes(), Way::Same);
    if root == seat.rank {
        let whole = Whole::to_read(seat, data, seat.size - 1, by)?;
        let rooted = Rooted::begin(seat, what, &whole, by).await?;
        return share_out(seat, rooted.epoch, &rooted, by).await;
    }
    let whole = Whole::to_be_written(seat, data, by)?;
    Rooted::begin(seat, what, &whole, by).await?.finish(by).await?;
    whole.finish(data);
    Ok(())
}

/// Blocks of a root to all.
pub(in super::super) async fn scatter(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let root = root_of(seat, root);
    if let (Some(send), true) = (send, root == seat.rank) {
        let whole = Whole::to_read(seat, &send.times(seat.size)?, 1, by)?;
        let rooted = Rooted::begin(seat, (root, send.bytes(), Way::Each), &whole, by).await?;
        if let Some(receive) = receive {
            // SAFETY: the program lends both, and the face has seen that they are apart.
            unsafe { schedule::copy(&send.blocks(seat.rank, 1), receive) };
        }
        return share_out(seat, rooted.epoch, &rooted, by).await;
    }
    let Some(receive) = receive else { return Ok(()) };
    let whole = Whole::to_be_written(seat, receive, by)?;
    Rooted::begin(seat, (root, receive.bytes(), Way::Each), &whole, by).await?.finish(by).await?;
    whole.finish(receive);
    Ok(())
}

/// Blocks of all to a root.
pub(in super::super) async fn gather(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let root = root_of(seat, root);
    if let (Some(receive), true) = (receive, root == seat.rank) {
        let all = receive.times(seat.size)?;
        let out = Whole::to_be_written(seat, &all, by)?;
        let rooted = Rooted::begin(seat, (root, receive.bytes(), Way::Up), &out, by).await?;
        out.put_own(seat, receive, send);
        share_out(seat, rooted.epoch, &rooted, by).await?;
        out.finish(&all);
        return Ok(());
    }
    let Some(send) = send else { return Ok(()) };
    let whole = Whole::to_read(seat, send, 1, by)?;
    Rooted::begin(seat, (root, send.bytes(), Way::Up), &whole, by).await?.finish(by).await
}
