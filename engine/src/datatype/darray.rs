//! Distributed arrays: MPI_Type_create_darray (MPI-5.0 §5.1.4).

use super::arithmetic::{add, multiply};
use super::array::Order;
use super::type_map::{Placer, TypeMap};
use super::{Combiner, Datatype};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// How one dimension is dealt out to the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// One block each (`MPI_DISTRIBUTE_BLOCK`).
    Block = 0,
    /// Blocks in turn (`MPI_DISTRIBUTE_CYCLIC`).
    Cyclic = 1,
    /// Not at all (`MPI_DISTRIBUTE_NONE`).
    None = 2,
}

impl Distribution {
    /// The distribution that an envelope holds as `number`.
    pub fn from_number(number: i64) -> Distribution {
        match number {
            0 => Distribution::Block,
            1 => Distribution::Cyclic,
            _ => Distribution::None,
        }
    }
}

/// The distribution argument that stands for `MPI_DISTRIBUTE_DFLT_DARG`: blocks
/// as large as needed, cyclic blocks of 1. In an envelope of an f90 type it
/// stands for `MPI_UNDEFINED`.
pub const DEFAULT_ARGUMENT: i64 = i64::MIN;

/// One dimension of the global array.
struct Dimension {
    size: i64,
    distribution: Distribution,
    argument: i64,
    processes: i64,
    /// Where this process stands along it.
    coordinate: i64,
}

impl Datatype {
    /// MPI_Type_create_darray: the part of process `rank` out of `processes` of
    /// a global array of `sizes`, each dimension dealt out over `grid` as
    /// `distributions` and `arguments` say (one of each per dimension). The
    /// extent is that of the whole array.
    #[allow(clippy::too_many_arguments)] // as many as MPI gives it
    pub fn darray(
        processes: i64,
        rank: i64,
        sizes: &[i64],
        distributions: &[Distribution],
        arguments: &[i64],
        grid: &[i64],
        order: Order,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        let number = sizes.len();
        if number == 0 || [distributions.len(), arguments.len(), grid.len()] != [number; 3] {
            return Err(wrong(format!(
                "a distributed array needs at least 1 dimension, and {number} were given"
            )));
        }
        let coordinates = coordinates(processes, rank, grid)?;
        let mut map = old.map.clone();
        let mut stride = old.extent();
        let mut offset = 0;
        for index in order.dimensions(number) {
            let dimension = Dimension {
                size: sizes[index],
                distribution: distributions[index],
                argument: arguments[index],
                processes: grid[index],
                coordinate: coordinates[index],
            };
            let (part, begin) = dimension.share(index, &map, stride)?;
            map = part;
            offset = add(offset, multiply(begin, stride)?)?;
            stride = multiply(stride, dimension.size)?;
        }
        let map = map.shifted(offset)?.resized(0, stride)?;
        let kinds: Vec<i64> = distributions.iter().map(|&distribution| distribution as i64).collect();
        let head = [processes, rank, number as i64];
        let integers = [&head, sizes, &kinds, arguments, grid, &[order as i64]].concat();
        Ok(Datatype::derived_from(map, Combiner::Darray, integers, vec![], old))
    }
}

fn wrong(message: String) -> Error {
    Error::new(Class::Arg, message)
}

/// Where `rank` stands in the grid; the last coordinate runs fastest, whatever
/// the order of the array.
fn coordinates(processes: i64, rank: i64, grid: &[i64]) -> Result<Vec<i64>> {
    if let Some(index) = grid.iter().position(|&extent| extent < 1) {
        return Err(wrong(format!(
            "the process grid has {} in dimension {index}; at least 1 is needed",
            grid[index]
        )));
    }
    let product = grid.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent));
    if product != Some(processes) {
        return Err(wrong(format!(
            "the process grid {grid:?} does not multiply to the number of processes, {processes}"
        )));
    }
    if rank < 0 || rank >= processes {
        return Err(Error::new(
            Class::Arg,
            format!("rank {rank} is not within the {processes} processes of the array"),
        ));
    }
    let mut rest = rank;
    let mut coordinates = vec![0; grid.len()];
    for index in (0..grid.len()).rev() {
        coordinates[index] = rest % grid[index];
        rest /= grid[index];
    }
    Ok(coordinates)
}

impl Dimension {
    /// This process's share of dimension `index`, whose items `map` lie
    /// `stride` bytes apart: the type, and the first item of the share.
    fn share(&self, index: usize, map: &TypeMap, stride: i64) -> Result<(TypeMap, i64)> {
        if self.size < 1 {
            return Err(wrong(format!(
                "the size of dimension {index} is {} and must be at least 1",
                self.size
            )));
        }
        if self.argument != DEFAULT_ARGUMENT && self.argument < 1 && self.distribution != Distribution::None {
            let argument = self.argument;
            return Err(wrong(format!(
                "the distribution argument of dimension {index} is {argument}; it must be at least 1 or the default"
            )));
        }
        match self.distribution {
            Distribution::Block => self.block(index, map, stride),
            Distribution::Cyclic => self.cyclic(map, stride),
            Distribution::None if self.processes != 1 => Err(wrong(format!(
                "dimension {index} is not distributed, so the process grid must have 1 there and not {}",
                self.processes
            ))),
            Distribution::None => Ok((map.repeated(self.size as u64, stride)?, 0)),
        }
    }

    fn block(&self, index: usize, map: &TypeMap, stride: i64) -> Result<(TypeMap, i64)> {
        let needed = (self.size - 1) / self.processes + 1;
        let length = if self.argument == DEFAULT_ARGUMENT { needed } else { self.argument };
        if length < needed {
            return Err(wrong(format!(
                "blocks of {length} times {} processes do not cover the {} items of dimension {index}",
                self.processes, self.size
            )));
        }
        let begin = length.saturating_mul(self.coordinate).min(self.size);
        let mine = length.min(self.size - begin);
        Ok((map.repeated(mine as u64, stride)?, begin))
    }

    fn cyclic(&self, map: &TypeMap, stride: i64) -> Result<(TypeMap, i64)> {
        let length = if self.argument == DEFAULT_ARGUMENT { 1 } else { self.argument };
        let begin = length.saturating_mul(self.coordinate).min(self.size);
        let round = length.saturating_mul(self.processes);
        let reach = self.size - begin;
        let whole = reach / round + i64::from(reach % round >= length);
        let rest = if reach % round >= length { 0 } else { reach % round };
        let jump = if whole > 0 { multiply(round.min(self.size), stride)? } else { 0 };
        let mut placer = Placer::new();
        placer.place(
            0,
            1,
            &map.repeated(length.min(self.size) as u64, stride)?.repeated(whole as u64, jump)?,
        )?;
        if rest > 0 {
            placer.place(multiply(jump, whole)?, 1, &map.repeated(rest as u64, stride)?)?;
        }
        Ok((placer.finish()?, begin))
    }
}
