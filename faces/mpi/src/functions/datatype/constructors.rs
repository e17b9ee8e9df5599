//! The constructors of derived types, and their end (MPI-5.0 §5.1).

use crate::abi;
use crate::arguments::{Counts, Ints};
use crate::functions::attribute::datatype_owner;
use crate::handle;
use crate::handle_arguments::{Handles, InOut, Out};
use crate::objects::Datatype;
use serried_engine::datatype::{Distribution, Order, DEFAULT_ARGUMENT};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// Gives a new type its handle; `large` says that the `_c` form was called.
fn give(large: bool, newtype: &Out<Datatype>, made: Arc<Datatype>) -> Result<()> {
    newtype.put(if large { made.made_with_large_counts() } else { made })
}

/// The length of an array, from a count that the entry has checked.
fn length(count: i64) -> usize {
    count as usize
}

/// MPI_Type_contiguous.
pub fn type_contiguous(large: bool, count: i64, old: &Arc<Datatype>, new: Out<Datatype>) -> Result<()> {
    give(large, &new, Datatype::contiguous(count, old)?)
}

/// MPI_Type_vector.
pub fn type_vector(
    large: bool,
    count: i64,
    block: i64,
    stride: i64,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    give(large, &new, Datatype::vector(count, block, stride, old)?)
}

/// MPI_Type_create_hvector.
pub fn type_create_hvector(
    large: bool,
    count: i64,
    block: i64,
    stride: i64,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    give(large, &new, Datatype::hvector(count, block, stride, old)?)
}

/// MPI_Type_indexed.
pub fn type_indexed(
    large: bool,
    count: i64,
    blocks: Counts,
    displacements: Counts,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let blocks = blocks.to_vec("array_of_blocklengths", length(count))?;
    let displacements = displacements.to_vec("array_of_displacements", length(count))?;
    give(large, &new, Datatype::indexed(&blocks, &displacements, old)?)
}

/// MPI_Type_create_hindexed.
pub fn type_create_hindexed(
    large: bool,
    count: i64,
    blocks: Counts,
    displacements: Counts,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let blocks = blocks.to_vec("array_of_blocklengths", length(count))?;
    let displacements = displacements.to_vec("array_of_displacements", length(count))?;
    give(large, &new, Datatype::hindexed(&blocks, &displacements, old)?)
}

/// MPI_Type_create_indexed_block.
pub fn type_create_indexed_block(
    large: bool,
    count: i64,
    block: i64,
    displacements: Counts,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let displacements = displacements.to_vec("array_of_displacements", length(count))?;
    give(large, &new, Datatype::indexed_block(block, &displacements, old)?)
}

/// MPI_Type_create_hindexed_block.
pub fn type_create_hindexed_block(
    large: bool,
    count: i64,
    block: i64,
    displacements: Counts,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let displacements = displacements.to_vec("array_of_displacements", length(count))?;
    give(large, &new, Datatype::hindexed_block(block, &displacements, old)?)
}

/// MPI_Type_create_struct.
pub fn type_create_struct(
    large: bool,
    count: i64,
    blocks: Counts,
    displacements: Counts,
    types: Handles<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let blocks = blocks.to_vec("array_of_blocklengths", length(count))?;
    let displacements = displacements.to_vec("array_of_displacements", length(count))?;
    let olds = (0..length(count)).map(|index| types.get(index).cloned()).collect::<Result<Vec<_>>>()?;
    give(large, &new, Datatype::structure(&blocks, &displacements, &olds)?)
}

/// MPI_Type_create_subarray.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn type_create_subarray(
    large: bool,
    ndims: c_int,
    sizes: Counts,
    subsizes: Counts,
    starts: Counts,
    order: c_int,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let ndims = dimensions(ndims)?;
    let sizes = sizes.to_vec("array_of_sizes", ndims)?;
    let subsizes = subsizes.to_vec("array_of_subsizes", ndims)?;
    let starts = starts.to_vec("array_of_starts", ndims)?;
    give(large, &new, Datatype::subarray(&sizes, &subsizes, &starts, order_in(order)?, old)?)
}

/// MPI_Type_create_darray.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn type_create_darray(
    large: bool,
    size: c_int,
    rank: c_int,
    ndims: c_int,
    sizes: Counts,
    distributions: Ints,
    arguments: Ints,
    grid: Ints,
    order: c_int,
    old: &Arc<Datatype>,
    new: Out<Datatype>,
) -> Result<()> {
    let ndims = dimensions(ndims)?;
    let sizes = sizes.to_vec("array_of_gsizes", ndims)?;
    let distributions: Result<Vec<_>> =
        distributions.to_vec(ndims)?.into_iter().map(distribution_in).collect();
    let argument = |value: c_int| match value {
        abi::MPI_DISTRIBUTE_DFLT_DARG => DEFAULT_ARGUMENT,
        _ => i64::from(value),
    };
    let arguments: Vec<i64> = arguments.to_vec(ndims)?.into_iter().map(argument).collect();
    let grid: Vec<i64> = grid.to_vec(ndims)?.into_iter().map(i64::from).collect();
    let (size, rank, order) = (i64::from(size), i64::from(rank), order_in(order)?);
    let made = Datatype::darray(size, rank, &sizes, &distributions?, &arguments, &grid, order, old)?;
    give(large, &new, made)
}

/// MPI_Type_create_resized.
pub fn type_create_resized(
    large: bool,
    old: &Arc<Datatype>,
    lower_bound: i64,
    extent: i64,
    new: Out<Datatype>,
) -> Result<()> {
    give(large, &new, Datatype::resized(lower_bound, extent, old)?)
}

/// MPI_Type_dup: the same type and what the attributes' callbacks copy.
pub fn type_dup(old: &Arc<Datatype>, new: Out<Datatype>) -> Result<()> {
    let mut made = old.dup();
    let attributes = old.attributes.copy_all(datatype_owner(old))?;
    if let Some(fresh) = Arc::get_mut(&mut made) {
        fresh.attributes = attributes;
    }
    new.put(made)
}

/// MPI_Type_commit.
pub fn type_commit(datatype: InOut<Datatype>) -> Result<()> {
    datatype.get()?.commit();
    Ok(())
}

/// MPI_Type_free. Operations that use the type go on with it; so does the program where
/// MPI_Type_get_contents gave it the handle once more.
pub fn type_free(datatype: InOut<Datatype>) -> Result<()> {
    let object = datatype.get()?;
    if object.is_predefined() {
        let name = object.name();
        return Err(Error::new(
            Class::Type,
            format!("argument datatype is the predefined type {name}, which cannot be freed"),
        ));
    }
    if handle::DATATYPES.is_last(object) {
        object.attributes.delete_all(datatype_owner(object))?;
    }
    datatype.take().map(|_| ())
}

fn dimensions(ndims: c_int) -> Result<usize> {
    let checked = usize::try_from(ndims).ok().filter(|&ndims| ndims > 0);
    checked.ok_or_else(|| Error::new(Class::Arg, format!("argument ndims is {ndims} and must be at least 1")))
}

fn order_in(order: c_int) -> Result<Order> {
    match order {
        abi::MPI_ORDER_C => Ok(Order::C),
        abi::MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => Err(Error::new(
            Class::Arg,
            format!("argument order is {order}, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN"),
        )),
    }
}

fn distribution_in(value: c_int) -> Result<Distribution> {
    match value {
        abi::MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block),
        abi::MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic),
        abi::MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
        _ => Err(Error::new(
            Class::Arg,
            format!("array_of_distribs has {value}, which is no MPI_DISTRIBUTE_ value"),
        )),
    }
}
