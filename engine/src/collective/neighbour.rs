//! Neighbourhood operations (MPI-5.0 §8.6): one send along each outgoing edge
//! of a topology, one receive along each incoming one.

use super::{Data, Schedule};
use crate::Result;

/// The edges of one rank, in the order of its buffers. `None` is
/// `MPI_PROC_NULL`: a block that is not sent, or not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Whom block `i` of a receive buffer is from.
    pub sources: Vec<Option<u32>>,
    /// Whom block `i` of a send buffer is for.
    pub destinations: Vec<Option<u32>>,
    /// Whether these are the neighbours of a Cartesian grid: per dimension the
    /// lower one, then the higher one. What is sent down arrives from above,
    /// which matters where both are the same rank.
    pub cartesian: bool,
}

/// Neighbor_allgather: `send` to every destination. `receive` is the first of
/// as many equal blocks as sources.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn neighbour_allgather(neighbours: &Neighbours, send: Data, receive: Data) -> Result<Schedule> {
    receive.times(neighbours.sources.len() as u32)?;
    Ok(build(neighbours, &|_| send.clone(), &|index| receive.blocks(index as u32, 1)))
}

/// Neighbor_allgatherv: a block of its own for each source.
///
/// # Errors
/// None today.
pub fn neighbour_allgatherv(neighbours: &Neighbours, send: Data, receive: &[Data]) -> Result<Schedule> {
    Ok(build(neighbours, &|_| send.clone(), &|index| receive[index].clone()))
}

/// Neighbor_alltoall: equal blocks, one for each destination and source.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn neighbour_alltoall(neighbours: &Neighbours, send: Data, receive: Data) -> Result<Schedule> {
    send.times(neighbours.destinations.len() as u32)?;
    receive.times(neighbours.sources.len() as u32)?;
    Ok(build(neighbours, &|index| send.blocks(index as u32, 1), &|index| receive.blocks(index as u32, 1)))
}

/// Neighbor_alltoallv and neighbor_alltoallw: a block of its own for each edge.
///
/// # Errors
/// None today.
pub fn neighbour_alltoallw(neighbours: &Neighbours, send: &[Data], receive: &[Data]) -> Result<Schedule> {
    Ok(build(neighbours, &|index| send[index].clone(), &|index| receive[index].clone()))
}

type Block<'a> = &'a dyn Fn(usize) -> Data;

/// All messages at once. Several between one pair of ranks arrive in order, so
/// the receives stand in the order in which the other side sends.
fn build(neighbours: &Neighbours, send: Block, receive: Block) -> Schedule {
    let mut schedule = Schedule::new();
    let sources = &neighbours.sources;
    for index in 0..sources.len() {
        let index = if neighbours.cartesian { index ^ 1 } else { index };
        if let Some(source) = sources[index] {
            schedule.receive(source, receive(index));
        }
    }
    for (index, destination) in neighbours.destinations.iter().enumerate() {
        if let Some(destination) = *destination {
            schedule.send(destination, send(index));
        }
    }
    schedule
}
