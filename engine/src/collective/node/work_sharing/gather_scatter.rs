//! Long broadcast, scatter and gather: the part of a member but the root is its own block.
//!
//! Such a member waits for the root to begin, and for nobody else: it leaves when its own part is over. A root
//! that waits does what it can for members that have begun.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::claim::MOST_PIECES;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing::copy::{copy, Copy};
use crate::collective::node::work_sharing::work::{finish_own, share_out, Pieces, Work, PIECE};
use crate::collective::{schedule, Data, Root};
use crate::Result;
use std::ops::Range;

/// Where root and member are both there they take pieces in turn. So there are some of them, as in
/// a message that both copy (`message/together.rs`),
const SHARES: u64 = 4;
/// but none longer than this, because a fork waits for each.
const LONGEST: u64 = 256 << 10;

/// A block between a member and the root, who may take turns with it.
pub(crate) fn in_turn(bytes: u64) -> Pieces {
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
struct Rooted<'a, Waits, Memory> {
    party: &'a Party<'a, Waits, Memory>,
    epoch: u64,
    root: u32,
    /// Bytes of a block.
    block: u64,
    way: Way,
}

impl<'a, Waits: Wait, Memory: PeerMemory> Rooted<'a, Waits, Memory> {
    /// Begins an operation: lends what a member gives or where it wants what it gets.
    async fn begin(
        party: &'a Party<'a, Waits, Memory>,
        (root, block, way): (u32, u64, Way),
        mine: &Contiguous,
    ) -> Result<Self> {
        let epoch = party.begin();
        if (root == party.rank) == (way == Way::Up) {
            party.wait_until_free(epoch, party.narrow()).await?;
            Descriptor::new(0, 0, block).with_result(mine.as_result()).put(party.member, epoch);
        } else {
            mine.descriptor(party.member).lend(party, epoch).await?;
        }
        Ok(Rooted { party, epoch, root, block, way })
    }

    /// What a member has lent.
    fn lent(&self, member: u32) -> Result<Descriptor> {
        let blocks = match self.way {
            Way::Each if member == self.root => self.party.size,
            _ => 1,
        };
        self.party.lent_by(member, self.epoch, self.block * u64::from(blocks))
    }

    /// The part of a member that is not the root: what others leave of it.
    async fn finish(&self) -> Result<()> {
        finish_own(self.party, (self.root, self.epoch), self).await?;
        self.lent(self.root).map(drop)
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for Rooted<'_, Waits, Memory> {
    fn pieces(&self, member: u32) -> u32 {
        if member == self.root {
            return 0;
        }
        in_turn(self.block).number
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        let (root, first) = (self.root, u64::from(member) * self.block);
        let (from, to) = if self.way == Way::Up { (member, root) } else { (root, member) };
        let (lent, target) = (self.lent(from)?, self.lent(to)?);
        let (range, all) = (in_turn(self.block).range(pieces), u64::from(self.party.size) * self.block);
        let what = Copy {
            from,
            lent: &lent,
            offset: range.start + if self.way == Way::Each { first } else { 0 },
            to,
            target: target.destination(if self.way == Way::Up { all } else { self.block }),
            at: range.start + if self.way == Way::Up { first } else { 0 },
            bytes: (range.end - range.start) as usize,
        };
        // Two that take turns copy alike, as in a message.
        let copies = match (self.way, self.party.size) {
            (Way::Same, 2) => (CopyKind::Cached, CopyKind::Cached),
            _ => (CopyKind::Broadcast, CopyKind::Written),
        };
        // SAFETY: both have lent their memory until the part is over, and the pieces are claimed.
        unsafe { copy(self.party, self.epoch, &what, copies) }
    }
}

/// Data of a root to all.
pub(crate) async fn broadcast(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: u32,
    data: &Data,
) -> Result<()> {
    let what = (root, data.bytes(), Way::Same);
    if root == party.rank {
        let mine = Contiguous::to_read(party, data, party.size - 1)?;
        let rooted = Rooted::begin(party, what, &mine).await?;
        return share_out(party, rooted.epoch, &rooted).await;
    }
    let mine = Contiguous::to_be_written(party, data)?;
    Rooted::begin(party, what, &mine).await?.finish().await?;
    mine.finish(data);
    Ok(())
}

/// Blocks of a root to all.
pub(crate) async fn scatter(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
) -> Result<()> {
    let root = party.root_of(root);
    if let (Some(send), true) = (send, root == party.rank) {
        let mine = Contiguous::to_read(party, &send.times(party.size)?, 1)?;
        let rooted = Rooted::begin(party, (root, send.bytes(), Way::Each), &mine).await?;
        if let Some(receive) = receive {
            // SAFETY: the program lends both, and the face has seen that they are apart.
            unsafe { schedule::copy(&send.blocks(party.rank, 1), receive) };
        }
        return share_out(party, rooted.epoch, &rooted).await;
    }
    let Some(receive) = receive else { return Ok(()) };
    let mine = Contiguous::to_be_written(party, receive)?;
    Rooted::begin(party, (root, receive.bytes(), Way::Each), &mine).await?.finish().await?;
    mine.finish(receive);
    Ok(())
}

/// Blocks of all to a root.
pub(crate) async fn gather(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
) -> Result<()> {
    let root = party.root_of(root);
    if let (Some(receive), true) = (receive, root == party.rank) {
        let all = receive.times(party.size)?;
        let out = Contiguous::to_be_written(party, &all)?;
        let rooted = Rooted::begin(party, (root, receive.bytes(), Way::Up), &out).await?;
        out.put_own(party.member, receive, send);
        share_out(party, rooted.epoch, &rooted).await?;
        out.finish(&all);
        return Ok(());
    }
    let Some(send) = send else { return Ok(()) };
    let mine = Contiguous::to_read(party, send, 1)?;
    Rooted::begin(party, (root, send.bytes(), Way::Up), &mine).await?.finish().await
}
