//! Functions that MPI-3.0 took out and that old programs still call.

use super::{get_address, type_create_hindexed, type_create_hvector, type_create_struct};
use crate::arguments::{Counts, OutValue};
use crate::handle_arguments::{Handles, Out};
use crate::objects::Datatype;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// MPI_Address.
pub fn address(location: *mut c_void, address: OutValue<i64>) -> Result<()> {
    get_address(location, address)
}

/// MPI_Type_hvector.
pub fn type_hvector(count: i64, block: i64, stride: i64, old: &Arc<Datatype>, new: Out<Datatype>) -> Result<()> {
    type_create_hvector(false, count, block, stride, old, new)
}

/// MPI_Type_hindexed.
pub fn type_hindexed(
    count: i64,
    blocks: Counts,
    displacements: Counts,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    type_create_hindexed(false, count, blocks, displacements, old, new)
}

/// MPI_Type_struct.
pub fn type_struct(
    count: i64,
    blocks: Counts,
    displacements: Counts,
    types: Handles<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    type_create_struct(false, count, blocks, displacements, types, new)
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
