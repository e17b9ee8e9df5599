//! A grid of nodes: each talks only to those that differ from it in one coordinate.
//!
//! Nodes are numbered row by row, the first dimension running fastest, so only the end of the last hyperplane of the
//! last dimension can be missing. A request corrects the *lowest dimension first*: it goes to the neighbour that has
//! the target's coordinate in the lowest dimension in which the two differ. The class of its buffer there is that
//! dimension. So classes rise along each way, and there is one way for each pair of nodes.
//!
//! *Adoption*: where the next node of a way is missing or gone, the nearest one below it in the last dimension takes
//! its place. It has all the coordinates that are right by then, so classes still rise. A node that is alone on its
//! line along the last dimension has no such stand-in: ways through it end when it is gone.

use super::topology::{Hop, Topology, View};
use super::Header;

/// A grid, full but for the end of its last hyperplane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    nodes: u32,
    extents: Vec<u32>,
}

impl Grid {
    /// A grid of these extents for so many nodes; that of the last dimension shrinks to what is needed.
    ///
    /// # Panics
    /// When it has no room for them, or an extent is 0.
    pub fn new(nodes: u32, extents: &[u32]) -> Grid {
        let (last, lower) = extents.split_last().expect("one dimension at least");
        let plane: u64 = lower.iter().map(|&extent| u64::from(extent)).product();
        assert!(plane > 0 && plane * u64::from(*last) >= u64::from(nodes), "{nodes} nodes in {extents:?}");
        let mut extents = extents.to_vec();
        *extents.last_mut().expect("as above") = u64::from(nodes).div_ceil(plane).max(1) as u32;
        Grid { nodes, extents }
    }

    /// The grid of so many dimensions with the fewest neighbours for so many nodes.
    pub fn fitting(nodes: u32, dimensions: u32) -> Grid {
        let product = |extents: &[u32]| extents.iter().map(|&extent| u64::from(extent)).product::<u64>();
        let mut extents = vec![1u32; dimensions.max(1) as usize];
        while product(&extents) < u64::from(nodes) {
            let least = *extents.iter().min().expect("one dimension at least");
            let lowest = extents.iter().position(|&extent| extent == least).expect("it is one of them");
            extents[lowest] += 1;
        }
        Grid::new(nodes, &extents)
    }

    /// A grid with two nodes along each dimension.
    pub fn hypercube(nodes: u32) -> Grid {
        Grid::new(nodes, &vec![2; nodes.max(2).next_power_of_two().trailing_zeros() as usize])
    }

    /// Along each dimension.
    pub fn extents(&self) -> &[u32] {
        &self.extents
    }

    /// How many other nodes a node sends to at most, those adopted left out.
    pub fn links(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent) - 1).sum()
    }

    /// The neighbours of a node, with the class of a buffer there.
    pub fn neighbours(&self, node: u32) -> Vec<Hop> {
        let mut all = Vec::new();
        let mut stride = 1;
        for (class, &extent) in self.extents.iter().enumerate() {
            let own = node / stride % extent;
            let others = (0..extent).filter(|&other| other != own);
            let there = others.map(|other| node - own * stride + other * stride);
            all.extend(
                there.filter(|&there| there < self.nodes).map(|node| Hop { node, class: class as u8 }),
            );
            stride = stride.saturating_mul(extent);
        }
        all
    }

    /// The one that stands for a node, if there is any that differs from it in the last dimension alone.
    fn stand_in(&self, node: u32, gone: View<'_>) -> Option<u32> {
        let plane = self.extents.iter().rev().skip(1).product::<u32>();
        let (column, row) = (node % plane, node / plane);
        let rows = (0..=row).rev().chain(row + 1..*self.extents.last().expect("one dimension at least"));
        rows.map(|row| column + row * plane).find(|there| *there < self.nodes && !gone.contains(*there))
    }

    /// The hop that corrects the lowest dimension in which two nodes differ.
    pub fn hop(&self, here: u32, target: u32, gone: View<'_>) -> Option<Hop> {
        if gone.contains(target) {
            return None;
        }
        let mut stride = 1;
        for (class, &extent) in self.extents.iter().enumerate() {
            let (own, wanted) = (here / stride % extent, target / stride % extent);
            if own != wanted {
                let node = here - own * stride + wanted * stride;
                let node = self.stand_in(node, gone)?;
                let is_way = node != here && (node == target || class + 1 < self.extents.len());
                return is_way.then_some(Hop { node, class: class as u8 });
            }
            stride = stride.saturating_mul(extent);
        }
        None
    }
}

impl Topology for Grid {
    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn next(&self, here: u32, request: &Header, gone: View<'_>) -> Option<Hop> {
        self.hop(here, request.target, gone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::topology::Gone;
    use super::*;

    /// The hops from one node to another.
    fn way(grid: &Grid, from: u32, to: u32, gone: &Gone) -> Option<Vec<Hop>> {
        let (mut here, mut hops) = (from, Vec::new());
        while here != to {
            let hop = grid.hop(here, to, gone.all())?;
            here = hop.node;
            hops.push(hop);
            assert!(hops.len() <= grid.extents.len(), "{from} to {to} in {grid:?}: {hops:?}");
        }
        Some(hops)
    }

    fn grids() -> impl Iterator<Item = Grid> {
        let shapes: [&[u32]; 6] = [&[5], &[2, 2], &[3, 4], &[2, 2, 2], &[2, 2, 3], &[3, 2, 2, 3]];
        shapes.into_iter().flat_map(|extents| {
            let plane: u32 = extents.iter().rev().skip(1).product();
            let all = extents.iter().product::<u32>();
            (all - plane + 1..=all).map(move |nodes| Grid::new(nodes, extents))
        })
    }

    #[test]
    fn every_way_ends_and_its_classes_rise_in_grids_with_holes() {
        for grid in grids() {
            for (from, to) in (0..grid.nodes).flat_map(|from| (0..grid.nodes).map(move |to| (from, to))) {
                let hops = way(&grid, from, to, &Gone::default()).expect("nobody is gone");
                assert!(hops.windows(2).all(|two| two[0].class < two[1].class), "{hops:?}");
            }
        }
    }

    /// Whether a node is all there is of its line along the last dimension.
    fn is_alone(grid: &Grid, node: u32) -> bool {
        let plane: u32 = grid.extents.iter().rev().skip(1).product();
        (0..grid.nodes).filter(|other| other % plane == node % plane).count() == 1
    }

    #[test]
    fn ways_lead_around_a_node_that_is_gone() {
        for grid in grids().filter(|grid| grid.extents.len() > 1) {
            for lost in 0..grid.nodes {
                let mut gone = Gone::default();
                gone.add(lost);
                for (from, to) in (0..grid.nodes).flat_map(|from| (0..grid.nodes).map(move |to| (from, to))) {
                    if from == lost || to == lost {
                        continue;
                    }
                    let before = way(&grid, from, to, &Gone::default()).expect("nobody is gone");
                    let led_there = before.iter().any(|hop| hop.node == lost);
                    let Some(hops) = way(&grid, from, to, &gone) else {
                        let is_lost_too = led_there && is_alone(&grid, lost);
                        assert!(is_lost_too, "{from} to {to} without {lost}: {grid:?}");
                        continue;
                    };
                    assert!(hops.windows(2).all(|two| two[0].class < two[1].class), "{hops:?}");
                    assert!(hops.iter().all(|hop| hop.node != lost), "{hops:?}");
                    assert!(led_there || hops == before, "{from} to {to} without {lost}: {hops:?}");
                }
            }
        }
    }

    #[test]
    fn a_link_is_of_one_class() {
        for grid in grids() {
            let mut classes = std::collections::BTreeMap::new();
            for (from, to) in (0..grid.nodes).flat_map(|from| (0..grid.nodes).map(move |to| (from, to))) {
                let mut here = from;
                for hop in way(&grid, from, to, &Gone::default()).expect("nobody is gone") {
                    assert_eq!(*classes.entry((here, hop.node)).or_insert(hop.class), hop.class);
                    here = hop.node;
                }
            }
        }
    }

    #[test]
    fn extents_are_those_of_the_fewest_links() {
        let links = |nodes, dimensions| Grid::fitting(nodes, dimensions).links();
        assert_eq!([links(800, 1), links(800, 2), links(800, 3), links(800, 4)], [799, 55, 25, 18]);
        assert_eq!([links(1_000_000, 2), links(1_000_000, 3), links(1_000_000, 4)], [1998, 297, 123]);
        assert_eq!([Grid::hypercube(800).links(), Grid::hypercube(1_000_000).links()], [10, 20]);
        assert_eq!(Grid::new(5, &[2, 9]).extents(), [2, 3]);
    }
}
