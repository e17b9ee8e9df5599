//! The work of an operation, its parts and pieces, and how members do them.

use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::access::Access;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::Result;
use std::ops::Range;

/// Bytes of a piece at least: some microseconds, so that a member that takes one for another soon
/// looks again at what it waits for itself.
pub(crate) const PIECE: u64 = 32 << 10;

impl Member {
    /// Whether members do the work of each other in long operations here; all members know it alike.
    pub(crate) fn shares_work(&self) -> bool {
        self.control_block().shape().has_parts() && self.reaches(Access::Write)
    }
}

/// The work of an operation whose members have all told where their data lie.
pub(crate) trait Work {
    /// How many pieces the part of a member has: [`MOST_PIECES`] at most.
    fn pieces(&self, member: u32) -> u32;

    /// Does some of the pieces of a member.
    ///
    /// # Errors
    /// What reaching reports, `NoMem`.
    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()>;
}

/// Claims the part of this member in an epoch at which it has not arrived: nobody else does anything of it.
pub(crate) fn close(party: &Party<'_, impl Wait, impl PeerMemory>, epoch: u64, work: &impl Work) {
    let part = party.control_block().part(party.rank);
    part.claim(epoch, work.pieces(party.rank), |left| left);
}

/// Does the part of this member, which is [`close`]d, when all that it reads is there.
pub(crate) fn finish_closed(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    work: &impl Work,
) -> Result<()> {
    let pieces = work.pieces(party.rank);
    let done = work.work(party.rank, 0..pieces);
    if party.control_block().part(party.rank).finish(pieces) {
        party.wake();
    }
    debug_assert!(party.control_block().part(party.rank).is_over(epoch));
    done
}

/// Does what is left of the part of this member.
pub(crate) fn take_own(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    work: &impl Work,
) -> Result<()> {
    take(party, epoch, work, party.rank, |left| left).unwrap_or(Ok(()))
}

/// Has all work of an epoch done: my part by me, as far as nobody else has done it.
///
/// # Errors
/// What waiting and working report.
pub(crate) async fn share_out(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    work: &impl Work,
) -> Result<()> {
    let done = take_own(party, epoch, work);
    help(party, epoch, work, done).await
}

/// Waits for the parts of all, and does what it can of them. `done`: what has become of the part of this member.
///
/// # Errors
/// As [`share_out`].
pub(crate) async fn help(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    work: &impl Work,
    mut done: Result<()>,
) -> Result<()> {
    while party.waits.idle(party.member, epoch).await? {
        let did = party.others().find_map(|member| take(party, epoch, work, member, |_| 1));
        done = done.and(did.unwrap_or(Ok(())));
    }
    done
}

/// Has the part of this member done, in turn with a root who may wait: nobody else is waited for.
///
/// # Errors
/// What waiting and working report.
pub(crate) async fn finish_own(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    (root, epoch): (u32, u64),
    work: &impl Work,
) -> Result<()> {
    party.wait_for(root, epoch).await?;
    let mut done = Ok(());
    while let Some(did) = take(party, epoch, work, party.rank, |_| 1) {
        done = done.and(did);
    }
    party.wait(Until::Part(party.rank, epoch)).await?;
    done
}

/// Does some pieces of a member, as many as `claiming` says, if there are any to be had.
pub(crate) fn take(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    work: &impl Work,
    member: u32,
    claiming: impl Fn(u32) -> u32,
) -> Option<Result<()>> {
    if !party.control_block().has_arrived(member, epoch) {
        return None;
    }
    let part = party.control_block().part(member);
    let pieces = part.claim(epoch, work.pieces(member), claiming)?;
    let claimed = pieces.len() as u32;
    let done = work.work(member, pieces);
    if part.finish(claimed) {
        party.wake();
    }
    Some(done)
}

/// Some bytes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    bytes: u64,
    /// Of each but the last.
    pub each: u64,
    /// How many there are.
    pub number: u32,
}

impl Pieces {
    /// Pieces of `unit` bytes, or of several such units so that they are not more than `most`.
    pub fn of(bytes: u64, unit: u64, most: u32) -> Pieces {
        let each = bytes.div_ceil(most.into()).next_multiple_of(unit).max(unit);
        Pieces { bytes, each, number: bytes.div_ceil(each) as u32 }
    }

    /// Where some of them lie.
    pub fn range(&self, pieces: Range<u32>) -> Range<u64> {
        let at = |piece: u32| (u64::from(piece) * self.each).min(self.bytes);
        at(pieces.start)..at(pieces.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::node::protocol::claim::MOST_PIECES;

    #[test]
    fn pieces_cover_all_bytes_and_are_not_too_many() {
        let small = Pieces::of(70_000, PIECE, MOST_PIECES);
        assert_eq!((small.each, small.number), (PIECE, 3));
        assert_eq!((small.range(0..2), small.range(2..3)), (0..65_536, 65_536..70_000));
        assert_eq!(Pieces::of(0, 24, 255).number, 0);
        let large = Pieces::of(1 << 30, 32_760, MOST_PIECES);
        assert!(large.number <= MOST_PIECES && large.each.is_multiple_of(32_760));
        assert_eq!(large.range(0..large.number), 0..1 << 30);
    }
}
