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

    /// A payload has been read, or nobody wants it: its cells go where they are used next.
    #[inline]
    pub(super) fn let_go(&mut self, block: &InHand) {
        let owner = block.first().owner;
        if !block.is_of_pieces() {
            return self.give_back(block.first());
        }
        if owner == self.me {
            self.await_all(block);
            return self.come_home(block);
        }
        match self.bytes_there(block) == block.bytes() {
            true => self.keep(block),
            false => block.cells().for_each(|cell| self.give_back(cell)),
        }
    }

    /// A payload that was not sent: its cells stay with this rank.
    pub(super) fn take_back(&mut self, block: &InHand) {
        match block.is_of_pieces() && block.first().owner != self.me {
            true => self.keep(block),
            false => block.cells().for_each(|cell| self.give_back(cell)),
        }
    }

    fn come_home(&mut self, block: &InHand) {
        block.cells().rev().for_each(|cell| self.pool.come_home(cell.index));
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
    use super::*;

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
}
