//! Which way a request takes from node to node, and by whose credits.

use super::Header;
use std::collections::BTreeMap;

/// Nodes whose servers are gone, in the order in which that became known: the same for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gone {
    order: BTreeMap<u32, u32>,
}

/// Those of them that were known at some time.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    gone: &'a Gone,
    known: u32,
}

impl Gone {
    /// One more is; `false` if that was known.
    pub fn add(&mut self, node: u32) -> bool {
        let known = self.known();
        let is_new = !self.order.contains_key(&node);
        self.order.entry(node).or_insert(known);
        is_new
    }

    /// Whether a node is gone.
    pub fn contains(&self, node: u32) -> bool {
        self.order.contains_key(&node)
    }

    /// How many are.
    pub fn known(&self) -> u32 {
        self.order.len() as u32
    }

    /// The first `known` of them.
    pub fn view(&self, known: u32) -> View<'_> {
        View { gone: self, known }
    }

    /// All of them.
    pub fn all(&self) -> View<'_> {
        self.view(self.known())
    }
}

impl View<'_> {
    /// Whether a node is gone.
    pub fn contains(&self, node: u32) -> bool {
        self.gone.order.get(&node).is_some_and(|&place| place < self.known)
    }
}

/// The next part of a request's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Where it leads.
    pub node: u32,
    /// The class of the buffer there. Classes rise along a way, and that is why no circle of waits can be.
    pub class: u8,
}

/// The one who has the credits of a link, at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sender {
    /// A node: all of its ranks share them, and its server too.
    Node(u32),
    /// A rank: nobody shares them.
    Process(u32),
}

/// Ways between the nodes of a job.
pub trait Topology {
    /// How many nodes there are.
    fn nodes(&self) -> u32;

    /// The next hop of a request that is at `here` and not at its target, around those that are gone; `None` if all
    /// ways are.
    fn next(&self, here: u32, request: &Header, gone: View<'_>) -> Option<Hop>;

    /// Whether all requests of one node to another go one way. If so, they arrive in order, and the target may say how
    /// many are done; if not, each is answered by itself.
    fn has_one_way(&self) -> bool {
        true
    }

    /// Whether the credits of a class belong to processes. They come back with the answer to a request then, and
    /// not when its buffer is free.
    fn is_by_process(&self, _class: u8) -> bool {
        false
    }
}
