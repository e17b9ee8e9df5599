//! Long allgather and alltoall: the part of a member is its result, a block of each other member.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::claim::MOST_PIECES;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing::copy::{copy, Copy};
use crate::collective::node::work_sharing::work::{
    close, finish_closed, help, take_own, Pieces, Work, PIECE,
};
use crate::collective::Data;
use crate::Result;
use std::ops::Range;

/// Blocks that go from everybody to everybody, as one member sees them.
struct Blocks<'a, Waits, Memory> {
    party: &'a Party<'a, Waits, Memory>,
    epoch: u64,
    /// Bytes of a block.
    block: u64,
    /// Each member sends another block to each, and not one to all.
    are_different: bool,
    kind: CopyKind,
}

/// Has `send` of all go to all: `out` is the result of this member, `own` its own block.
///
/// # Errors
/// `NoMem` for copies of data with gaps, `Truncate` where members do not agree, what waiting and
/// reaching report.
async fn exchange(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    (mut send, own): (Contiguous, Option<Data>),
    receive: &Data,
    kind: CopyKind,
) -> Result<()> {
    let all = receive.times(party.size)?;
    let block = receive.bytes();
    let out = Contiguous::to_be_written_or_closed(party, &all, send.bytes)?;
    let lent = send.descriptor(party.member).with_result(out.as_result());
    let epoch = party.begin();
    let blocks = Blocks { party, epoch, block, are_different: send.bytes > block, kind };
    if out.is_closed() {
        close(party, epoch, &blocks);
    }
    lent.lend(party, epoch).await?;
    out.put_own(party.member, receive, own.as_ref());
    party.wait_for_all(epoch).await?;
    (0..party.size).try_for_each(|member| party.lent_by(member, epoch, send.bytes).map(drop))?;
    let done = match out.is_closed() {
        true => finish_closed(party, epoch, &blocks),
        false => take_own(party, epoch, &blocks),
    };
    // The others read what stays behind; what this member has not done of its own part is done by another one just now.
    match send.retain(party.member) {
        true => party.wait(Until::Part(party.rank, epoch)).await.and(done)?,
        false => help(party, epoch, &blocks, done).await?,
    }
    out.finish(&all);
    Ok(())
}

/// Everybody's block to everybody.
pub(crate) async fn allgather(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    let mine = receive.blocks(party.rank, 1);
    let lent = Contiguous::to_read(party, send.unwrap_or(&mine), party.size - 1)?;
    exchange(party, (lent, send.cloned()), receive, CopyKind::Allgather).await
}

/// A block of everybody for everybody.
pub(crate) async fn alltoall(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
    kind: CopyKind,
) -> Result<()> {
    let lent = match send {
        Some(send) => Contiguous::blocks_to_read(party, send)?,
        // Incoming blocks take the place of data that others still want to read.
        None => Contiguous::copied(party, &receive.times(party.size)?)?,
    };
    let own = send.map(|send| send.blocks(party.rank, 1));
    exchange(party, (lent, own), receive, kind).await
}

impl<Waits: Wait, Memory: PeerMemory> Blocks<'_, Waits, Memory> {
    /// A block in pieces.
    fn pieces_of_block(&self) -> Pieces {
        Pieces::of(self.block, PIECE, MOST_PIECES / (self.party.size - 1))
    }

    /// Copies a range of the block of a member to the result of another.
    fn copy(&self, from: u32, to: u32, range: Range<u64>) -> Result<()> {
        let all = self.block * if self.are_different { u64::from(self.party.size) } else { 1 };
        let lent = self.party.lent_by(from, self.epoch, all)?;
        let result = self.party.lent_by(to, self.epoch, all)?;
        let what = Copy {
            from,
            lent: &lent,
            offset: range.start + if self.are_different { u64::from(to) * self.block } else { 0 },
            to,
            target: result.destination(self.block * u64::from(self.party.size)),
            at: u64::from(from) * self.block + range.start,
            bytes: (range.end - range.start) as usize,
        };
        // SAFETY: both have lent their memory until all is done, and these bytes are claimed.
        unsafe { copy(self.party, self.epoch, &what, (self.kind, CopyKind::Written)) }
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for Blocks<'_, Waits, Memory> {
    fn pieces(&self, _: u32) -> u32 {
        self.pieces_of_block().number * (self.party.size - 1)
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        let block = self.pieces_of_block();
        let mut at = pieces.start;
        while at < pieces.end {
            let (nth, first) = (at / block.number, at % block.number);
            let last = block.number.min(first + pieces.end - at);
            let from = (member + 1 + nth) % self.party.size;
            self.copy(from, member, block.range(first..last))?;
            at += last - first;
        }
        Ok(())
    }
}
