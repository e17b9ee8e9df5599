//! Functions that MPI-3.0 took out and that old programs still call.

use super::get_address;
use crate::arguments::{Counts, Ints, OutValue};
use crate::handle_arguments::{Handles, Out};
use crate::objects::Datatype;
use serried_engine::Result;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// MPI_Address.
pub fn address(location: *mut c_void, address: OutValue<i64>) -> Result<()> {
    get_address(location, address)
}

/// MPI_Type_hvector.
pub fn type_hvector(
    count: c_int,
    block: c_int,
    stride: i64,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    new.put(Datatype::hvector(i64::from(count), i64::from(block), stride, old)?)
}

/// MPI_Type_hindexed.
pub fn type_hindexed(
    count: usize,
    blocks: Ints,
    displacements: Counts,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let displacements = displacements.to_vec("array_of_displacements", count)?;
    new.put(Datatype::hindexed(&widened(blocks, count)?, &displacements, old)?)
}

/// MPI_Type_struct.
pub fn type_struct(
    count: usize,
    blocks: Ints,
    displacements: Counts,
    types: Handles<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let displacements = displacements.to_vec("array_of_displacements", count)?;
    let olds = (0..count).map(|index| types.get(index).cloned()).collect::<Result<Vec<_>>>()?;
    new.put(Datatype::structure(&widened(blocks, count)?, &displacements, &olds)?)
}

fn widened(values: Ints, count: usize) -> Result<Vec<i64>> {
    Ok(values.to_vec(count)?.into_iter().map(i64::from).collect())
}

/// MPI_Type_extent.
pub fn type_extent(datatype: &Arc<Datatype>, extent: OutValue<i64>) -> Result<()> {
    extent.set(datatype.extent());
    Ok(())
}

/// MPI_Type_lb.
pub fn type_lb(datatype: &Arc<Datatype>, displacement: OutValue<i64>) -> Result<()> {
    displacement.set(datatype.lower_bound());
    Ok(())
}

/// MPI_Type_ub.
pub fn type_ub(datatype: &Arc<Datatype>, displacement: OutValue<i64>) -> Result<()> {
    displacement.set(datatype.lower_bound() + datatype.extent());
    Ok(())
}
