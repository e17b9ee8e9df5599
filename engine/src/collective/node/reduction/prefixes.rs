//! All prefixes of a slice of the operands, for a scan.

use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::combine::{load, store};
use crate::collective::node::reduction::elements::Elements;
use crate::collective::node::reduction::operands::Operands;
use crate::collective::temporary::Temporary;
use crate::collective::Data;
use crate::datatype::Datatype;
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

/// Bytes of every operand that are combined at a time: whole items.
pub(crate) fn piece(items: &Elements, size: u32) -> u64 {
    let most = (PIECES / u64::from(size)).clamp(SHORTEST, PIECE);
    (most / items.bytes).max(1) * items.bytes
}

/// All prefixes of a slice.
pub(crate) struct Prefixes<'a, Waits, Memory> {
    party: &'a Party<'a, Waits, Memory>,
    mine: &'a Operands,
    operator: &'a Arc<Operator>,
    datatype: &'a Arc<Datatype>,
    /// How far the ranks lie behind the prefixes that they get: 1 where their own operand is left out.
    behind: u32,
    lent: Vec<Descriptor>,
    items: Elements,
    piece: u64,
    /// For each prefix, with the layout of the type.
    values: Vec<(Temporary, Data)>,
    /// For what is packed on the way.
    stage: (Temporary, Data),
}

impl<'a, Waits: Wait, Memory: PeerMemory> Prefixes<'a, Waits, Memory> {
    /// For so many bytes of a scan that has begun, whose result goes to data like `receive`.
    ///
    /// # Errors
    /// `NoMem`, `Truncate` where members do not agree.
    pub fn new(
        party: &'a Party<'a, Waits, Memory>,
        (mine, receive): (&'a Operands, &'a Data),
        operator: &'a Arc<Operator>,
        behind: u32,
        bytes: u64,
    ) -> Result<Self> {
        let (datatype, items) = (&*receive.datatype, Elements::of(&receive.datatype));
        let (me, size) = (party.member, party.size);
        let lent = (0..size).map(|member| mine.of_member(me, member)).collect::<Result<_>>()?;
        let piece = piece(&items, size).min(bytes);
        let value = |_| Temporary::new(piece / items.bytes, datatype);
        let values = (behind..size).map(value).collect::<Result<_>>()?;
        let stage = Temporary::packed(piece)?;
        Ok(Prefixes { party, mine, operator, datatype, behind, lent, items, piece, values, stage })
    }

    /// Makes all prefixes of a slice, and writes each to the member that gets it.
    ///
    /// # Errors
    /// What reaching reports.
    pub fn run(&mut self, part: Range<u64>) -> Result<()> {
        let size = self.party.size;
        for at in part.clone().step_by(self.piece.max(1) as usize) {
            let bytes = self.piece.min(part.end - at);
            (0..self.values.len()).try_for_each(|index| self.load(index, at, bytes))?;
            self.combine(bytes / self.items.bytes);
            (1..size).try_for_each(|member| self.store(member, at, bytes))?;
        }
        Ok(())
    }

    /// The operand of a member, from byte `at` on.
    fn load(&self, index: usize, at: u64, bytes: u64) -> Result<()> {
        let member = index as u32;
        let (from, stage) = ((member, self.mine.epoch), self.stage.1.address);
        let from = match member == self.party.rank {
            true => self.mine.operand.address.wrapping_add(at as usize).cast_const(),
            // SAFETY: the member has lent it until the last epoch; the place is ours.
            false => unsafe {
                self.lent[index].find(self.party, from, (at, bytes), || Ok(stage), CopyKind::Reduction)?
            },
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
        if let Some(exact) = self.operator.exact(self.datatype) {
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
                // SAFETY: two buffers of ours of the layout that the operator expects.
                unsafe { self.operator.apply(input.address, inout.address, count, self.datatype) };
            }
            distance *= 2;
        }
    }

    /// The prefix that a member gets, to byte `at` of its result.
    fn store(&self, member: u32, at: u64, bytes: u64) -> Result<()> {
        let value = &self.values[(member - self.behind) as usize].1;
        let out = self.mine.out.as_ref().map(|out| out.address.wrapping_add(at as usize));
        match out.filter(|_| member == self.party.rank) {
            // SAFETY: my own result, of which this slice is mine.
            Some(out) => unsafe {
                store(&self.items, value, bytes, out);
                self.mine.out.iter().for_each(|out| out.destination().keep(at, bytes as usize));
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
                let target = self.lent[member as usize].destination(self.mine.operand.bytes);
                let (source, copies) = (place.cast_const(), self.party.member.chooser(CopyKind::Written));
                // SAFETY: the member has lent its result; my slice of it is mine.
                unsafe { target.write(self.party, member, at, (source, bytes as usize), copies)? };
            }
        }
        Ok(())
    }
}
