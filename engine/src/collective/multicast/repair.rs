//! What the children of a rank in the tree miss, and how they get it.

use std::collections::BTreeSet;

/// What becomes of a piece that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It goes to this child.
    To(u32),
    /// It goes to all once more.
    All,
}

/// The open questions of the children.
#[derive(Debug)]
pub struct Repair {
    children: u32,
    /// By piece: the children that wait for it.
    wanted: Vec<u32>,
    open: BTreeSet<u32>,
    /// Pieces that all were sent twice: whoever has missed both gets them alone.
    again: BTreeSet<u32>,
    /// The root sends to all.
    is_root: bool,
}

impl Repair {
    /// Of so many children, 32 at most, for so many pieces.
    pub fn new(children: usize, pieces: u32, is_root: bool) -> Repair {
        Repair {
            children: children as u32,
            wanted: vec![0; pieces as usize],
            open: BTreeSet::new(),
            again: BTreeSet::new(),
            is_root,
        }
    }

    /// There are other pieces than was thought: so many.
    pub fn are_so_many(&mut self, pieces: u32) {
        self.wanted.resize(pieces as usize, 0);
        self.open.retain(|&piece| piece < pieces);
    }

    /// A child misses some pieces.
    pub fn ask(&mut self, child: usize, first: u32, number: u32) {
        let end = first.saturating_add(number).min(self.wanted.len() as u32);
        for piece in first..end {
            self.wanted[piece as usize] |= 1 << child;
            self.open.insert(piece);
        }
    }

    /// What to do about pieces that are here. The root sends to all what more than a quarter of its children miss.
    pub fn answers(&mut self, has: impl Fn(u32) -> bool) -> Vec<(u32, Answer)> {
        let here: Vec<u32> = self.open.iter().copied().filter(|&piece| has(piece)).collect();
        let mut answers = Vec::new();
        for piece in here {
            self.open.remove(&piece);
            let wanted = std::mem::take(&mut self.wanted[piece as usize]);
            let many = wanted.count_ones() * 4 > self.children;
            // A few children tell nothing of all others.
            if self.is_root && many && self.children > 1 && self.again.insert(piece) {
                answers.push((piece, Answer::All));
                continue;
            }
            let each = (0..self.children).filter(|child| wanted & 1 << child != 0);
            answers.extend(each.map(|child| (piece, Answer::To(child))));
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_children_of_the_root_miss_goes_to_all_once() {
        let mut repair = Repair::new(4, 10, true);
        repair.ask(0, 3, 2);
        repair.ask(2, 4, 1);
        assert_eq!(repair.answers(|_| true), [(3, Answer::To(0)), (4, Answer::All)]);
        repair.ask(2, 4, 1);
        repair.ask(3, 4, 1);
        assert_eq!(repair.answers(|_| true), [(4, Answer::To(2)), (4, Answer::To(3))]);
    }

    #[test]
    fn others_send_alone_and_what_they_have() {
        let mut repair = Repair::new(2, 10, false);
        repair.ask(0, 0, 3);
        repair.ask(1, 1, 99);
        assert_eq!(repair.answers(|piece| piece == 1), [(1, Answer::To(0)), (1, Answer::To(1))]);
        assert_eq!(
            repair.answers(|piece| piece < 3),
            [(0, Answer::To(0)), (2, Answer::To(0)), (2, Answer::To(1))]
        );
        assert!(repair.answers(|piece| piece < 3).is_empty());
    }
}
