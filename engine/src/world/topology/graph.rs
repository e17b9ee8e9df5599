//! Graphs that every process knows whole (MPI-5.0 §8.5.3, §8.5.5).

use crate::{Class, Error, Result};

/// A graph: `edges` holds the neighbours of node 0, then those of node 1, …;
/// `index[i]` says where those of node `i` end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    index: Vec<i32>,
    edges: Vec<u32>,
}

impl Graph {
    /// A graph of `index.len()` nodes. A node may be its own neighbour, and
    /// edges may repeat.
    ///
    /// # Errors
    /// `Arg` when the indices decrease or do not end with the edges, or when an
    /// edge leads to no node.
    pub fn new(index: &[i32], edges: &[i32]) -> Result<Graph> {
        let mut before = 0;
        for (node, &end) in index.iter().enumerate() {
            if end < before {
                return Err(Error::new(
                    Class::Arg,
                    format!(
                        "index[{node}] is {end}, but edges already go up to {before}: indices never decrease"
                    ),
                ));
            }
            before = end;
        }
        if before as usize != edges.len() {
            let count = edges.len();
            return Err(Error::new(
                Class::Arg,
                format!("the last index is {before}, but {count} edges are given"),
            ));
        }
        let nodes = index.len();
        let node = |(place, &edge): (usize, &i32)| match u32::try_from(edge) {
            Ok(node) if (node as usize) < nodes => Ok(node),
            _ => Err(Error::new(
                Class::Arg,
                format!("edges[{place}] is {edge}, but the graph has {nodes} nodes"),
            )),
        };
        let edges = edges.iter().enumerate().map(node).collect::<Result<_>>()?;
        Ok(Graph { index: index.to_vec(), edges })
    }

    /// How many nodes.
    pub fn nodes(&self) -> u32 {
        self.index.len() as u32
    }

    /// Where the neighbours of each node end in [`Graph::edges`].
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// The neighbours of all nodes.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The neighbours of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        let end = self.index[node as usize] as usize;
        let begin = if node == 0 { 0 } else { self.index[node as usize - 1] as usize };
        &self.edges[begin..end]
    }
}
