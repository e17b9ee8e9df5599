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

use super::begun::{begin_reduction, Begun, Lending};
use super::behind::LONGEST;
use super::combine::{combined, load, published_part, store};
use super::helped::part::MOST_PIECES;
use super::helped::{self, share_out, Pieces, Work};
use super::items::{bytes, operand, Items};
use super::large::{broadcast, given, reduce, taken, together};
use super::lent::Lent;
use super::reach::Reach;
use super::seat::{Copied, Seat, Wait};
use super::share::share;
use super::target::Target;
use super::whole::Whole;
use crate::collective::temporary::Temporary;
use crate::collective::tree::Prefix;
use crate::collective::{schedule, Data, Root};
use crate::reduce::Operator;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of every operand that are combined at a time at most, unless an item is longer,
const PIECE: u64 = 16 << 10;
/// and of all operands, for of more than twice as much the system would take back the memory each time;
const PIECES: u64 = 64 << 10;
/// but of each so many bytes: the kernel may have to copy them.
const SHORTEST: u64 = 2 << 10;

/// So many bytes the second of two members combines alone, while the first one goes on: it leaves a
/// copy behind.
const ALONE: u64 = LONGEST;

/// A scan of one member.
pub(super) struct Scan<'a> {
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
    pub async fn run(&self, seat: &Seat, wait: &impl Wait) -> Result<()> {
        let epoch = seat.begin();
        seat.room(epoch, wait).await?;
        seat.publish(epoch, &operand(self.contributed()));
        if seat.rank == 0 {
            self.first();
            return Ok(());
        }
        seat.all(epoch, wait).await?;
        let bytes = bytes(self.receive);
        (0..seat.size).try_for_each(|member| seat.agree(member, epoch, bytes))?;
        let plan = Prefix(seat.rank - self.behind);
        match plan.0 {
            0 => seat.take(0, epoch, (0, bytes), &operand(self.receive)),
            _ => published_part(seat, epoch, (0, bytes as usize), plan, self.operator, self.receive)?,
        }
        Ok(())
    }

    /// Straight between the buffers of the program.
    pub async fn run_large(&self, seat: &Seat, by: &(impl Wait + Reach)) -> Result<()> {
        if seat.size == 2 {
            return self.run_of_two(seat, by).await;
        }
        let is_helped = helped::wants(seat);
        let lent =
            begin_reduction(seat, self.contributed(), Some((self.receive, Lending::Whole)), by).await?;
        seat.all(lent.epoch, by).await?;
        let made = MadeOf { scan: self, seat, lent: &lent };
        let done = match is_helped && lent.agree(seat).is_ok() {
            true => share_out(seat, lent.epoch, &made, by).await,
            false => {
                let done = made.prefixes_of(made.share(seat.rank), by);
                together(seat, by).await?;
                done
            }
        };
        match seat.rank {
            0 => self.first(),
            _ => lent.finish(done.is_ok(), self.receive),
        }
        done
    }

    /// Of two members: the second one gets the data of the first one, or a reduction.
    async fn run_of_two(&self, seat: &Seat, by: &(impl Wait + Reach)) -> Result<()> {
        if self.behind > 0 {
            let data = if seat.rank == 0 { self.contributed() } else { self.receive };
            return broadcast(seat, Root::Rank(0), data, by).await;
        }
        if bytes(self.receive) <= ALONE {
            return self.run_alone(seat, by).await;
        }
        if seat.rank == 0 {
            self.first();
        }
        let result = (seat.rank == 1).then_some(self.receive);
        reduce(seat, Root::Rank(1), Some(self.contributed()), result, self.operator, by).await
    }

    /// Of two members: the second one reads what the first one has lent.
    async fn run_alone(&self, seat: &Seat, by: &(impl Wait + Reach)) -> Result<()> {
        let epoch = seat.begin();
        if seat.rank == 0 {
            let contributed = operand(self.contributed());
            seat.room(epoch, by).await?;
            let bytes = contributed.bytes();
            if let Some(address) = seat.place_behind(epoch, bytes, by) {
                // SAFETY: the program lends the data; nobody uses the place, which is as long.
                unsafe { schedule::copy(&contributed, &Data { address, ..Data::packed(bytes) }) };
                seat.tell(epoch, Lent::copy(address, bytes));
                self.first();
                return Ok(());
            }
            let mut whole = Whole::to_read(seat, &contributed, 1, by)?;
            Lent::of(seat, &whole).put(seat, epoch);
            self.first();
            return given(seat, epoch, &mut whole, by).await;
        }
        seat.arrive(epoch);
        seat.member(0, epoch, by).await?;
        let done = self.combine_with_first(seat, epoch, bytes(self.receive), by);
        taken(seat, (0, epoch));
        done
    }

    /// What the second member gets, a piece at a time.
    fn combine_with_first(&self, seat: &Seat, epoch: u64, bytes: u64, by: &impl Reach) -> Result<()> {
        let (mine, lent) = (Whole::packed(seat, &operand(self.contributed()))?, seat.told(0, epoch, bytes)?);
        let items = Items::of(&self.receive.datatype);
        let (item, piece) = (items.bytes, piece(&items, seat.size));
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
            let first = unsafe { lent.find((seat, 0, epoch), at, length, place, Copied::Reduction, by)? };
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
struct MadeOf<'a> {
    scan: &'a Scan<'a>,
    seat: &'a Seat,
    lent: &'a Begun,
}

impl MadeOf<'_> {
    /// The share of a member.
    fn share(&self, member: u32) -> Range<u64> {
        share(member, self.seat.size, self.lent.operand.bytes, Items::of(&self.scan.receive.datatype).bytes)
    }

    fn prefixes_of(&self, part: Range<u64>, by: &impl Reach) -> Result<()> {
        Prefixes::new(self.scan, self.seat, self.lent, part.end - part.start)?.run(part, by)
    }

    fn pieces(&self, member: u32) -> Pieces {
        let Range { start, end } = self.share(member);
        Pieces::of(end - start, piece(&Items::of(&self.scan.receive.datatype), self.seat.size), MOST_PIECES)
    }
}

impl Work for MadeOf<'_> {
    fn pieces(&self, member: u32, _: &impl Reach) -> u32 {
        self.pieces(member).number
    }

    fn work(&self, member: u32, pieces: Range<u32>, by: &impl Reach) -> Result<()> {
        let (first, part) = (self.share(member).start, self.pieces(member).range(pieces));
        self.prefixes_of(first + part.start..first + part.end, by)
    }
}

/// Bytes of every operand that are combined at a time: whole items.
fn piece(items: &Items, size: u32) -> u64 {
    let most = (PIECES / u64::from(size)).clamp(SHORTEST, PIECE);
    (most / items.bytes).max(1) * items.bytes
}

/// All prefixes of a share.
struct Prefixes<'a> {
    scan: &'a Scan<'a>,
    seat: &'a Seat,
    mine: &'a Begun,
    lent: Vec<Lent>,
    items: Items,
    piece: u64,
    /// For each prefix, with the layout of the type.
    values: Vec<(Temporary, Data)>,
    /// For what is packed on the way.
    stage: (Temporary, Data),
}

impl<'a> Prefixes<'a> {
    /// For so many bytes.
    fn new(scan: &'a Scan<'a>, seat: &'a Seat, mine: &'a Begun, bytes: u64) -> Result<Self> {
        let items = Items::of(&scan.receive.datatype);
        let lent = (0..seat.size).map(|member| mine.of_member(seat, member)).collect::<Result<_>>()?;
        let piece = piece(&items, seat.size).min(bytes);
        let value = |_| Temporary::new(piece / items.bytes, &scan.receive.datatype);
        let values = (scan.behind..seat.size).map(value).collect::<Result<_>>()?;
        Ok(Prefixes { scan, seat, mine, lent, items, piece, values, stage: Temporary::packed(piece)? })
    }

    fn run(&mut self, part: Range<u64>, by: &impl Reach) -> Result<()> {
        let seat = self.seat;
        for at in part.clone().step_by(self.piece.max(1) as usize) {
            let bytes = self.piece.min(part.end - at);
            (0..self.values.len()).try_for_each(|index| self.load(index, at, bytes, by))?;
            self.combine(bytes / self.items.bytes);
            (1..seat.size).try_for_each(|member| self.store(member, at, bytes, by))?;
        }
        Ok(())
    }

    /// The operand of a member, from byte `at` on.
    fn load(&self, index: usize, at: u64, bytes: u64, by: &impl Reach) -> Result<()> {
        let member = index as u32;
        let (from, stage) = ((self.seat, member, self.mine.epoch), self.stage.1.address);
        let from = match member == self.seat.rank {
            true => self.mine.operand.address.wrapping_add(at as usize).cast_const(),
            // SAFETY: the member has lent it until the last epoch; the place is ours.
            false => unsafe { self.lent[index].find(from, at, bytes, || Ok(stage), Copied::Reduction, by)? },
        };
        // SAFETY: so many bytes can be read there; the value has room for them.
        unsafe { load(&self.items, from, bytes, &self.values[index].1) };
        Ok(())
    }

    /// Makes of the operands their prefixes: in each round a value comes to cover
    /// twice as many.
    fn combine(&self, count: u64) {
        let number = self.values.len();
        let mut distance = 1;
        if let Some(exact) = self.scan.operator.exact(&self.scan.receive.datatype) {
            let places: Vec<_> = self.values.iter().map(|value| value.1.address).collect();
            let operands: Vec<_> = places.iter().map(|place| place.cast_const()).collect();
            for index in (0..number).rev() {
                // SAFETY: buffers of ours; that of the result is the last operand.
                unsafe { exact.sum(&operands[..=index], places[index], count as usize) };
            }
            return;
        }
        while distance < number {
            // From above, for each needs what lies below as it was before the round.
            for index in (distance..number).rev() {
                let (input, inout) = (&self.values[index - distance].1, &self.values[index].1);
                let (operator, datatype) = (self.scan.operator, &self.scan.receive.datatype);
                // SAFETY: two buffers of ours of the layout that the operator expects.
                unsafe { operator.apply(input.address, inout.address, count, datatype) };
            }
            distance *= 2;
        }
    }

    /// The prefix that a member gets, to byte `at` of its result.
    fn store(&self, member: u32, at: u64, bytes: u64, by: &impl Reach) -> Result<()> {
        let value = &self.values[(member - self.scan.behind) as usize].1;
        let out = self.mine.out.as_ref().map(|out| out.address.wrapping_add(at as usize));
        match out.filter(|_| member == self.seat.rank) {
            // SAFETY: my own result, of which this share is mine.
            Some(out) => unsafe {
                store(&self.items, value, bytes, out);
                self.mine.out.iter().for_each(|out| Target::own(out).keep(at, bytes as usize));
            },
            None => {
                let place = match self.items.as_they_lie {
                    Some(offset) => value.address.wrapping_offset(offset as isize),
                    None => {
                        // SAFETY: the stage has room for a piece.
                        unsafe { store(&self.items, value, bytes, self.stage.1.address) };
                        self.stage.1.address
                    }
                };
                let target = Target::of(&self.lent[member as usize], self.mine.operand.bytes);
                let (source, copies) = (place.cast_const(), self.seat.chooser(Copied::Written));
                // SAFETY: the member has lent its result; my share of it is mine.
                unsafe { target.write((self.seat, member), at, (source, bytes as usize), copies, by)? };
            }
        }
        Ok(())
    }
}
