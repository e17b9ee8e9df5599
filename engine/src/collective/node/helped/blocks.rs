//! Long allgather and alltoall: the part of a member is its result, a block of each other member.

use super::super::lent::Lent;
use super::super::reach::Reach;
use super::super::seat::{Copied, Seat, Wait};
use super::super::target::Target;
use super::super::whole::Whole;
use super::{copy, share_out, Copy, Pieces, Work, MOST_PIECES, PIECE};
use crate::collective::Data;
use crate::Result;
use std::ops::Range;

/// Blocks that go from everybody to everybody, as one member sees them.
struct Blocks<'a> {
    seat: &'a Seat,
    epoch: u64,
    /// Bytes of a block.
    block: u64,
    /// Each member sends another block to each, and not one to all.
    are_different: bool,
    copied: Copied,
}

/// Has `send` of all go to all: `out` is the result of this member, `own` its own block.
///
/// # Errors
/// `NoMem` for copies of data with gaps, `Truncate` where members do not agree, what waiting and
/// reaching report.
async fn exchange(
    seat: &Seat,
    (send, own): (&Whole, Option<Data>),
    receive: &Data,
    copied: Copied,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let all = receive.times(seat.size)?;
    let block = receive.bytes();
    let out = Whole::to_be_written(seat, &all, by)?;
    let lent = Lent::of(seat, send).with_result(&out);
    let epoch = seat.begin();
    lent.tell(seat, epoch, by).await?;
    out.put_own(seat, receive, own.as_ref());
    seat.all(epoch, by).await?;
    (0..seat.size).try_for_each(|member| seat.told(member, epoch, send.bytes).map(drop))?;
    let are_different = send.bytes > block;
    let blocks = Blocks { seat, epoch, block, are_different, copied };
    share_out(seat, epoch, &blocks, by).await?;
    out.finish(&all);
    Ok(())
}

/// Everybody's block to everybody.
pub(in super::super) async fn allgather(
    seat: &Seat,
    send: Option<&Data>,
    receive: &Data,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let mine = receive.blocks(seat.rank, 1);
    let whole = Whole::to_read(seat, send.unwrap_or(&mine), seat.size - 1, by)?;
    exchange(seat, (&whole, send.cloned()), receive, Copied::Allgather, by).await
}

/// A block of everybody for everybody.
pub(in super::super) async fn alltoall(
    seat: &Seat,
    send: Option<&Data>,
    receive: &Data,
    copied: Copied,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let whole = match send {
        Some(send) => Whole::to_read(seat, &send.times(seat.size)?, 1, by)?,
        // What comes takes the place of what others still want to read.
        None => Whole::copied(seat, &receive.times(seat.size)?, by)?,
    };
    let own = send.map(|send| send.blocks(seat.rank, 1));
    exchange(seat, (&whole, own), receive, copied, by).await
}

impl Blocks<'_> {
    /// A block in pieces.
    fn pieces_of_block(&self) -> Pieces {
        Pieces::of(self.block, PIECE, MOST_PIECES / (self.seat.size - 1))
    }

    /// Copies a range of the block of a member to the result of another.
    fn copy(&self, from: u32, to: u32, range: Range<u64>, by: &impl Reach) -> Result<()> {
        let all = self.block * if self.are_different { u64::from(self.seat.size) } else { 1 };
        let lent = self.seat.told(from, self.epoch, all)?;
        let result = self.seat.told(to, self.epoch, all)?;
        let copied = Copy {
            from,
            lent: &lent,
            offset: range.start + if self.are_different { u64::from(to) * self.block } else { 0 },
            to,
            target: Target::of(&result, self.block * u64::from(self.seat.size)),
            at: u64::from(from) * self.block + range.start,
            bytes: (range.end - range.start) as usize,
        };
        // SAFETY: both have lent their memory until all is done, and these bytes are claimed.
        unsafe { copy(self.seat, self.epoch, &copied, (self.copied, Copied::Written), by) }
    }
}

impl Work for Blocks<'_> {
    fn pieces(&self, _: u32, _: &impl Reach) -> u32 {
        self.pieces_of_block().number * (self.seat.size - 1)
    }

    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()> {
        let block = self.pieces_of_block();
        let mut at = pieces.start;
        while at < pieces.end {
            let (nth, first) = (at / block.number, at % block.number);
            let last = block.number.min(first + pieces.end - at);
            let from = (member + 1 + nth) % self.seat.size;
            self.copy(from, member, block.range(first..last), by)?;
            at += last - first;
        }
        Ok(())
    }
}
