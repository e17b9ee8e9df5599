//! A long block between the ranks of a node: in several cells, those of the receiver that this rank has read last
//! ([`super::borrowed_cells`]), or else own ones that have been free for longest.
//!
//! The sender pushes the packet when the first part is there, and copies the rest; the receiver copies what is there. So
//! both copy at the same time, and the sender waits for nobody but a receiver that reads the rest itself
//! ([`super::overtaking`]). Where ranks share CPUs the packet goes when all is there: the receiver would wait for a sender
//! that has no core.

use super::cells::{self, Cell, Line};
use super::overtake_word::OvertakeWord;
use super::returned::indices;
use super::sizes::{PIECE, PIECES};
use super::{gone, NodeTransport};
use crate::transport::{Packet, Packets, Plain, INLINE_BYTES};
use crate::tuning::crossovers::WHOLE_CELL;
use crate::{Class, Error, LocalRank, Result};
use std::mem::size_of;
use std::time::Duration;

/// Bytes that are copied before the receiver is told of them: a quarter of the block, but no less and no more.
const PART: (usize, usize) = (4 << 10, 8 << 10);
/// Cells after the first that a block may have.
const MORE: usize = 28;
/// The longest block.
const LONGEST: usize = (1 + MORE) * PIECE;
/// Looks at what a peer says that copies, before it is asked whether it lives.
const LOOKS: u32 = 20_000;
/// From one look to the next then.
const REST: Duration = Duration::from_micros(50);

/// Of the token of a payload in pieces that was retained.
pub const PIECED: u64 = 1 << 31;

/// Kind of the packet that stands for a payload in cells.
pub const LONG: u8 = 0xfd;

/// Payload of [`LONG`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Long {
    /// Local rank of the owner of the cells.
    owner: u16,
    /// Local rank of who fills them.
    sender: u16,
    /// Bytes of the payload.
    pub bytes: u32,
    /// The first cell.
    first: u16,
    /// Of the packet that the receiver shall see.
    pub kind: u8,
    /// 1: all is there; 0: the line behind the first cell says how much.
    is_whole: u8,
    /// The others, counted from the first of the [`PIECES`].
    more: [u8; MORE],
}

const _: () = assert!(size_of::<Long>() == INLINE_BYTES);

// SAFETY: integers without padding.
unsafe impl Plain for Long {}

impl Long {
    /// Of a payload of a local rank that fits one cell and is there.
    pub fn of_cell(sender: u32, cell: Cell, bytes: usize, kind: u8) -> Long {
        let (owner, sender, first) = (cell.owner as u16, sender as u16, cell.index as u16);
        Long { owner, sender, bytes: bytes as u32, first, kind, is_whole: 1, more: [0; MORE] }
    }

    /// As the receiver has it.
    #[inline]
    pub fn in_hand(&self) -> InHand {
        let count = if self.is_in_one() { 1 } else { (self.bytes as usize).div_ceil(PIECE).max(1) as u8 };
        InHand { long: *self, count }
    }

    /// In a cell of another class than that of the pieces.
    fn is_in_one(&self) -> bool {
        !indices(PIECES).contains(&u32::from(self.first))
    }
}

/// A long payload whose packet has been looked at.
#[derive(Clone, Copy, Debug)]
pub struct InHand {
    long: Long,
    count: u8,
}

impl InHand {
    /// Whether it has to be read part by part.
    #[inline]
    pub fn is_in_pieces(&self) -> bool {
        self.count > 1 || self.long.is_whole == 0
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.long.bytes as usize
    }

    /// Local rank of who fills it.
    #[inline]
    pub fn sender(&self) -> u32 {
        u32::from(self.long.sender)
    }

    /// The first cell.
    #[inline]
    pub fn first(&self) -> Cell {
        Cell { owner: u32::from(self.long.owner), index: u32::from(self.long.first) }
    }

    /// Whether its cells are of the class of which blocks take several.
    #[inline]
    pub fn is_of_pieces(&self) -> bool {
        !self.long.is_in_one()
    }

    /// All of them.
    #[inline]
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell> + '_ {
        (0..usize::from(self.count)).map(|number| self.cell(number))
    }

    #[inline]
    fn cell(&self, number: usize) -> Cell {
        match number {
            0 => self.first(),
            _ => Cell {
                owner: u32::from(self.long.owner),
                index: indices(PIECES).start + u32::from(self.long.more[number - 1]),
            },
        }
    }
}

/// The bytes of a part of such a block, which divide those of a cell.
fn part_of(bytes: usize) -> usize {
    (bytes / 4).next_power_of_two().clamp(PART.0, PART.1)
}

const _: () = assert!(PIECE.is_multiple_of(PART.1));

impl NodeTransport {
    /// Sends a block part by part, behind its head; `false` if it is too short or too long for that, or cells are out.
    ///
    /// # Safety
    /// The block must be readable.
    pub(super) unsafe fn push_pieces(
        &mut self,
        peer: u32,
        (kind, header): (u8, [u64; 2]),
        head: &[u8],
        (block, bytes): (*const u8, usize),
    ) -> Result<bool> {
        let bytes = head.len() + bytes;
        if bytes > LONGEST || !WHOLE_CELL.is_passed_by(bytes as u64) {
            return Ok(false);
        }
        let Some(mut block_there) = self.take_pieces(peer, bytes, kind)? else { return Ok(false) };
        let before = match self.node.page(self.me).affinity.shared() {
            Some(_) => bytes,
            None => part_of(bytes).min(bytes),
        };
        block_there.long.is_whole = u8::from(before == bytes);
        self.line_of(&block_there).overtake.open((block as u64).wrapping_sub(head.len() as u64));
        // SAFETY: by the caller; the cells are in this rank's hands.
        unsafe { self.fill(peer, &block_there, (head, block), 0..before)? };
        let packet = Packet::with(LONG, header, &block_there.long);
        if !self.push(LocalRank(peer), &packet.letter())? {
            self.put_away(&block_there);
            return Ok(false);
        }
        // SAFETY: as above; the peer reads no further than it is told.
        unsafe { self.fill(peer, &block_there, (head, block), before..bytes)? };
        Ok(true)
    }

    /// The cells for a block to a peer.
    fn take_pieces(&mut self, peer: u32, bytes: usize, kind: u8) -> Result<Option<InHand>> {
        let (me, reserve) = (self.me, self.reserves_cells());
        let mut indexes = [0; 1 + MORE];
        let indexes = &mut indexes[..bytes.div_ceil(PIECE)];
        let owner = match self.peer(peer)?.borrowed.take(indexes) {
            true => peer,
            false if self.pool.take_pieces(indexes, reserve)? => me,
            false => return Ok(None),
        };
        let mut long = Long::of_cell(me, Cell { owner, index: indexes[0] }, bytes, kind);
        for (place, index) in long.more.iter_mut().zip(&indexes[1..]) {
            *place = (index - indices(PIECES).start) as u8;
        }
        Ok(Some(long.in_hand()))
    }

    /// Copies a range of a head and its block into their cells, part by part, and tells the receiver of each.
    ///
    /// # Safety
    /// The block must be readable, and the cells in this rank's hands.
    unsafe fn fill(
        &mut self,
        peer: u32,
        there: &InHand,
        data: (&[u8], *const u8),
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        let bytes = there.bytes();
        let line = self.line_of(there);
        for at in range.step_by(part_of(bytes)) {
            if let Some(until) = line.overtake.until().filter(|_| at > 0) {
                // What the receiver will not read where it is: that is copied while it reads.
                // SAFETY: by the caller.
                unsafe { self.fill_range(peer, there, data, at.max(until)..bytes)? };
                if self.is_read(peer, &line.overtake) {
                    line.filled.tell(bytes);
                    break;
                }
            }
            let end = bytes.min(at + part_of(bytes));
            // SAFETY: by the caller.
            unsafe { self.fill_range(peer, there, data, at..end)? };
            if at > 0 && end == bytes {
                self.close(peer, &line.overtake);
            }
            // When all is there the line may be that of another block.
            line.filled.tell(end);
        }
        Ok(())
    }

    /// Copies a range into the cells, and tells nobody.
    ///
    /// # Safety
    /// As [`NodeTransport::fill`].
    unsafe fn fill_range(
        &mut self,
        peer: u32,
        there: &InHand,
        (head, block): (&[u8], *const u8),
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            let part = (range.end - at).min(PIECE - at % PIECE);
            let target = self.cell_address(there.cell(at / PIECE)).wrapping_add(at % PIECE);
            let of_head = head.get(at..).map_or(0, |rest| rest.len().min(part));
            // SAFETY: a part of what is sent and of a cell, by the caller.
            unsafe {
                std::ptr::copy_nonoverlapping(head.as_ptr().wrapping_add(at), target, of_head);
                let from = block.wrapping_add(at + of_head).wrapping_sub(head.len());
                self.peer(peer)?.copies.copy(from, target.add(of_head), part - of_head);
            }
            at += part;
        }
        Ok(())
    }

    /// The part of a block that begins at byte `at`, as far as it is there and in one cell; waits for it if the sender
    /// still copies it.
    ///
    /// # Errors
    /// The sender has died meanwhile.
    pub(super) fn piece_of(&self, block: &InHand, at: usize) -> Result<(*const u8, usize)> {
        let there = self.await_filled(block, at)?;
        let address = self.cell_address(block.cell(at / PIECE)).wrapping_add(at % PIECE);
        Ok((address.cast_const(), (there - at).min(PIECE - at % PIECE)))
    }

    /// How much of a block is there; whoever has its packet may ask.
    #[inline]
    fn bytes_there(&self, block: &InHand) -> usize {
        match block.long.is_whole {
            0 => self.line_of(block).filled.bytes(),
            _ => block.long.bytes as usize,
        }
    }

    /// The line of a block in several parts.
    #[inline]
    fn line_of(&self, block: &InHand) -> &'static Line {
        let line: *const Line = cells::line(&self.area_of(block.first().owner), block.first().index);
        // SAFETY: it lies in the node segment, which lives for ever; it is made of atomics.
        unsafe { &*line }
    }

    /// The word by which its receiver overtakes its sender.
    #[inline]
    pub(super) fn overtake_word(&self, block: &InHand) -> &OvertakeWord {
        &self.line_of(block).overtake
    }

    /// Whether its sender still copies a block.
    #[inline]
    pub(super) fn is_being_filled(&self, block: &InHand) -> bool {
        self.bytes_there(block) < block.long.bytes as usize
    }

    /// Waits until all of a block that is being filled is there, or its sender has died.
    #[cold]
    pub(super) fn await_all(&self, block: &InHand) {
        let _ = self.await_filled(block, block.long.bytes as usize - 1);
    }

    fn await_filled(&self, block: &InHand, beyond: usize) -> Result<usize> {
        if self.await_peer(block.sender(), || self.bytes_there(block) > beyond) {
            return Ok(self.bytes_there(block));
        }
        let died = Error::new(Class::Intern, "the rest of the message has not been copied");
        gone::or_gone(Err(died), self.node, block.sender())
    }

    /// Waits for a peer that copies; `false`: it has died before.
    pub(super) fn await_peer(&self, peer: u32, is_over: impl Fn() -> bool) -> bool {
        for _ in 0..LOOKS {
            if is_over() {
                return true;
            }
            std::hint::spin_loop();
        }
        while !is_over() {
            if gone::is_gone(self.node, peer) {
                return is_over();
            }
            std::thread::sleep(REST);
        }
        true
    }
}

#[cfg(test)]
impl NodeTransport {
    /// Sends the first of a block of so many bytes to local rank 1, all sevens, and no more of it.
    pub(super) fn push_begun_block(&mut self, bytes: usize, there: usize) {
        let mut block = self.take_pieces(1, bytes, 5).unwrap().unwrap();
        block.long.is_whole = 0;
        let data = vec![7u8; bytes];
        // SAFETY: the block is that long, the cells are the owner's.
        unsafe { self.fill(1, &block, (&[], data.as_ptr()), 0..there).unwrap() };
        let letter = Packet::with(LONG, [1, 2], &block.long);
        assert!(self.push(LocalRank(1), &letter.letter()).unwrap());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;
    use crate::transport::Payloads;

    #[test]
    fn a_sender_that_dies_while_it_copies_is_told() {
        let node = NodeSegment::create(2).unwrap();
        let node: &'static NodeSegment = Box::leak(Box::new(node));
        let [mut owner, mut peer] = [0, 1].map(|rank| NodeTransport::attach(node, rank).unwrap());
        owner.push_begun_block(50_000, 20_000);
        let arrival = peer.peek().unwrap();
        let all = (arrival.payload(), 50_000);
        let mut read = 0;
        while read < 20_000 {
            let (part, bytes) = peer.part(None, all, read).unwrap();
            // SAFETY: it is that long.
            assert!(unsafe { std::slice::from_raw_parts(part, bytes) }.iter().all(|&byte| byte == 7));
            read += bytes;
        }
        node.note_failure(0);
        assert_eq!(peer.part(None, all, read).unwrap_err().class(), Class::ProcFailed);
        peer.advance(&arrival);
    }

    #[test]
    fn parts_divide_a_cell() {
        assert_eq!([3500, 5000, 20_000, 400_000].map(part_of), [4096, 4096, 8192, 8192]);
    }
}
