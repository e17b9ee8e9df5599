//! A long reduction, divided among the members: each works on a slice of all operands.

use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::destination::Destination;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::combine::{Buffers, Tree};
use crate::collective::node::reduction::elements::Elements;
use crate::collective::node::reduction::operands::Operands;
use crate::collective::node::reduction::slices::{is_plain_pair, may_be_whole, slice, GRAIN};
use crate::collective::temporary::Temporary;
use crate::collective::tree::Folded;
use crate::collective::Data;
use crate::datatype::Datatype;
use crate::reduce::Operator;
use crate::tuning::crossovers::WHOLE_OF_TWO_UNLESS_PUT;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of every operand that are reduced at a time, so that they and the
/// result stay in a cache near by.
const PIECE: u64 = 32 << 10;
/// Operands of so many members are found without memory of their own.
const FEW: usize = 8;

/// What becomes of a part that a member has reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The member alone wants it.
    Kept,
    /// The others read it.
    Read,
    /// It goes to the others as well.
    Put,
    /// It goes to this member, unless it is there.
    To(u32),
}

/// A reduction whose operands all members have lent.
pub(crate) struct DividedReduction<'a, Waits, Memory> {
    party: &'a Party<'a, Waits, Memory>,
    mine: &'a Operands,
    operator: &'a Arc<Operator>,
    datatype: &'a Arc<Datatype>,
    item: u64,
    /// How much is reduced at a time: whole items.
    pub piece: u64,
    /// Of each operand.
    pub bytes: u64,
    /// Where the result of each member begins in that of all, and the end of the last one; nothing:
    /// every result is that of all.
    starts: Vec<u64>,
}

impl<'a, Waits: Wait, Memory: PeerMemory> DividedReduction<'a, Waits, Memory> {
    /// Of a reduction that has begun.
    pub fn new(
        party: &'a Party<'a, Waits, Memory>,
        mine: &'a Operands,
        operator: &'a Arc<Operator>,
        datatype: &'a Arc<Datatype>,
    ) -> Self {
        let (item, bytes) = (Elements::of(datatype).bytes, mine.operand.bytes);
        let piece = (PIECE / item).max(1) * item;
        DividedReduction { party, mine, operator, datatype, item, piece, bytes, starts: Vec::new() }
    }

    /// The same where each member gets a part of the result and has lent the place for it: `None` where
    /// members do not agree, which all of them find. How long the parts are stands in the marks, so all
    /// know it alike.
    pub fn in_parts(mut self) -> Option<Self> {
        self.starts.push(0);
        for member in 0..self.party.size {
            let start = self.origin(member);
            self.starts.push(start.checked_add(self.lent(member).ok()?.result_bytes())?);
        }
        (self.origin(self.party.size) == self.bytes).then_some(self)
    }

    /// Where the result of a member begins in that of all.
    fn origin(&self, member: u32) -> u64 {
        self.starts.get(member as usize).copied().unwrap_or(0)
    }

    /// The part of a member, if each has one.
    pub fn part(&self, member: u32) -> Range<u64> {
        self.origin(member)..self.origin(member + 1)
    }

    /// The slice of a member.
    pub fn slice(&self, rank: u32) -> Range<u64> {
        slice(rank, self.party.size, self.bytes, self.item)
    }

    /// My slice.
    pub fn mine(&self) -> Range<u64> {
        self.slice(self.party.rank)
    }

    /// Whether a member is this one.
    pub fn is_mine(&self, member: u32) -> bool {
        member == self.party.rank
    }

    /// Whether members agree about how much it is. If not, each of them finds that.
    pub fn are_agreed(&self) -> bool {
        self.mine.agree(self.party.member).is_ok()
    }

    /// What I reduce for a root: my slice, but for those ends of the result that others could write
    /// through the kernel only. The root takes them.
    ///
    /// # Errors
    /// `Truncate` where members do not agree.
    pub fn mine_for(&self, root: u32) -> Result<[Range<u64>; 3]> {
        let [head, tail] = self.lent(root)?.apart.map(u64::from);
        let first = head.next_multiple_of(self.item).min(self.bytes);
        let last = (self.bytes.saturating_sub(tail) / self.item * self.item).max(first);
        let mine = self.mine();
        let mine = mine.start.clamp(first, last)..mine.end.clamp(first, last);
        match root == self.party.rank {
            true => Ok([0..first, mine, last..self.bytes]),
            false => Ok([0..0, mine, 0..0]),
        }
    }

    /// Whether every member had better reduce all there is: there is one epoch less than
    /// by slices that are read. Nobody may want its result in the place of its operand
    /// then, which the others still read.
    pub fn are_better_whole(&self) -> bool {
        let size = self.party.size;
        let apart = |member| {
            // Where members do not agree all of them find that, and say no.
            self.lent(member).is_ok_and(|lent| lent.send != lent.receive)
        };
        let pair = is_plain_pair(size, self.operator) && !WHOLE_OF_TWO_UNLESS_PUT.is_passed_by(self.bytes);
        let suits = may_be_whole(size, self.bytes, self.operator) || pair && !self.are_better_put();
        suits && (0..size).all(apart)
    }

    /// Whether every member had better put its slice into the results of all: there is one
    /// epoch less, and what is put has just been written here. So where ranks share CPUs,
    /// since every member has to run for an epoch, and for two members.
    pub fn are_better_put(&self) -> bool {
        let open = |member| self.lent(member).is_ok_and(|lent| lent.open);
        let suits = self.party.size == 2 || self.party.shares_cpus();
        suits && (0..self.party.size).all(open)
    }

    /// Reduces parts of the operands. The result of all of them would begin at
    /// `out`, for whom `then` says; or the parts go into the result of a root.
    ///
    /// # Errors
    /// `NoMem`, `Truncate` where members do not agree, what reaching reports.
    pub fn reduce(
        &self,
        parts: impl IntoIterator<Item = Range<u64>>,
        out: Option<*mut u8>,
        then: Then,
    ) -> Result<()> {
        let size = self.party.size as usize;
        let mut room = Staging::of(self.piece, self.party.size);
        let mut buffers = Buffers::default();
        let (mut few, mut many) = ([std::ptr::null(); FEW], Vec::new());
        let operands = match size {
            0..=FEW => &mut few[..size],
            _ => {
                many.resize(size, std::ptr::null());
                &mut many[..]
            }
        };
        for part in parts {
            let mut at = part.start;
            while at < part.end {
                let bytes = self.piece.min(part.end - at);
                let piece = Piece { at, bytes, out };
                self.find(&piece, operands, &mut room)?;
                self.reduce_piece(&piece, operands, (&mut room, &mut buffers), then)?;
                at += bytes;
            }
        }
        Ok(())
    }

    /// Where a piece of every operand can be read here.
    fn find(&self, piece: &Piece, operands: &mut [*const u8], room: &mut Staging) -> Result<()> {
        let own = self.mine.operand.address;
        // The tree may keep what lies half way in the place of the result.
        let in_its_place = piece.out == Some(own) && self.party.size > 2;
        for (member, operand) in (0..).zip(operands) {
            let lent = self.lent(member)?;
            let mine = own.wrapping_add(piece.at as usize).cast_const();
            let (from, mut place) = ((member, self.mine.epoch), || room.place(member));
            *operand = match member == self.party.rank {
                true if !in_its_place => mine,
                true => {
                    let copy = place()?;
                    // SAFETY: my own operand, which the program lends; the place is ours.
                    unsafe { std::ptr::copy_nonoverlapping(mine, copy, piece.bytes as usize) };
                    copy
                }
                // SAFETY: the member has lent it until the last epoch; the place is ours.
                false => unsafe {
                    let what = (piece.at, piece.bytes);
                    lent.find(self.party, from, what, place, CopyKind::Reduction)?
                },
            };
        }
        Ok(())
    }

    /// Reduces a piece of the operands that were found.
    fn reduce_piece(
        &self,
        piece: &Piece,
        operands: &[*const u8],
        (room, buffers): (&mut Staging, &mut Buffers),
        then: Then,
    ) -> Result<()> {
        let (size, bytes) = (self.party.size, piece.bytes as usize);
        let result = piece.out.map(|out| out.wrapping_add(piece.at as usize));
        let tree = Tree::new(self.operator, self.datatype, Folded::new(size, 0), |member, from| {
            operands[member as usize].wrapping_add(from)
        });
        let there = match (result, then) {
            (None, Then::To(root)) if self.may_be_there(bytes) => Some(root),
            _ => None,
        };
        if let Some(root) = there {
            let at = piece.at - self.origin(root);
            // SAFETY: every operand can be read for `bytes` bytes; the root has lent the
            // result, my slice of it is mine, and of two operands it may be one.
            let made = self.target(root)?.whole(at, piece.bytes).and_then(|place| unsafe {
                let combine = |target| tree.combine(target, bytes, buffers);
                self.party.memory.write_there(self.party.member, root, place, piece.bytes, combine)
            });
            if let Some(made) = made {
                return made;
            }
        }
        let target = match result.filter(|_| then != Then::Read || self.may_be_plain(bytes)) {
            Some(result) => result,
            None => room.place(size)?,
        };
        // SAFETY: every operand can be read for `bytes` bytes: its owner has
        // lent it and does not write in my slice; the target is the
        // program's, in my slice, or a place of ours, and overlaps none but
        // my own operand of two.
        unsafe { tree.combine(target, bytes, buffers)? };
        if let Some(result) = result {
            if result != target {
                let copies = self.party.member.chooser(CopyKind::Result);
                // SAFETY: the program's, in my slice, and a place of ours.
                unsafe { copies.copy(target, result, bytes) };
            }
            if let Some(out) = &self.mine.out {
                // SAFETY: in my slice.
                unsafe { out.destination().keep(piece.at - self.origin(self.party.rank), bytes) };
            }
        }
        match (result, then) {
            (None, Then::To(root)) => self.put(root, piece, target)?,
            (_, Then::Put) => {
                self.party.others().try_for_each(|member| self.put(member, piece, target))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts a piece of my slice into the result of another member.
    fn put(&self, member: u32, piece: &Piece, reduced: *const u8) -> Result<()> {
        let (at, source) = (piece.at - self.origin(member), (reduced, piece.bytes as usize));
        let copies = self.party.member.chooser(CopyKind::Written);
        // SAFETY: the member has lent the result; my slice of it is mine.
        unsafe { self.target(member)?.write(self.party, member, at, source, copies) }
    }

    /// Whether a piece of a result that others read next is better written at once, and
    /// not in a place of ours first: their cores have the lines of the last result.
    fn may_be_plain(&self, bytes: usize) -> bool {
        self.party.member.chooser(CopyKind::Result).spares(bytes)
    }

    /// Whether a piece of the result of another is better written there at once: of two
    /// operands, for more go there and back; and not by a function of the program, for who
    /// forks would wait for it.
    fn may_be_there(&self, bytes: usize) -> bool {
        let two = self.party.size == 2 && !self.operator.is_user();
        two && self.party.member.chooser(CopyKind::Written).spares(bytes)
    }

    /// Where the result of a member goes.
    fn target(&self, member: u32) -> Result<Destination> {
        let lent = self.lent(member)?;
        Ok(lent.destination(lent.result_bytes()))
    }

    /// What a member has lent.
    fn lent(&self, member: u32) -> Result<Descriptor> {
        self.mine.of_member(self.party.member, member)
    }

    /// Takes the slices of the others from their results into mine.
    ///
    /// # Errors
    /// As [`DividedReduction::reduce`].
    pub fn gather(&self) -> Result<()> {
        let Some(out) = &self.mine.out else { return Ok(()) };
        for member in self.party.others() {
            let part = self.slice(member);
            if part.is_empty() {
                continue;
            }
            let to = out.address.wrapping_add(part.start as usize);
            let bytes = (part.end - part.start) as usize;
            let copies = self.party.member.chooser(CopyKind::Reduction);
            // SAFETY: the member has written its slice and only reads now; `to` is in
            // the program's result, and nobody else touches it.
            unsafe {
                self.target(member)?.read(self.party, member, part.start, (to, bytes), copies)?;
                out.destination().keep(part.start, bytes);
            }
        }
        Ok(())
    }
}

/// A piece of all operands.
struct Piece {
    /// Where it begins in them.
    at: u64,
    bytes: u64,
    /// Where the result of all of them would begin, unless it is another's.
    out: Option<*mut u8>,
}

/// Room for a piece of every operand and of the result, once it is needed.
struct Staging {
    memory: Option<(Temporary, Data)>,
    /// From one place to the next: pieces keep the alignment that items want.
    each: u64,
    places: u64,
}

impl Staging {
    fn of(piece: u64, size: u32) -> Staging {
        Staging { memory: None, each: piece.next_multiple_of(GRAIN), places: u64::from(size) + 1 }
    }

    fn place(&mut self, number: u32) -> Result<*mut u8> {
        if self.memory.is_none() {
            self.memory = Some(Temporary::packed(self.places.saturating_mul(self.each))?);
        }
        let base = self.memory.as_ref().map_or(std::ptr::null_mut(), |memory| memory.1.address);
        Ok(base.wrapping_add((u64::from(number) * self.each) as usize))
    }
}
