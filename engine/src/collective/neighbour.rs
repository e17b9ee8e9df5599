//! Neighbourhood operations (MPI-5.0 §8.6): one send along each outgoing edge
//! of a topology, one receive along each incoming one.

use super::{Data, Schedule};
use crate::world::topology::{Neighbours, Topology};
use crate::world::Communicator;
use crate::Result;

/// The edges of one rank, in the order of its buffers. Where a neighbour is
/// missing, its block is not sent, or not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// Whom block `i` of a receive buffer is from, and whom block `i` of a send
    /// buffer is for.
    pub neighbours: Neighbours,
    /// Whether they are those of a Cartesian grid: per dimension the lower
    /// one, then the higher one. What is sent down arrives from above, which
    /// matters where both are the same rank.
    pub cartesian: bool,
}

impl Neighbourhood {
    /// The edges of a communicator's topology.
    ///
    /// # Errors
    /// `Topology` when it has none.
    pub fn of(communicator: &Communicator) -> Result<Neighbourhood> {
        let cartesian = matches!(communicator.topology(), Some(Topology::Cart(_)));
        Ok(Neighbourhood { neighbours: communicator.neighbours()?, cartesian })
    }
}

/// Neighbor_allgather: `send` to every destination. `receive` is the first of
/// as many equal blocks as sources.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn neighbour_allgather(hood: &Neighbourhood, send: Data, receive: Data) -> Result<Schedule> {
    receive.times(hood.neighbours.sources.len() as u32)?;
    Ok(build(hood, &|_| send.clone(), &|index| receive.blocks(index as u32, 1)))
}

/// Neighbor_allgatherv: a block of its own for each source.
///
/// # Errors
/// None today.
pub fn neighbour_allgatherv(hood: &Neighbourhood, send: Data, receive: &[Data]) -> Result<Schedule> {
    Ok(build(hood, &|_| send.clone(), &|index| receive[index].clone()))
}

/// Neighbor_alltoall: equal blocks, one for each destination and source.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn neighbour_alltoall(hood: &Neighbourhood, send: Data, receive: Data) -> Result<Schedule> {
    send.times(hood.neighbours.destinations.len() as u32)?;
    receive.times(hood.neighbours.sources.len() as u32)?;
    Ok(build(hood, &|index| send.blocks(index as u32, 1), &|index| receive.blocks(index as u32, 1)))
}

/// Neighbor_alltoallv and neighbor_alltoallw: a block of its own for each edge.
///
/// # Errors
/// None today.
pub fn neighbour_alltoallw(hood: &Neighbourhood, send: &[Data], receive: &[Data]) -> Result<Schedule> {
    Ok(build(hood, &|index| send[index].clone(), &|index| receive[index].clone()))
}

type Block<'a> = &'a dyn Fn(usize) -> Data;

/// All messages at once. Several between one pair of ranks arrive in order, so
/// the receives stand in the order in which the other side sends.
fn build(hood: &Neighbourhood, send: Block, receive: Block) -> Schedule {
    let mut schedule = Schedule::new();
    let sources = &hood.neighbours.sources;
    for index in 0..sources.len() {
        let index = if hood.cartesian { index ^ 1 } else { index };
        if let Some(source) = sources[index] {
            schedule.receive(source, receive(index));
        }
    }
    for (index, destination) in hood.neighbours.destinations.iter().enumerate() {
        if let Some(destination) = *destination {
            schedule.send(destination, send(index));
        }
    }
    schedule
}
