//! Grids (MPI-5.0 §8.5.1, §8.5.5 to §8.5.7). Ranks go row by row: the last
//! coordinate changes fastest.

use crate::{Class, Error, Result};

/// A grid of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    dims: Vec<i32>,
    periods: Vec<bool>,
}

impl Cart {
    /// A grid with `dims[d]` processes along dimension `d`, a ring where
    /// `periods[d]`.
    ///
    /// # Errors
    /// `Dims` when an extent is not positive, when there are more than
    /// 2³¹ - 1 processes, or when the lengths differ.
    pub fn new(dims: &[i32], periods: &[bool]) -> Result<Cart> {
        if dims.len() != periods.len() {
            let (dims, periods) = (dims.len(), periods.len());
            return Err(Error::new(Class::Dims, format!("{dims} extents but {periods} periods are given")));
        }
        let mut size: i32 = 1;
        for (dimension, &extent) in dims.iter().enumerate() {
            if extent <= 0 {
                return Err(Error::new(
                    Class::Dims,
                    format!("the extent of dimension {dimension} is {extent}; it must be positive"),
                ));
            }
            size = size.checked_mul(extent).ok_or_else(|| {
                Error::new(
                    Class::Dims,
                    format!("a grid of {dims:?} has more processes than any communicator"),
                )
            })?;
        }
        Ok(Cart { dims: dims.to_vec(), periods: periods.to_vec() })
    }

    /// Processes along each dimension.
    pub fn dims(&self) -> &[i32] {
        &self.dims
    }

    /// Which dimensions are rings.
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// How many processes.
    pub fn size(&self) -> u32 {
        self.dims.iter().map(|&extent| extent as u32).product()
    }

    /// The coordinates of a rank.
    pub fn coords(&self, rank: u32) -> Vec<i32> {
        let mut rest = i64::from(rank);
        let mut coords = vec![0; self.dims.len()];
        for (coord, &extent) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = (rest % i64::from(extent)) as i32;
            rest /= i64::from(extent);
        }
        coords
    }

    /// The rank at some coordinates; those along a ring wrap around.
    ///
    /// # Errors
    /// `Arg` when a coordinate lies outside of a dimension that is no ring, or
    /// when there are not as many as dimensions.
    pub fn rank(&self, coords: &[i32]) -> Result<u32> {
        if coords.len() != self.dims.len() {
            let (given, wanted) = (coords.len(), self.dims.len());
            return Err(Error::new(
                Class::Arg,
                format!("{given} coordinates in a grid of {wanted} dimensions"),
            ));
        }
        let mut rank = 0;
        for (dimension, &coord) in coords.iter().enumerate() {
            let extent = self.dims[dimension];
            if !self.periods[dimension] && !(0..extent).contains(&coord) {
                return Err(Error::new(
                    Class::Arg,
                    format!("coordinate {coord} of dimension {dimension} is not in 0 to {}", extent - 1),
                ));
            }
            rank = rank * extent as u32 + coord.rem_euclid(extent) as u32;
        }
        Ok(rank)
    }

    /// The ranks from which and to which data goes when everything moves by
    /// `steps` along `direction`. `None` is beyond the edge.
    ///
    /// # Errors
    /// `Dims` when there is no such dimension.
    pub fn shift(&self, rank: u32, direction: i32, steps: i32) -> Result<(Option<u32>, Option<u32>)> {
        let dimension = usize::try_from(direction).ok().filter(|&dimension| dimension < self.dims.len());
        let Some(dimension) = dimension else {
            let count = self.dims.len();
            return Err(Error::new(
                Class::Dims,
                format!("direction {direction} in a grid of {count} dimensions"),
            ));
        };
        let steps = i64::from(steps);
        Ok((self.beside(rank, dimension, -steps), self.beside(rank, dimension, steps)))
    }

    /// Before and behind along each dimension, in order.
    pub fn neighbours(&self, rank: u32) -> Vec<Option<u32>> {
        let along = |dimension| [self.beside(rank, dimension, -1), self.beside(rank, dimension, 1)];
        (0..self.dims.len()).flat_map(along).collect()
    }

    /// The grid of the kept dimensions through `rank`, and the ranks of its
    /// processes in this grid.
    ///
    /// # Errors
    /// `Arg` when `kept` has not as many entries as there are dimensions.
    pub fn sub(&self, rank: u32, kept: &[bool]) -> Result<(Cart, Vec<i32>)> {
        if kept.len() != self.dims.len() {
            let (given, wanted) = (kept.len(), self.dims.len());
            return Err(Error::new(Class::Arg, format!("{given} flags for a grid of {wanted} dimensions")));
        }
        let chosen: Vec<usize> = (0..kept.len()).filter(|&dimension| kept[dimension]).collect();
        let part = Cart {
            dims: chosen.iter().map(|&dimension| self.dims[dimension]).collect(),
            periods: chosen.iter().map(|&dimension| self.periods[dimension]).collect(),
        };
        let mut coords = self.coords(rank);
        let mut ranks = Vec::with_capacity(part.size() as usize);
        for member in 0..part.size() {
            for (&dimension, coord) in chosen.iter().zip(part.coords(member)) {
                coords[dimension] = coord;
            }
            ranks.push(self.rank(&coords)? as i32);
        }
        Ok((part, ranks))
    }

    fn beside(&self, rank: u32, dimension: usize, steps: i64) -> Option<u32> {
        let extent = i64::from(self.dims[dimension]);
        let behind: i64 = self.dims[dimension + 1..].iter().map(|&extent| i64::from(extent)).product();
        let coord = i64::from(rank) / behind % extent;
        let target = coord + steps;
        let target = if self.periods[dimension] { target.rem_euclid(extent) } else { target };
        (0..extent).contains(&target).then_some((i64::from(rank) + (target - coord) * behind) as u32)
    }
}
