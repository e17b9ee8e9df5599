//! How servers that pass requests on for others end: all together, once no node needs them any more.
//!
//! Where each server talks with each other, one may end when the ranks of its node are done: nobody needs it. In a grid
//! of several dimensions it passes on what is for others. So each tells the one above it in a tree of all nodes that
//! all below it and itself are done, and the first tells all that they may go.

/// A word about the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The sender, and all nodes below it, are done.
    Done,
    /// All nodes are.
    Go,
}

/// How far a node is with its end.
#[derive(Debug)]
pub struct Ending {
    node: u32,
    nodes: u32,
    is_done: bool,
    done_below: usize,
    has_said: bool,
}

impl Ending {
    /// Of a node of so many.
    pub fn new(node: u32, nodes: u32) -> Ending {
        Ending { node, nodes, is_done: false, done_below: 0, has_said: false }
    }

    fn below(&self) -> impl Iterator<Item = u32> {
        let (first, nodes) = (2 * u64::from(self.node) + 1, u64::from(self.nodes));
        (first..first + 2).filter(move |&below| below < nodes).map(|below| below as u32)
    }

    /// The ranks of this node are done: what is to be said now, and to whom.
    pub fn is_done(&mut self) -> Vec<(u32, Word)> {
        self.is_done = true;
        self.go_on()
    }

    /// A word has come: the same.
    pub fn hear(&mut self, word: Word) -> Vec<(u32, Word)> {
        match word {
            Word::Done => {
                self.done_below += 1;
                self.go_on()
            }
            Word::Go => self.go(),
        }
    }

    fn go_on(&mut self) -> Vec<(u32, Word)> {
        if !self.is_done || self.has_said || self.done_below < self.below().count() {
            return Vec::new();
        }
        self.has_said = true;
        match self.node.checked_sub(1) {
            Some(before) => vec![(before / 2, Word::Done)],
            // The first one tells itself too.
            None => vec![(0, Word::Go)],
        }
    }

    /// All may go; a job that goes on after its end begins anew.
    fn go(&mut self) -> Vec<(u32, Word)> {
        *self = Ending::new(self.node, self.nodes);
        self.below().map(|below| (below, Word::Go)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Nodes that are done in this order; how many may go after each.
    fn play(nodes: u32, order: impl Iterator<Item = u32>) -> Vec<usize> {
        let mut all: Vec<Ending> = (0..nodes).map(|node| Ending::new(node, nodes)).collect();
        let (mut gone, mut after) = (0, Vec::new());
        for node in order {
            let mut words: VecDeque<_> = all[node as usize].is_done().into();
            while let Some((to, word)) = words.pop_front() {
                gone += usize::from(word == Word::Go);
                words.extend(all[to as usize].hear(word));
            }
            after.push(gone);
        }
        after
    }

    #[test]
    fn nobody_goes_before_all_are_done_and_then_all_do_and_again() {
        for nodes in 1..20 {
            let expected: Vec<usize> =
                (1..=nodes as usize).map(|done| if done == nodes as usize { done } else { 0 }).collect();
            assert_eq!(play(nodes, 0..nodes), expected);
            assert_eq!(play(nodes, (0..nodes).rev()), expected);
            let twice = play(nodes, (0..nodes).chain(0..nodes));
            assert_eq!(twice.last(), Some(&(2 * nodes as usize)));
        }
    }
}
