//! Cells that stay with the rank that has read them, until it has a block for their owner.
//!
//! A rank that reads lines which another core has just written gets them into its cache, and with them the right to write
//! there. Their owner would have to fetch them back. So the receiver of a long block keeps its cells, and its next block
//! to their owner goes there: two ranks that answer each other use the same few cells, and each writes where it has just read.
//!
//! A rank keeps so few that half of the owner's cells are never with others. The rest come back by their flags, and are
//! used in the order in which they came: a stream in one direction finds lines that have left the caches of both cores.

use super::cells::Cell;
use super::long_block::InHand;
use super::sizes::{CLASSES, PIECES};
use super::NodeTransport;
use std::collections::VecDeque;

/// Cells of one peer, by their numbers; the one that was read last is the last.
#[derive(Debug, Default)]
pub struct Borrowed(VecDeque<u32>);

impl Borrowed {
    /// Takes those that were read last, as many as `cells` has places; `false` if there are not so many.
    #[inline]
    pub fn take(&mut self, cells: &mut [u32]) -> bool {
        let Some(first) = self.0.len().checked_sub(cells.len()) else { return false };
        cells.iter_mut().zip(self.0.drain(first..)).for_each(|(cell, index)| *cell = index);
        true
    }

    /// Keeps one more; the one that has to go back to the owner now, if there would be more than `most`.
    #[inline]
    fn keep(&mut self, index: u32, most: usize) -> Option<u32> {
        self.0.push_back(index);
        if self.0.len() > most {
            return self.0.pop_front();
        }
        None
    }
}

impl NodeTransport {
    /// Cells of one peer that this rank keeps at most: all ranks together keep no more than half of them.
    fn most_borrowed(&self) -> usize {
        let others = self.peers.len() - 1;
        CLASSES[PIECES].count / 2 / others.max(1)
    }

    /// A payload has been read, or nobody wants it. While its sender still fills the cells, nobody else may.
    #[inline]
    pub(super) fn let_go(&mut self, block: &InHand) {
        self.end_overtaking(block);
        if self.is_being_filled(block) {
            if block.first().owner != self.me {
                return self.give_all_back(block);
            }
            self.await_all(block);
        }
        self.put_away(block);
    }

    /// Puts the cells of a payload where they are used next: nobody reads it any more, nor fills it.
    pub(super) fn put_away(&mut self, block: &InHand) {
        match (block.is_of_pieces(), block.first().owner == self.me) {
            (false, _) => self.give_all_back(block),
            (true, true) => block.cells().rev().for_each(|cell| self.pool.come_home(cell.index)),
            (true, false) => self.keep(block),
        }
    }

    /// Gives the cells of a payload back to their owner by their flags.
    fn give_all_back(&self, block: &InHand) {
        block.cells().for_each(|cell| self.give_back(cell));
    }

    /// Keeps the cells of a block, which belong to a peer.
    fn keep(&mut self, block: &InHand) {
        let (most, owner) = (self.most_borrowed(), block.first().owner);
        for Cell { index, .. } in block.cells() {
            let surplus = match self.peer(owner) {
                Ok(peer) => peer.borrowed.keep(index, most),
                Err(_) => Some(index),
            };
            if let Some(index) = surplus {
                self.give_back(Cell { owner, index });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sizes::PIECE;
    use super::*;
    use crate::job::NodeSegment;
    use crate::transport::{Packets, Payloads};
    use crate::LocalRank;
    use std::collections::HashSet;

    #[test]
    fn those_that_were_read_last_are_taken_first_and_in_their_order() {
        let mut borrowed = Borrowed::default();
        assert!(!borrowed.take(&mut [0]));
        let surplus: Vec<_> = (10..16).map(|index| borrowed.keep(index, 4)).collect();
        assert_eq!(surplus, [None, None, None, None, Some(10), Some(11)]);
        let mut cells = [0; 5];
        assert!(!borrowed.take(&mut cells));
        assert!(borrowed.take(&mut cells[..3]));
        assert_eq!(cells, [13, 14, 15, 0, 0]);
        assert!(!borrowed.take(&mut cells[..2]) && borrowed.take(&mut cells[..1]));
        assert_eq!(cells[0], 12);
    }

    #[test]
    fn nobody_keeps_any_where_there_are_too_many_ranks() {
        assert_eq!(Borrowed::default().keep(7, 0), Some(7));
    }

    const BYTES: usize = 2 * PIECE - 1000;

    fn pair() -> [NodeTransport; 2] {
        let node: &'static NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
        [0, 1].map(|rank| NodeTransport::attach(node, rank).unwrap())
    }

    fn send(from: &mut NodeTransport, to: u32, byte: u8) {
        let data = vec![byte; BYTES];
        // SAFETY: the block is that long.
        assert!(unsafe { from.push_block(LocalRank(to), (5, [0; 2]), &[], (data.as_ptr(), BYTES)).unwrap() });
    }

    /// Reads a block of one byte, again and again; returns where it lay.
    fn receive(transport: &mut NodeTransport, byte: u8) -> *const u8 {
        let arrival = transport.peek().expect("it was pushed");
        let all = (arrival.payload(), arrival.bytes as usize);
        let mut read = 0;
        while read < BYTES {
            let (part, bytes) = transport.part(None, all, read).unwrap();
            // SAFETY: it is that long.
            assert!(unsafe { std::slice::from_raw_parts(part, bytes) }.iter().all(|&found| found == byte));
            read += bytes;
        }
        transport.advance(&arrival);
        all.0
    }

    #[test]
    fn an_answer_and_the_next_question_go_into_the_cells_of_the_question() {
        let [mut one, mut other] = pair();
        send(&mut one, 1, 7);
        let place = receive(&mut other, 7);
        for byte in 8..20 {
            send(&mut other, 0, byte);
            assert_eq!(receive(&mut one, byte), place);
            send(&mut one, 1, !byte);
            assert_eq!(receive(&mut other, !byte), place);
        }
    }

    #[test]
    fn a_stream_never_runs_out_of_cells_and_has_half_of_them_in_turn() {
        let [mut one, mut other] = pair();
        let mut places = HashSet::new();
        for round in 0..1000 {
            send(&mut one, 1, round as u8);
            places.insert(receive(&mut other, round as u8));
        }
        assert!(places.len() >= CLASSES[PIECES].count / 4, "{}", places.len());
        // Both have cells of the first now, and use them at once.
        send(&mut one, 1, 1);
        send(&mut other, 0, 2);
        assert_ne!(receive(&mut one, 2), receive(&mut other, 1));
    }

    #[test]
    fn cells_that_are_still_filled_are_not_kept() {
        let [mut one, mut other] = pair();
        one.push_begun_block(BYTES, PIECE);
        let arrival = other.peek().expect("it was pushed");
        other.advance(&arrival);
        assert!(other.peers[0].as_ref().is_none_or(|peer| peer.borrowed.0.is_empty()));
    }
}
