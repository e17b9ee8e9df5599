//! Reductions of buffers in device memory by the ranks of one node: the device of each computes a part of the result, straight
//! from the operands, which the ranks map of each other.
//!
//! ```text
//! all tell where their buffers are described     --> map them, load the program
//! all say whether they are ready; if one is not: through the host
//! each computes its part                          --> all say whether they have
//! of an allreduce: each copies the parts of others --> all say whether they have
//! ```
//!
//! Results in place overwrite operands. There ranks compute in turns: each when nobody else reads what it overwrites any more.
//!
//! What ranks tell each other is in `device_members.rs`.

use super::device_members::{Found, Told};
use super::Engine;
use crate::collective::node::Member;
use crate::collective::{formula, Data, Operation, Root};
use crate::device::borrowing::Mapping;
use crate::device::computing::Formula;
use crate::device::{self, counted, DeviceMemory, Operand, Piece};
use crate::message::EAGER_FAR_BYTES;
use crate::reduce::OfDevice;
use crate::{Class, Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Items of a part are a multiple of this: so most parts begin where memory is read in long pieces.
const TOGETHER: u64 = 64;

/// What a rank tells of its buffers.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Contribution {
    operand: Told,
    /// Where others write to, or read from.
    result: Told,
    items: u64,
}

/// Which part of the result a rank computes, and where it goes.
enum Part {
    /// A share of the result, which lies at one rank, or at all.
    Share(Option<u32>),
    /// What it gets: so many items from one on.
    Own(Range<u64>),
    /// What it gets: all of it, of the ranks up to one.
    UpTo(u32),
    /// It gets nothing.
    Nothing,
}

/// A reduction that devices can do.
pub(super) struct Reduction<'a> {
    of_device: OfDevice,
    operand: &'a Data,
    items: u64,
    /// Where the result goes, if it comes here.
    result: Option<&'a Data>,
    part: Part,
    /// When this rank computes, and how many turns there are.
    turns: (u32, u32),
}

/// Results that overwrite operands, of which others may read what is overwritten: nobody else does in its turn.
fn turns_in_place(operation: &Operation, rank: u32, size: u32) -> Option<(u32, u32)> {
    match operation {
        // Ranks read those of lower ones, so the last goes first.
        Operation::Scan { send: None, .. } | Operation::Exscan { send: None, .. } => {
            Some((size - 1 - rank, size))
        }
        // Each result lies where rank 0 reads, which goes first.
        Operation::ReduceScatter { send: None, receive, counts, .. } => {
            let number = |rank| counts.part(receive, rank).1;
            let is_fit = (1..size).all(|rank| number(rank) <= number(0));
            is_fit.then_some((u32::from(rank > 0), 2))
        }
        _ => Some((0, 1)),
    }
}

impl<'a> Reduction<'a> {
    /// What a rank does of an operation; `None` if all ranks see that it is nothing for devices.
    pub fn of(operation: &'a Operation, rank: u32, size: u32) -> Option<Reduction<'a>> {
        let operator = operation.operator()?;
        let (send, receive, items, part) = match operation {
            Operation::Reduce { root: Root::Rank(root), send, receive, .. } => {
                let items = send.as_ref().or(receive.as_ref())?.count;
                (send, receive.as_ref().filter(|_| rank == *root), items, Part::Share(Some(*root)))
            }
            Operation::Allreduce { send, receive, .. } => {
                (send, Some(receive), receive.count, Part::Share(None))
            }
            Operation::ReduceScatter { send, receive, counts, .. } => {
                let (first, number) = counts.part(receive, rank);
                let part = if number == 0 { Part::Nothing } else { Part::Own(first..first + number) };
                (send, Some(receive), counts.total(receive, size), part)
            }
            Operation::Scan { send, receive, .. } => (send, Some(receive), receive.count, Part::UpTo(rank)),
            Operation::Exscan { send, receive, .. } => {
                (send, Some(receive), receive.count, rank.checked_sub(1).map_or(Part::Nothing, Part::UpTo))
            }
            _ => return None,
        };
        let operand = send.as_ref().or(result_of(operation))?;
        let of_device = operator.of_device(&operand.datatype)?;
        let result = receive.filter(|_| !matches!(part, Part::Nothing));
        let turns = turns_in_place(operation, rank, size)?;
        let is_long = items.saturating_mul(operand.datatype.size()) > EAGER_FAR_BYTES;
        is_long.then_some(Reduction { of_device, operand, items, result, part, turns })
    }

    fn bytes_of_item(&self) -> u64 {
        self.of_device.numbers << self.of_device.arithmetic.logarithm
    }

    /// The items that a rank computes, if each computes a share.
    fn share(&self, rank: u32, size: u32) -> Range<u64> {
        let each = self.items.div_ceil(u64::from(size)).next_multiple_of(TOGETHER);
        let at = |rank: u32| (u64::from(rank) * each).min(self.items);
        at(rank)..at(rank + 1)
    }
}

fn result_of(operation: &Operation) -> Option<&Data> {
    match operation {
        Operation::Reduce { receive, .. } => receive.as_ref(),
        Operation::Allreduce { receive, .. }
        | Operation::ReduceScatter { receive, .. }
        | Operation::Scan { receive, .. }
        | Operation::Exscan { receive, .. } => Some(receive),
        _ => None,
    }
}

/// All that a rank needs for its part.
struct Ready {
    operands: Vec<Operand>,
    /// Of those who have one.
    results: Vec<Option<Found>>,
    formula: Formula,
    /// Which items it computes.
    items: Range<u64>,
    /// Where they go.
    out: Option<(usize, DeviceMemory)>,
    #[allow(dead_code, reason = "operands stay mapped as long as it is there")]
    mappings: Vec<Arc<Mapping>>,
}

impl Engine {
    /// Reduces on the devices; whether it was done. All members come to the same answer.
    pub(super) fn reduce_on_devices(&self, me: &Member, reduction: &Reduction) -> Result<bool> {
        // What the driver says against it shows again on the way through the host.
        let mine = self.contribution(reduction).ok().flatten();
        let Some(told) = self.all_tell(me, mine.as_ref().map(|one| one.0).unwrap_or_default())? else {
            return Ok(false);
        };
        if told.iter().any(|one| one.operand.lent == 0 || one.items != reduction.items) {
            return Ok(false);
        }
        let ready = mine.and_then(|(_, mine)| self.made_ready(me, reduction, mine, &told));
        if !self.all_members_say(me, ready.is_some())? {
            return Ok(false);
        }
        let Some(ready) = ready else { return Ok(false) };
        crate::observe::page::add_together(&self.page.counters.collectives, 1);
        let (mine, turns) = reduction.turns;
        for turn in 0..turns {
            let computed = match turn == mine {
                true => self.page.copying(|| compute(reduction, &ready)),
                false => Ok(()),
            };
            self.agree_that(me, computed)?;
        }
        if let Part::Share(None) = reduction.part {
            let copied = self.page.copying(|| take_shares(me, reduction, &ready));
            self.agree_that(me, copied)?;
        }
        Ok(true)
    }

    /// What this rank tells of its buffers, and where they are; `None` if they are nothing for devices.
    fn contribution(&self, reduction: &Reduction) -> Result<Option<(Contribution, [Option<Found>; 2])>> {
        let bytes = (reduction.items * reduction.bytes_of_item()) as usize;
        let find = |data: &Data| Found::here(data.address);
        let tell = |found: &Found| self.told(found, bytes);
        let Some(operand) = find(reduction.operand)? else { return Ok(None) };
        let mut contribution =
            Contribution { operand: tell(&operand), result: Told::default(), items: reduction.items };
        let result = match reduction.result {
            Some(data) => {
                let Some(found) = find(data)? else { return Ok(None) };
                if let Part::Share(_) = reduction.part {
                    contribution.result = tell(&found);
                    if contribution.result.lent == 0 {
                        return Ok(None);
                    }
                }
                Some(found)
            }
            None => None,
        };
        Ok(Some((contribution, [Some(operand), result])))
    }

    /// Maps what others have told, and loads the program; `None` where that does not go.
    fn made_ready(
        &self,
        me: &Member,
        reduction: &Reduction,
        [operand, mut result]: [Option<Found>; 2],
        told: &[Contribution],
    ) -> Option<Ready> {
        let bytes = reduction.items * reduction.bytes_of_item();
        let (mut operands, mut mappings, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let own = operand?;
        for (member, one) in (0..me.size).zip(told) {
            let is_mine = member == me.rank;
            let found = match is_mine {
                true => Found { mapping: None, ..own },
                false => self.map_told(me, member, &one.operand, bytes)?,
            };
            operands.push(Operand { address: found.address, memory: Some(found.memory) });
            mappings.extend(found.mapping);
            results.push(match (is_mine, one.result.lent) {
                (true, _) => result.take(),
                (false, 0) => None,
                (false, _) => Some(self.map_told(me, member, &one.result, bytes)?),
            });
        }
        let (formula, items, at) = match &reduction.part {
            Part::Share(root) => {
                (formula::of_all(me.size), reduction.share(me.rank, me.size), root.unwrap_or(me.rank))
            }
            Part::Own(items) => (formula::of_all(me.size), items.clone(), me.rank),
            Part::UpTo(last) => (formula::of_prefix(*last), 0..reduction.items, me.rank),
            Part::Nothing => (formula::of_prefix(0), 0..0, me.rank),
        };
        let skipped = match reduction.part {
            Part::Share(_) => items.start * reduction.bytes_of_item(),
            _ => 0,
        };
        let out = results[at as usize].as_ref().map(|one| (one.address + skipped as usize, one.memory));
        let ready = Ready { operands, results, formula, items, out, mappings };
        ready.can_be_computed(reduction).then_some(ready)
    }

    /// All go on when all have done what they had to.
    fn agree_that(&self, me: &Member, mine: Result<()>) -> Result<()> {
        let all = self.all_members_say(me, mine.is_ok())?;
        mine?;
        match all {
            true => Ok(()),
            false => {
                let sentence =
                    "the device of another rank could not do its part of the reduction; the call of \
                                that rank says why";
                Err(Error::echo(Class::Other, sentence))
            }
        }
    }
}

impl Ready {
    /// The operands from the first item on that this rank computes.
    fn own_operands(&self, reduction: &Reduction) -> Vec<Operand> {
        let skipped = (self.items.start * reduction.bytes_of_item()) as usize;
        let operands = self.operands.iter().take(self.number_of_operands(reduction));
        operands.map(|one| Operand { address: one.address + skipped, ..*one }).collect()
    }

    fn number_of_operands(&self, reduction: &Reduction) -> usize {
        match reduction.part {
            Part::UpTo(last) => last as usize + 1,
            _ => self.operands.len(),
        }
    }

    fn can_be_computed(&self, reduction: &Reduction) -> bool {
        let (Some((out, memory)), false) = (self.out.as_ref(), self.items.is_empty()) else {
            return self.items.is_empty();
        };
        if self.formula.steps.is_empty() {
            return true;
        }
        let (operands, items) = (self.own_operands(reduction), self.items.end - self.items.start);
        let what = reduction.of_device.combining(&operands, &self.formula, (*out, memory), items);
        matches!(device::combines(&what), Ok(true))
    }
}

/// Computes the part of this rank.
fn compute(reduction: &Reduction, ready: &Ready) -> Result<()> {
    let (Some((out, memory)), false) = (&ready.out, ready.items.is_empty()) else { return Ok(()) };
    let (operands, items) = (ready.own_operands(reduction), ready.items.end - ready.items.start);
    if ready.formula.steps.is_empty() {
        let bytes = (items * reduction.bytes_of_item()) as usize;
        if *out == operands[0].address {
            return Ok(());
        }
        let piece = Piece { to: *out as *mut u8, from: operands[0].address as *const u8, bytes };
        // SAFETY: all members lend their buffers until all have said that they are done.
        return unsafe { device::copy(memory, &[piece]) };
    }
    // SAFETY: as above; nobody else writes this part of the result.
    match unsafe { reduction.of_device.combine(&operands, &ready.formula, (*out, memory), items)? } {
        true => Ok(()),
        false => Err(Error::new(Class::Intern, "a device computes no more what it could compute before")),
    }
}

/// Copies the shares that others have computed.
fn take_shares(me: &Member, reduction: &Reduction, ready: &Ready) -> Result<()> {
    let size = reduction.bytes_of_item();
    let Some(mine) = &ready.results[me.rank as usize] else { return Ok(()) };
    let mut pieces = Vec::new();
    for (member, found) in (0..me.size).zip(&ready.results) {
        let Some(found) = found.as_ref().filter(|_| member != me.rank) else { continue };
        let share = reduction.share(member, me.size);
        let (skipped, bytes) = ((share.start * size) as usize, ((share.end - share.start) * size) as usize);
        let (to, from) = ((mine.address + skipped) as *mut u8, (found.address + skipped) as *const u8);
        pieces.push(Piece { to, from, bytes });
    }
    // SAFETY: all members lend their buffers until all have said that they are done, and nobody else writes to mine.
    unsafe { device::copy(&mine.memory, &pieces)? };
    counted::mapped(pieces.iter().map(|piece| piece.bytes as u64).sum());
    Ok(())
}
