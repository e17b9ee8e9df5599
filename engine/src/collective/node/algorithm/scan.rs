//! Scan and exscan over a block: what a member gets is combined in the order of
//! `scan.rs`.
//!
//! Short payload is combined by each for itself. Of long payload every member takes
//! a share of all operands, makes all their prefixes, and writes each to whom it
//! belongs. A share is read before it is written, and nobody else touches it, so
//! results may go to where operands were.
//!
//! Of two members only the second one gets anything: what the first one has, or a reduction.
//! Up to some length the first one leaves a copy of its operand behind and goes on.

use crate::collective::node::algorithm::broadcast::broadcast;
use crate::collective::node::algorithm::reduce::reduce;
use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::lending;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::claim::MOST_PIECES;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::retained::LONGEST;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::combine::{combined, published_part};
use crate::collective::node::reduction::elements::{bytes, operand, Elements};
use crate::collective::node::reduction::operands::{begin_reduction, Lending, Operands};
use crate::collective::node::reduction::prefixes::{piece, Prefixes};
use crate::collective::node::reduction::slices::slice;
use crate::collective::node::work_sharing::work::{share_out, Pieces, Work};
use crate::collective::temporary::Temporary;
use crate::collective::tree::Prefix;
use crate::collective::{schedule, Data, Root};
use crate::reduce::Operator;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// So many bytes the second of two members combines alone, while the first one goes on, whose copy is
/// retained.
const ALONE: u64 = LONGEST;

/// A scan of one member.
pub(crate) struct Scan<'a> {
    send: Option<&'a Data>,
    receive: &'a Data,
    operator: &'a Arc<Operator>,
    /// Whether a member's own part is left out of its result: how far the ranks lie
    /// behind the prefixes that they get.
    behind: u32,
}

impl<'a> Scan<'a> {
    pub fn new(
        send: Option<&'a Data>,
        receive: &'a Data,
        operator: &'a Arc<Operator>,
        exclusive: bool,
    ) -> Self {
        Scan { send, receive, operator, behind: u32::from(exclusive) }
    }

    fn contributed(&self) -> &'a Data {
        self.send.unwrap_or(self.receive)
    }

    /// What rank 0 gets.
    fn first(&self) {
        if let (0, Some(send)) = (self.behind, self.send) {
            // SAFETY: the program lends both, and the face has seen that they are apart.
            unsafe { schedule::copy(send, self.receive) };
        }
    }

    /// With short payload.
    pub async fn run(&self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        let (epoch, mine) = (party.begin(), operand(self.contributed()));
        party.wait_until_free(epoch, mine.bytes()).await?;
        party.publish(epoch, &mine);
        match party.rank {
            0 => {
                self.first();
                return Ok(());
            }
            // Then it knows that all have arrived, and waits for none of them later.
            rank if rank + 1 == party.size => party.wait_for_all(epoch).await?,
            rank => party.wait(Until::First(rank, epoch)).await?,
        }
        let bytes = bytes(self.receive);
        (0..=party.rank).try_for_each(|member| party.agree(member, epoch, bytes))?;
        let plan = Prefix(party.rank - self.behind);
        match plan.0 {
            0 => party.take(0, epoch, (0, bytes), &operand(self.receive)),
            _ => published_part(party.member, epoch, (0, bytes as usize), plan, self.operator, self.receive)?,
        }
        Ok(())
    }

    /// Straight between the buffers of the program.
    pub async fn run_large(&self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        if party.size == 2 {
            return self.run_of_two(party).await;
        }
        let shares_work = party.shares_work();
        let lent = begin_reduction(party, self.contributed(), Some((self.receive, Lending::Whole))).await?;
        party.wait_for_all(lent.epoch).await?;
        let made = MadeOf { scan: self, party, lent: &lent };
        let done = match shares_work && lent.agree(party.member).is_ok() {
            true => share_out(party, lent.epoch, &made).await,
            false => {
                let done = made.prefixes_of(made.slice(party.rank));
                party.meet().await?;
                done
            }
        };
        match party.rank {
            0 => self.first(),
            _ => lent.finish(done.is_ok(), self.receive),
        }
        done
    }

    /// Of two members: the second one gets the data of the first one, or a reduction.
    async fn run_of_two(&self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        if self.behind > 0 {
            let data = if party.rank == 0 { self.contributed() } else { self.receive };
            return broadcast(party, Root::Rank(0), data).await;
        }
        if bytes(self.receive) <= ALONE {
            return self.run_alone(party).await;
        }
        if party.rank == 0 {
            self.first();
        }
        let result = (party.rank == 1).then_some(self.receive);
        reduce(party, Root::Rank(1), Some(self.contributed()), result, self.operator).await
    }

    /// Of two members: the second one reads what the first one has lent.
    async fn run_alone(&self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        let epoch = party.begin();
        if party.rank == 0 {
            let contributed = operand(self.contributed());
            party.wait_until_free(epoch, party.narrow()).await?;
            let bytes = contributed.bytes();
            if let Some(address) = lending::retained_place(party, epoch, bytes) {
                // SAFETY: the program lends the data; nobody uses the place, which is as long.
                unsafe { schedule::copy(&contributed, &Data { address, ..Data::packed(bytes) }) };
                Descriptor::copy(address, bytes).put(party.member, epoch);
                self.first();
                return Ok(());
            }
            let mut contiguous = Contiguous::to_read(party, &contributed, 1)?;
            contiguous.descriptor(party.member).put(party.member, epoch);
            self.first();
            return lending::given(party, &mut contiguous).await;
        }
        party.arrive(epoch);
        party.wait_for(0, epoch).await?;
        let done = self.combine_with_first(party, epoch, bytes(self.receive));
        lending::taken(party.member, (0, epoch));
        done
    }

    /// What the second member gets, a piece at a time.
    fn combine_with_first(
        &self,
        party: &Party<'_, impl Wait, impl PeerMemory>,
        epoch: u64,
        bytes: u64,
    ) -> Result<()> {
        let (mine, lent) = (
            Contiguous::packed(party.member, &operand(self.contributed()))?,
            party.lent_by(0, epoch, bytes)?,
        );
        let items = Elements::of(&self.receive.datatype);
        let (item, piece) = (items.bytes, piece(&items, party.size));
        let mut copy = None;
        for at in (0..bytes).step_by(piece as usize) {
            let length = piece.min(bytes - at);
            let place = || {
                if copy.is_none() {
                    copy = Some(Temporary::packed(piece)?);
                }
                Ok(copy.as_ref().map_or(std::ptr::null_mut(), |(memory, _)| memory.address()))
            };
            // SAFETY: the first member has lent so much until the end; the copy is ours.
            let first = unsafe { lent.find(party, (0, epoch), (at, length), place, CopyKind::Reduction)? };
            let operands = [first, mine.address.wrapping_add(at as usize).cast_const()];
            let (all, target) = (Some(0..length), self.receive.items(at / item, length / item));
            // SAFETY: both can be read for so many bytes; the result may be one of two operands.
            unsafe {
                combined(all, Prefix(1), self.operator, &target, |member, at| {
                    operands[member as usize].wrapping_add(at)
                })?;
            }
        }
        Ok(())
    }
}

/// What the prefixes are made of: operands that all members have lent.
struct MadeOf<'a, Waits, Memory> {
    scan: &'a Scan<'a>,
    party: &'a Party<'a, Waits, Memory>,
    lent: &'a Operands,
}

impl<Waits: Wait, Memory: PeerMemory> MadeOf<'_, Waits, Memory> {
    /// The slice of a member.
    fn slice(&self, member: u32) -> Range<u64> {
        slice(
            member,
            self.party.size,
            self.lent.operand.bytes,
            Elements::of(&self.scan.receive.datatype).bytes,
        )
    }

    fn prefixes_of(&self, part: Range<u64>) -> Result<()> {
        let (scan, bytes) = (self.scan, part.end - part.start);
        let mine = (self.lent, scan.receive);
        Prefixes::new(self.party, mine, scan.operator, scan.behind, bytes)?.run(part)
    }

    fn in_pieces(&self, member: u32) -> Pieces {
        let Range { start, end } = self.slice(member);
        Pieces::of(
            end - start,
            piece(&Elements::of(&self.scan.receive.datatype), self.party.size),
            MOST_PIECES,
        )
    }
}

impl<Waits: Wait, Memory: PeerMemory> Work for MadeOf<'_, Waits, Memory> {
    fn pieces(&self, member: u32) -> u32 {
        self.in_pieces(member).number
    }

    fn work(&self, member: u32, pieces: Range<u32>) -> Result<()> {
        let (first, part) = (self.slice(member).start, self.in_pieces(member).range(pieces));
        self.prefixes_of(first + part.start..first + part.end)
    }
}
