//! Operations in which members that wait do the work of those that compute.
//!
//! The work of a long operation at a place is divided into *parts*, one for each member: what it
//! does for itself, or its share of what is for others. A part is made of pieces, and each is done
//! by whoever has claimed it ([`part`]). A member that goes on with the operation claims all that is
//! left of its own part, so where nobody is away each does its own, as ever; under a root it takes
//! pieces in turn with the root. Who has nothing left to
//! do and sits in a call that waits takes pieces of others, one at a time, and looks after each
//! whether what it waits for has come. A call that only tests does not: who tests has something else
//! to do.
//!
//! # Ownership
//! One epoch begins the operation, as in `large.rs`, and there is no other: the operation is over
//! for a member when the parts of all are. Then nobody touches the memory of anybody any more, and
//! a member that computes is not waited for; it finds all done when it comes back.
//!
//! All that a member needs for a piece of another stands in the marks and slots of the epoch: where each
//! has its data, and where they go. Those stay until all have begun the next operation (rule 3 of the
//! block). So all members must be able to read and write the memory of each other. A function of the
//! program reduces pieces of others as it reduces shares: each member calls its own, which is the same.
//!
//! A member that fails in a piece counts it as finished all the same, so that no other waits for it
//! in vain; it reports the failure itself.

pub mod awaited;
pub mod blocks;
pub mod part;
pub mod reduction;
pub mod rooted;
pub mod uneven;

use self::part::MOST_PIECES;
use super::block::Until;
use super::large::others;
use super::lent::Lent;
use super::reach::{settled, Reach, Reaches};
use super::seat::{Copied, Seat, Wait};
use super::target::Target;
use crate::collective::temporary::Temporary;
use crate::Result;
use std::ops::Range;

/// Bytes of a piece at least: some microseconds, so that who takes one for another soon
/// looks again at what it waits for itself.
const PIECE: u64 = 32 << 10;

/// Whether operations are done so at a seat; all members know it alike.
pub(super) fn wants(seat: &Seat) -> bool {
    seat.block().shape().has_parts() && settled(seat, Reaches::ToWrite)
}

/// The work of an operation whose members have all told where their data lie.
pub(super) trait Work {
    /// How many pieces the part of a member has: [`MOST_PIECES`] at most.
    fn pieces(&self, member: u32, by: &impl Reach) -> u32;

    /// Does some of the pieces of a member.
    ///
    /// # Errors
    /// What reaching reports, `NoMem`.
    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()>;
}

/// Has all work of an epoch done: my part by me, as far as nobody else has done it.
///
/// # Errors
/// What waiting and working report.
pub(super) async fn share_out(
    seat: &Seat,
    epoch: u64,
    work: &impl Work,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let mut done = take(seat, epoch, work, seat.rank, |left| left, by).unwrap_or(Ok(()));
    while by.idle(seat, epoch).await? {
        let did = others(seat).find_map(|member| take(seat, epoch, work, member, |_| 1, by));
        done = done.and(did.unwrap_or(Ok(())));
    }
    done
}

/// Has the part of this member done, in turn with a root who may wait: nobody else is waited for.
///
/// # Errors
/// What waiting and working report.
async fn finish_own(
    seat: &Seat,
    (root, epoch): (u32, u64),
    work: &impl Work,
    by: &(impl Wait + Reach),
) -> Result<()> {
    seat.member(root, epoch, by).await?;
    let mut done = Ok(());
    while let Some(did) = take(seat, epoch, work, seat.rank, |_| 1, by) {
        done = done.and(did);
    }
    by.wait(seat, Until::Part(seat.rank, epoch)).await?;
    done
}

/// Does some pieces of a member, as many as `claiming` says, if there are any to be had.
fn take(
    seat: &Seat,
    epoch: u64,
    work: &impl Work,
    member: u32,
    claiming: impl Fn(u32) -> u32,
    by: &impl Reach,
) -> Option<Result<()>> {
    if !seat.block().has_arrived(member, epoch) {
        return None;
    }
    let part = seat.block().part(member);
    let pieces = part.claim(epoch, work.pieces(member, by), claiming)?;
    let claimed = pieces.len() as u32;
    let done = work.work(member, pieces, by);
    if part.finish(claimed) {
        seat.wake();
    }
    Some(done)
}

/// Some bytes of what a member has lent, and where they go.
struct Copy<'a> {
    from: u32,
    lent: &'a Lent,
    /// Where they begin in what is lent.
    offset: u64,
    to: u32,
    /// The result of that member that they go to, and where they go there.
    target: Target,
    at: u64,
    bytes: usize,
}

/// Copies from one member to another, of which this one may be either; `copied` says how to read and
/// how to write.
///
/// # Errors
/// What reaching reports, `NoMem`.
///
/// # Safety
/// Both members have lent their memory, and nobody else touches where it goes.
unsafe fn copy(
    seat: &Seat,
    epoch: u64,
    what: &Copy<'_>,
    copied: (Copied, Copied),
    by: &impl Reach,
) -> Result<()> {
    let &Copy { from, lent, offset, to, target, at, bytes } = what;
    let (read, written) = copied;
    let place = (seat, from, epoch);
    if to == seat.rank {
        // SAFETY: by the caller.
        return unsafe {
            lent.read(place, offset, target.here(at), bytes, seat.chooser(read), by)?;
            target.keep(at, bytes);
            Ok(())
        };
    }
    let mut staged = None;
    let room = || Ok(staged.insert(Temporary::packed(bytes as u64)?).1.address);
    let source = match from == seat.rank {
        true => (lent.send + offset) as *const u8,
        // SAFETY: by the caller; the room is ours.
        false => unsafe { lent.find(place, offset, bytes as u64, room, read, by)? },
    };
    let copies = seat.chooser(written);
    // SAFETY: by the caller.
    unsafe { target.write((seat, to), at, (source, bytes), copies, by) }
}

/// Some bytes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    bytes: u64,
    /// Of each but the last.
    each: u64,
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
