//! Long broadcast, scatter and gather: the part of a member but the root is its own block.
//!
//! Such a member waits for the root to begin, and for nobody else: it leaves when its own part is over. A root
//! that waits does what it can for members that have begun. A root that has given a copy that stays behind waits
//! for nobody. In a gather a member with such a copy, if that is one piece long, leaves at once: it is no work, and
//! the root takes it when all have come. A closed root does the parts of all other members.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::destination::Destination;
use crate::collective::node::buffer::lending::take;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::claim::MOST_PIECES;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing::copy::{copy, Copy};
use crate::collective::node::work_sharing::work::{
    close, finish_closed, finish_own, share_out, take_own, Pieces, Work, PIECE,
};
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
    /// Where the result of this member goes, and whether it is closed: then nobody else writes there.
    own: (Destination, bool),
}

impl<'a, Waits: Wait, Memory: PeerMemory> Rooted<'a, Waits, Memory> {
    /// Begins an operation: lends what a member gives or where it wants what it gets.
    async fn begin(
        party: &'a Party<'a, Waits, Memory>,
        (root, block, way): (u32, u64, Way),
        mine: &Contiguous,
    ) -> Result<Self> {
        let (epoch, is_result) = (party.begin(), (root == party.rank) == (way == Way::Up));
        let is_closed = is_result && mine.is_closed();
        let rooted = Rooted { party, epoch, root, block, way, own: (mine.destination(), is_closed) };
        if is_closed && root != party.rank {
            close(party, epoch, &rooted);
        }
        if is_result {
            party.wait_until_free(epoch, party.narrow()).await?;
            let lent = Descriptor::new(0, 0, block);
            let lent = if is_closed { lent } else { lent.with_result(mine.as_result()) };
            lent.put(party.member, epoch);
        } else {
            mine.descriptor(party.member).lend(party, epoch).await?;
        }
        Ok(rooted)
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
        let (party, place) = (self.party, (self.root, self.epoch));
        let is_own = self.own.1;
        if !is_own && self.way != Way::Up {
            finish_own(party, place, self).await?;
            return self.lent(self.root).map(drop);
        }
        party.wait_for(self.root, self.epoch).await?;
        if is_own {
            finish_closed(party, self.epoch, self)?;
        } else if party.has_lent_result(self.root, self.epoch) {
            finish_own(party, place, self).await?;
        } else {
            party.wait(Until::Part(party.rank, self.epoch)).await?;
        }
        self.lent(self.root).map(drop)
    }

    /// Whether the block of a member is no work: a copy of one piece that stays behind, which the root takes.
    fn is_left(&self, member: u32) -> bool {
        self.way == Way::Up && self.block <= PIECE && self.party.has_lent_copy(member, self.epoch)
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for Rooted<'_, Waits, Memory> {
    fn pieces(&self, member: u32) -> u32 {
        if member == self.root || self.is_left(member) {
            return 0;
        }
        in_turn(self.block).number
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        let (root, first) = (self.root, u64::from(member) * self.block);
        let (from, to) = if self.way == Way::Up { (member, root) } else { (root, member) };
        let (range, all) = (in_turn(self.block).range(pieces), u64::from(self.party.size) * self.block);
        let lent = self.lent(from)?;
        let target = match to == self.party.rank {
            true => self.own.0,
            false => self.lent(to)?.destination(if self.way == Way::Up { all } else { self.block }),
        };
        let what = Copy {
            from,
            lent: &lent,
            offset: range.start + if self.way == Way::Each { first } else { 0 },
            to,
            target,
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

/// The root's part where the others get something: none if they read what stays behind.
async fn given(rooted: &Rooted<'_, impl Wait, impl PeerMemory>, lent: &mut Contiguous) -> Result<()> {
    match lent.retain(rooted.party.member) {
        true => Ok(()),
        false => share_out(rooted.party, rooted.epoch, rooted).await,
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
        let mut mine = Contiguous::to_read(party, data, party.size - 1)?;
        let rooted = Rooted::begin(party, what, &mine).await?;
        return given(&rooted, &mut mine).await;
    }
    let mine = Contiguous::to_be_written_or_closed(party, data, data.bytes())?;
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
        let mut mine = Contiguous::blocks_to_read(party, send)?;
        let rooted = Rooted::begin(party, (root, send.bytes(), Way::Each), &mine).await?;
        if let Some(receive) = receive {
            // SAFETY: the program lends both, and the face has seen that they are apart.
            unsafe { schedule::copy(&send.blocks(party.rank, 1), receive) };
        }
        return given(&rooted, &mut mine).await;
    }
    let Some(receive) = receive else { return Ok(()) };
    let all = receive.bytes().saturating_mul(party.size.into());
    let mine = Contiguous::to_be_written_or_closed(party, receive, all)?;
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
        let out = Contiguous::to_be_written_or_closed(party, &all, receive.bytes())?;
        let (bytes, kind) = (receive.bytes(), CopyKind::Allgather);
        let rooted = Rooted::begin(party, (root, bytes, Way::Up), &out).await?;
        out.put_own(party.member, receive, send);
        share_out(party, rooted.epoch, &rooted).await?;
        out.finish(&all);
        // Behind those that have come by themselves.
        let mut left = party.others().filter(|&member| rooted.is_left(member));
        return left.try_for_each(|member| {
            take(party, (member, rooted.epoch), (0, bytes), &receive.blocks(member, 1), kind)
        });
    }
    let Some(send) = send else { return Ok(()) };
    let mut mine = Contiguous::to_read(party, send, 1)?;
    let rooted = Rooted::begin(party, (root, send.bytes(), Way::Up), &mine).await?;
    if !rooted.is_left(party.rank) {
        return rooted.finish().await;
    }
    mine.retain(party.member);
    // Its part is empty, and a root that only tests claims nothing.
    take_own(party, rooted.epoch, &rooted)
}
