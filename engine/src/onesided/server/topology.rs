//! Which way a request takes from node to node, and by whose credits.

use super::Header;
use std::collections::BTreeSet;

/// Nodes whose servers are gone.
pub type Gone = BTreeSet<u32>;

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

    /// The next hop of a request that is at `here` and not at its target; `None` if all ways are gone.
    fn next(&self, here: u32, request: &Header, gone: &Gone) -> Option<Hop>;

    /// Whether the credits of a class belong to processes. They come back with the answer to a request then, and
    /// not when its buffer is free.
    fn is_by_process(&self, _class: u8) -> bool {
        false
    }
}
