//! Grids among the virtual topologies (MPI-5.0 §8.5.1, §8.5.2, §8.5.5 to §8.5.7).

use super::{fill, mapped};
use crate::abi;
use crate::arguments::{number, Ints, OutArray, OutValue};
use crate::entry::engine;
use crate::functions::communicator::put;
use crate::handle_arguments::Out;
use crate::objects::Comm;
use serried_engine::engine::agreed::Agreed;
use serried_engine::world::topology::{self, Cart};
use serried_engine::Result;
use std::ffi::c_int;
use std::sync::Arc;

/// `MPI_Dims_create`.
pub fn dims_create(nnodes: c_int, ndims: c_int, dims: OutArray<c_int>) -> Result<()> {
    let mut extents =
        (0..number("ndims", ndims)?).map(|dimension| dims.get(dimension)).collect::<Result<Vec<_>>>()?;
    topology::dims_create(nnodes, &mut extents)?;
    fill(dims, "ndims", extents.len() as c_int, &extents)
}

/// `MPI_Cart_create`.
pub fn cart_create(
    comm_old: &Arc<Comm>,
    ndims: c_int,
    dims: Ints,
    periods: Ints,
    reorder: c_int,
    comm_cart: Out<Comm>,
) -> Result<()> {
    let cart = grid(ndims, dims, periods)?;
    let agreed = || {
        let (dims, periods) =
            (Agreed::numbers("dims", cart.dims()), Agreed::flags("periods", cart.periods()));
        vec![dims, periods, Agreed::flag("reorder", reorder != 0)]
    };
    put(&comm_cart, topology::cart_create(&engine()?.agreeing(&agreed), comm_old, cart.clone())?)
}

/// `MPI_Cart_map`.
pub fn cart_map(
    comm: &Arc<Comm>,
    ndims: c_int,
    dims: Ints,
    periods: Ints,
    newrank: OutValue<c_int>,
) -> Result<()> {
    newrank.set(mapped(comm, grid(ndims, dims, periods)?.size()));
    Ok(())
}

fn grid(ndims: c_int, dims: Ints, periods: Ints) -> Result<Cart> {
    let count = number("ndims", ndims)?;
    Cart::new(&dims.to_vec(count)?, &flags(periods, count)?)
}

fn flags(values: Ints, count: usize) -> Result<Vec<bool>> {
    Ok(values.to_vec(count)?.into_iter().map(|value| value != 0).collect())
}

/// `MPI_Cartdim_get`.
pub fn cartdim_get(comm: &Arc<Comm>, ndims: OutValue<c_int>) -> Result<()> {
    ndims.set(comm.cart()?.dims().len() as c_int);
    Ok(())
}

/// `MPI_Cart_get`.
pub fn cart_get(
    comm: &Arc<Comm>,
    maxdims: c_int,
    dims: OutArray<c_int>,
    periods: OutArray<c_int>,
    coords: OutArray<c_int>,
) -> Result<()> {
    let cart = comm.cart()?;
    let rings: Vec<c_int> = cart.periods().iter().map(|&ring| c_int::from(ring)).collect();
    fill(dims, "maxdims", maxdims, cart.dims())?;
    fill(periods, "maxdims", maxdims, &rings)?;
    fill(coords, "maxdims", maxdims, &cart.coords(comm.rank))
}

/// `MPI_Cart_coords`.
pub fn cart_coords(comm: &Arc<Comm>, rank: i32, maxdims: c_int, coords: OutArray<c_int>) -> Result<()> {
    let cart = comm.cart()?;
    fill(coords, "maxdims", maxdims, &cart.coords(comm.group.check_rank(rank)?))
}

/// `MPI_Cart_rank`.
pub fn cart_rank(comm: &Arc<Comm>, coords: Ints, rank: OutValue<c_int>) -> Result<()> {
    let cart = comm.cart()?;
    rank.set(cart.rank(&coords.to_vec(cart.dims().len())?)? as c_int);
    Ok(())
}

/// `MPI_Cart_shift`.
pub fn cart_shift(
    comm: &Arc<Comm>,
    direction: c_int,
    disp: c_int,
    rank_source: OutValue<c_int>,
    rank_dest: OutValue<c_int>,
) -> Result<()> {
    let (source, destination) = comm.cart()?.shift(comm.rank, direction, disp)?;
    let number = |rank: Option<u32>| rank.map_or(abi::MPI_PROC_NULL, |rank| rank as c_int);
    rank_source.set(number(source));
    rank_dest.set(number(destination));
    Ok(())
}

/// `MPI_Cart_sub`.
pub fn cart_sub(comm: &Arc<Comm>, remain_dims: Ints, newcomm: Out<Comm>) -> Result<()> {
    let kept = flags(remain_dims, comm.cart()?.dims().len())?;
    let agreed = || vec![Agreed::flags("remain_dims", &kept)];
    put(&newcomm, topology::cart_sub(&engine()?.agreeing(&agreed), comm, &kept)?)
}
