//! Virtual topologies (MPI-5.0 chapter 8): grids in `cart`, graphs in `graph`, and
//! here what all have in common.

mod cart;
mod graph;

pub use cart::*;
pub use graph::*;

use crate::abi;
use crate::arguments::{number, OutArray, OutValue};
use crate::objects::Comm;
use serried_engine::world::topology::Topology;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// `MPI_Topo_test`.
pub fn topo_test(comm: &Arc<Comm>, status: OutValue<c_int>) -> Result<()> {
    status.set(match comm.topology() {
        None => abi::MPI_UNDEFINED,
        Some(Topology::Cart(_)) => abi::MPI_CART,
        Some(Topology::Graph(_)) => abi::MPI_GRAPH,
        Some(Topology::DistGraph(_)) => abi::MPI_DIST_GRAPH,
    });
    Ok(())
}

/// The rank of the calling process when the first `size` take part.
fn mapped(comm: &Comm, size: u32) -> c_int {
    if comm.rank < size {
        comm.rank as c_int
    } else {
        abi::MPI_UNDEFINED
    }
}

/// Stores all of `values` in an array for `room` of them.
fn fill(place: OutArray<c_int>, name: &str, room: c_int, values: &[c_int]) -> Result<()> {
    let count = values.len();
    if number(name, room)? < count {
        return Err(Error::new(
            Class::Arg,
            format!("argument {name} is {room}, but there are {count} values"),
        ));
    }
    values.iter().enumerate().try_for_each(|(index, &value)| place.set(index, value))
}
