//! Virtual topologies (MPI-5.0 §8): who is whose neighbour.
//!
//! `reorder` is taken and not used: every process keeps its rank.

mod cart;
pub mod create;
mod dims;
mod dist_graph;
mod graph;
#[cfg(test)]
mod tests;

pub use cart::Cart;
pub use create::{cart_create, cart_sub, dist_graph_create, dist_graph_create_adjacent, graph_create};
pub use dims::dims_create;
pub use dist_graph::{DistGraph, Edges};
pub use graph::Graph;

use super::Communicator;
use crate::{Class, Error, Result};

/// The topology of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A grid, of which any dimension may be a ring.
    Cart(Cart),
    /// A graph that every process knows whole.
    Graph(Graph),
    /// A graph of which every process knows its own edges.
    DistGraph(DistGraph),
}

/// The neighbours of a process in the order in which neighbourhood collectives
/// use their buffers (MPI-5.0 §8.6). `None` is a missing one (`MPI_PROC_NULL`):
/// its place in the buffers stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// From whom it receives.
    pub sources: Vec<Option<u32>>,
    /// To whom it sends.
    pub destinations: Vec<Option<u32>>,
}

impl Topology {
    /// The neighbours of a rank; for a distributed graph, only of one's own.
    pub fn neighbours(&self, rank: u32) -> Neighbours {
        let both = |ranks: Vec<Option<u32>>| Neighbours { sources: ranks.clone(), destinations: ranks };
        match self {
            Topology::Cart(cart) => both(cart.neighbours(rank)),
            Topology::Graph(graph) => both(graph.neighbours(rank).iter().copied().map(Some).collect()),
            Topology::DistGraph(graph) => Neighbours {
                sources: graph.incoming.ranks.iter().copied().map(Some).collect(),
                destinations: graph.outgoing.ranks.iter().copied().map(Some).collect(),
            },
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Topology::Cart(_) => "cartesian",
            Topology::Graph(_) => "graph",
            Topology::DistGraph(_) => "distributed graph",
        }
    }
}

/// The topology that a communicator must have for a call.
impl Communicator {
    /// Its grid.
    ///
    /// # Errors
    /// `Topology` when it has none.
    pub fn cart(&self) -> Result<&Cart> {
        match self.topology() {
            Some(Topology::Cart(cart)) => Ok(cart),
            other => Err(wrong_kind("cartesian", other)),
        }
    }

    /// Its graph.
    ///
    /// # Errors
    /// `Topology` when it has none.
    pub fn graph(&self) -> Result<&Graph> {
        match self.topology() {
            Some(Topology::Graph(graph)) => Ok(graph),
            other => Err(wrong_kind("graph", other)),
        }
    }

    /// Its distributed graph.
    ///
    /// # Errors
    /// `Topology` when it has none.
    pub fn dist_graph(&self) -> Result<&DistGraph> {
        match self.topology() {
            Some(Topology::DistGraph(graph)) => Ok(graph),
            other => Err(wrong_kind("distributed graph", other)),
        }
    }

    /// My neighbours.
    ///
    /// # Errors
    /// `Topology` when the communicator has no topology.
    pub fn neighbours(&self) -> Result<Neighbours> {
        let topology = self.topology().ok_or_else(|| wrong_kind("virtual", None))?;
        Ok(topology.neighbours(self.rank))
    }
}

fn wrong_kind(wanted: &str, found: Option<&Topology>) -> Error {
    let found = found.map_or("no topology".to_owned(), |found| format!("a {} topology", found.kind()));
    Error::new(
        Class::Topology,
        format!("the call needs a communicator with a {wanted} topology; it has {found}"),
    )
}
