//! Graphs of which every process knows its own edges (MPI-5.0 §8.5.4).

use crate::{Class, Error, Result};

/// Edges of one process in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The ranks at the other end.
    pub ranks: Vec<u32>,
    /// A weight for each, if the graph has weights.
    pub weights: Option<Vec<i32>>,
}

/// The edges of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistGraph {
    /// Edges that lead here.
    pub incoming: Edges,
    /// Edges that lead away.
    pub outgoing: Edges,
}

impl Edges {
    /// Checks what a program gave.
    ///
    /// # Errors
    /// `Rank` when there is no such rank among `size`, `Arg` when a weight is
    /// negative or weights are missing.
    pub fn new(ranks: &[i32], weights: Option<&[i32]>, size: u32) -> Result<Edges> {
        let checked = ranks.iter().map(|&rank| check_rank(rank, size)).collect::<Result<_>>()?;
        if let Some(weights) = weights {
            check_weights(weights, ranks.len())?;
        }
        Ok(Edges { ranks: checked, weights: weights.map(<[i32]>::to_vec) })
    }

    /// Adds an edge; `weight` counts if the graph has weights.
    pub(super) fn push(&mut self, rank: u32, weight: i32) {
        self.ranks.push(rank);
        if let Some(weights) = &mut self.weights {
            weights.push(weight);
        }
    }
}

impl DistGraph {
    /// Whether the edges have weights.
    pub fn weighted(&self) -> bool {
        self.incoming.weights.is_some() || self.outgoing.weights.is_some()
    }
}

pub(super) fn check_rank(rank: i32, size: u32) -> Result<u32> {
    u32::try_from(rank).ok().filter(|&rank| rank < size).ok_or_else(|| {
        Error::new(
            Class::Rank,
            format!("an edge names rank {rank}; ranks go from 0 to {}", i64::from(size) - 1),
        )
    })
}

pub(super) fn check_weights(weights: &[i32], edges: usize) -> Result<()> {
    if weights.len() != edges {
        let count = weights.len();
        return Err(Error::new(Class::Arg, format!("{edges} edges but {count} weights are given")));
    }
    match weights.iter().find(|&&weight| weight < 0) {
        Some(weight) => {
            Err(Error::new(Class::Arg, format!("an edge has the weight {weight}; it must not be negative")))
        }
        None => Ok(()),
    }
}
