//! Ways of requests in worlds: the right ones, and wrong ones that the checker must catch.

use crate::server::{Clusters, Gone, Grid, Header, Hop, Kind, Topology, View};

/// How requests find their way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ways {
    /// As they should.
    Grid(Grid),
    /// As in the study.
    Clusters(Clusters),
    /// Wrong: each request corrects its coordinates in an order of its own.
    FreeOrder(Grid),
    /// Wrong where buffers are pooled by class: highest dimension first if a node of the way is missing.
    HighestFirstAroundHoles(Grid),
    /// Wrong: a fence goes straight to its target.
    FenceAside(Grid),
}

impl Ways {
    /// The grid, if it is one.
    pub fn grid(&self) -> Option<&Grid> {
        match self {
            Ways::Grid(grid) | Ways::FreeOrder(grid) => Some(grid),
            Ways::HighestFirstAroundHoles(grid) | Ways::FenceAside(grid) => Some(grid),
            Ways::Clusters(_) => None,
        }
    }
}

/// The hop that corrects the highest dimension in which two nodes differ.
fn highest_first(grid: &Grid, here: u32, target: u32) -> Option<Hop> {
    let neighbours = grid.neighbours(here);
    let mut stride = grid.extents().iter().product::<u32>();
    for (class, extent) in grid.extents().iter().enumerate().rev() {
        stride /= extent;
        let (own, wanted) = (here / stride % extent, target / stride % extent);
        if own != wanted {
            let node = here - own * stride + wanted * stride;
            return neighbours.into_iter().find(|hop| *hop == Hop { node, class: class as u8 });
        }
    }
    None
}

/// Whether the way with the lowest dimension first goes over nodes that are there.
fn is_whole(grid: &Grid, origin: u32, target: u32) -> bool {
    let mut here = origin;
    while here != target {
        let Some(hop) = grid.hop(here, target, Gone::default().all()) else { return false };
        if !grid.neighbours(here).contains(&hop) {
            return false;
        }
        here = hop.node;
    }
    true
}

impl Topology for Ways {
    fn nodes(&self) -> u32 {
        match self {
            Ways::Clusters(clusters) => clusters.nodes(),
            _ => self.grid().expect("it is one").nodes(),
        }
    }

    fn next(&self, here: u32, request: &Header, gone: View<'_>) -> Option<Hop> {
        let target = request.target;
        match self {
            Ways::Clusters(clusters) => return clusters.next(here, request, gone),
            Ways::FreeOrder(grid) if request.ticket % 2 == 1 => highest_first(grid, here, target),
            Ways::HighestFirstAroundHoles(grid) if !is_whole(grid, request.origin, target) => {
                highest_first(grid, here, target)
            }
            Ways::FenceAside(_) if request.kind == Kind::Tell => {
                Some(Hop { node: target, class: request.class })
            }
            _ => None,
        }
        .or_else(|| self.grid()?.hop(here, target, gone))
    }

    fn has_one_way(&self) -> bool {
        !matches!(self, Ways::Clusters(_))
    }

    fn is_by_process(&self, class: u8) -> bool {
        matches!(self, Ways::Clusters(clusters) if clusters.is_by_process(class))
    }
}
