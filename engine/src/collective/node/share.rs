//! A large reduction: every member works on a share of it.

use super::begun::Begun;
use super::combine::{Buffers, Tree};
use super::items::Items;
use super::large::others;
use super::lent::Lent;
use super::reach::Reach;
use super::seat::{Copied, Seat};
use super::target::Target;
use crate::collective::temporary::Temporary;
use crate::collective::tree::Folded;
use crate::collective::Data;
use crate::datatype::Datatype;
use crate::reduce::Operator;
use crate::Result;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of every operand that are reduced at a time, so that they and the
/// result stay in a cache near by.
const PIECE: u64 = 32 << 10;
/// Operands of so many members are found without memory of their own.
const FEW: usize = 8;
/// Shares begin at multiples of so many bytes at least: a cache line.
const GRAIN: u64 = 64;

/// An allreduce in which a member has to read no more than this is done whole by
/// every member.
pub(super) const WHOLE: u64 = 64 << 10;
/// The same for two members. They have to read as much by shares, if somebody reads the results
/// afterwards, but combine half of it each, which is worth more from here on.
pub(super) const WHOLE_OF_TWO: u64 = 8 << 10;
/// The same in a reduce, where only one of them needs the result.
const ALONE_OF_TWO: u64 = 16 << 10;
/// The same as [`WHOLE_OF_TWO`] where one cannot put its share into the result of the other.
const WHOLE_UNLESS_PUT: u64 = 512 << 10;

/// Where the share of member `rank` of `size` lies in `bytes` bytes of items of
/// `item` bytes.
pub(super) fn share(rank: u32, size: u32, bytes: u64, item: u64) -> Range<u64> {
    let grain = item * GRAIN.div_ceil(item);
    let each = bytes.div_ceil(u64::from(size)).next_multiple_of(grain);
    let at = |rank: u32| u64::from(rank).saturating_mul(each).min(bytes);
    at(rank)..at(rank + 1)
}

/// All of `bytes` bytes, beginning at `first`. Members that all read everything begin
/// each at its share: two cores that read the same lines at once take longer by half,
/// for each line changes hands while its owner reads it too.
pub(super) fn in_turn(first: u64, bytes: u64) -> [Range<u64>; 2] {
    [first..bytes, 0..first]
}

/// Whether each of the members may reduce all of `bytes` bytes in an allreduce, whatever they can
/// reach of each other.
pub(super) fn may_be_whole(size: u32, bytes: u64, operator: &Operator) -> bool {
    match is_plain_pair(size, operator) {
        true => bytes <= WHOLE_OF_TWO,
        false => u64::from(size - 1) * bytes <= WHOLE,
    }
}

/// Whether a reduce of two members is the root's alone, which the other need not wait for. It reads
/// both operands then, but writes the result where it belongs.
pub(super) fn may_be_alone(size: u32, bytes: u64, operator: &Operator) -> bool {
    let most = if operator.is_user() { WHOLE } else { ALONE_OF_TWO };
    size == 2 && bytes <= most
}

/// Two members, and an operator of MPI: what a function of the program costs, nobody knows.
fn is_plain_pair(size: u32, operator: &Operator) -> bool {
    size == 2 && !operator.is_user()
}

/// What becomes of a part that a member has reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
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
pub(super) struct Shares<'a> {
    seat: &'a Seat,
    mine: &'a Begun,
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

impl<'a> Shares<'a> {
    /// Of a reduction that has begun.
    pub fn new(
        seat: &'a Seat,
        mine: &'a Begun,
        operator: &'a Arc<Operator>,
        datatype: &'a Arc<Datatype>,
    ) -> Self {
        let (item, bytes) = (Items::of(datatype).bytes, mine.operand.bytes);
        let piece = (PIECE / item).max(1) * item;
        Shares { seat, mine, operator, datatype, item, piece, bytes, starts: Vec::new() }
    }

    /// The same where each member gets a part of the result and has lent the place for it: `None` where
    /// members do not agree, which all of them find. How long the parts are stands in the marks, so all
    /// know it alike.
    pub fn scattered(mut self) -> Option<Self> {
        self.starts.push(0);
        for member in 0..self.seat.size {
            let start = self.origin(member);
            self.starts.push(start.checked_add(self.lent(member).ok()?.result_bytes())?);
        }
        (self.origin(self.seat.size) == self.bytes).then_some(self)
    }

    /// Where the result of a member begins in that of all.
    fn origin(&self, member: u32) -> u64 {
        self.starts.get(member as usize).copied().unwrap_or(0)
    }

    /// The part of a member, if each has one.
    pub fn part(&self, member: u32) -> Range<u64> {
        self.origin(member)..self.origin(member + 1)
    }

    /// The share of a member.
    pub fn share(&self, rank: u32) -> Range<u64> {
        share(rank, self.seat.size, self.bytes, self.item)
    }

    /// My share.
    pub fn mine(&self) -> Range<u64> {
        self.share(self.seat.rank)
    }

    /// Whether a member is this one.
    pub fn is_mine(&self, member: u32) -> bool {
        member == self.seat.rank
    }

    /// Whether members agree about how much it is. If not, each of them finds that.
    pub fn are_agreed(&self) -> bool {
        self.mine.agree(self.seat).is_ok()
    }

    /// What I reduce for a root: my share, but for those ends of the result that others could write
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
        match root == self.seat.rank {
            true => Ok([0..first, mine, last..self.bytes]),
            false => Ok([0..0, mine, 0..0]),
        }
    }

    /// Whether every member had better reduce all there is: there is one epoch less than
    /// by shares that are read. Nobody may want its result in the place of its operand
    /// then, which the others still read.
    pub fn are_better_whole(&self) -> bool {
        let size = self.seat.size;
        let apart = |member| {
            // Where members do not agree all of them find that, and say no.
            self.lent(member).is_ok_and(|lent| lent.send != lent.receive)
        };
        let pair = is_plain_pair(size, self.operator) && self.bytes <= WHOLE_UNLESS_PUT;
        let suits = may_be_whole(size, self.bytes, self.operator) || pair && !self.are_better_put();
        suits && (0..size).all(apart)
    }

    /// Whether every member had better put its share into the results of all: there is one
    /// epoch less, and what is put has just been written here. So where ranks share cores,
    /// since every member has to run for an epoch, and for two members with a core each.
    pub fn are_better_put(&self) -> bool {
        let open = |member| self.lent(member).is_ok_and(|lent| lent.open);
        let suits = self.seat.size == 2 || self.seat.block().shape().is_wide();
        suits && (0..self.seat.size).all(open)
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
        by: &impl Reach,
    ) -> Result<()> {
        let size = self.seat.size as usize;
        let mut room = Staging::of(self.piece, self.seat.size);
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
                self.find(&piece, operands, &mut room, by)?;
                self.reduce_piece(&piece, operands, (&mut room, &mut buffers), then, by)?;
                at += bytes;
            }
        }
        Ok(())
    }

    /// Where a piece of every operand can be read here.
    fn find(
        &self,
        piece: &Piece,
        operands: &mut [*const u8],
        room: &mut Staging,
        by: &impl Reach,
    ) -> Result<()> {
        let own = self.mine.operand.address;
        // The tree may keep what lies half way in the place of the result.
        let in_its_place = piece.out == Some(own) && self.seat.size > 2;
        for (member, operand) in (0..).zip(operands) {
            let lent = self.lent(member)?;
            let mine = own.wrapping_add(piece.at as usize).cast_const();
            let (from, mut place) = ((self.seat, member, self.mine.epoch), || room.place(member));
            *operand = match member == self.seat.rank {
                true if !in_its_place => mine,
                true => {
                    let copy = place()?;
                    // SAFETY: my own operand, which the program lends; the place is ours.
                    unsafe { std::ptr::copy_nonoverlapping(mine, copy, piece.bytes as usize) };
                    copy
                }
                // SAFETY: the member has lent it until the last epoch; the place is ours.
                false => unsafe { lent.find(from, piece.at, piece.bytes, place, Copied::Reduction, by)? },
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
        by: &impl Reach,
    ) -> Result<()> {
        let (size, bytes) = (self.seat.size, piece.bytes as usize);
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
            // result, my share of it is mine, and of two operands it may be one.
            let made = self.target(root)?.whole(at, piece.bytes).and_then(|place| unsafe {
                by.write_there(self.seat, root, place, piece.bytes, |target| {
                    tree.combine(target, bytes, buffers)
                })
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
        // lent it and does not write in my share; the target is the
        // program's, in my share, or a place of ours, and overlaps none but
        // my own operand of two.
        unsafe { tree.combine(target, bytes, buffers)? };
        if let Some(result) = result {
            if result != target {
                let copies = self.seat.chooser(Copied::Result);
                // SAFETY: the program's, in my share, and a place of ours.
                unsafe { copies.copy(target, result, bytes) };
            }
            if let Some(out) = &self.mine.out {
                // SAFETY: in my share.
                unsafe { Target::own(out).keep(piece.at - self.origin(self.seat.rank), bytes) };
            }
        }
        match (result, then) {
            (None, Then::To(root)) => self.put(root, piece, target, by)?,
            (_, Then::Put) => {
                others(self.seat).try_for_each(|member| self.put(member, piece, target, by))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts a piece of my share into the result of another member.
    fn put(&self, member: u32, piece: &Piece, reduced: *const u8, by: &impl Reach) -> Result<()> {
        let (at, source) = (piece.at - self.origin(member), (reduced, piece.bytes as usize));
        let copies = self.seat.chooser(Copied::Written);
        // SAFETY: the member has lent the result; my share of it is mine.
        unsafe { self.target(member)?.write((self.seat, member), at, source, copies, by) }
    }

    /// Whether a piece of a result that others read next is better written at once, and
    /// not in a place of ours first: their cores have the lines of the last result.
    fn may_be_plain(&self, bytes: usize) -> bool {
        self.seat.chooser(Copied::Result).spares(bytes)
    }

    /// Whether a piece of the result of another is better written there at once: of two
    /// operands, for more go there and back; and not by a function of the program, for who
    /// forks would wait for it.
    fn may_be_there(&self, bytes: usize) -> bool {
        let two = self.seat.size == 2 && !self.operator.is_user();
        two && self.seat.chooser(Copied::Written).spares(bytes)
    }

    /// Where the result of a member goes.
    fn target(&self, member: u32) -> Result<Target> {
        let lent = self.lent(member)?;
        Ok(Target::of(&lent, lent.result_bytes()))
    }

    /// What a member has lent.
    fn lent(&self, member: u32) -> Result<Lent> {
        self.mine.of_member(self.seat, member)
    }

    /// Takes the shares of the others from their results into mine.
    ///
    /// # Errors
    /// As [`Shares::reduce`].
    pub fn gather(&self, by: &impl Reach) -> Result<()> {
        let Some(out) = &self.mine.out else { return Ok(()) };
        for member in others(self.seat) {
            let part = self.share(member);
            if part.is_empty() {
                continue;
            }
            let to = out.address.wrapping_add(part.start as usize);
            let bytes = (part.end - part.start) as usize;
            let copies = self.seat.chooser(Copied::Reduction);
            // SAFETY: the member has written its share and only reads now; `to` is in
            // the program's result, and nobody else touches it.
            unsafe {
                let place = (self.seat, member);
                self.target(member)?.read(place, part.start, (to, bytes), copies, by)?;
                Target::own(out).keep(part.start, bytes);
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
