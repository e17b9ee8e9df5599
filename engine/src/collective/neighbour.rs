//! Neighbourhood operations (MPI-5.0 §8.6): one send along each outgoing edge
//! of a topology, one receive along each incoming one.

use super::{Blocks, Data, Operation, Schedule};
use crate::Result;

/// The edges of one rank, in the order of its buffers. Where a neighbour is
/// missing, its block is not sent, or not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// Whom block `i` of a receive buffer is from.
    pub sources: Vec<Option<u32>>,
    /// Whom block `i` of a send buffer is for.
    pub destinations: Vec<Option<u32>>,
    /// Whether they are those of a Cartesian grid: per dimension the lower one, then the higher
    /// one. Data sent down arrive from above, which matters where both are the same rank.
    pub cartesian: bool,
}

impl Neighbourhood {
    /// The sources that are there, and where their blocks lie, in the order in which
    /// the blocks of one source come.
    pub(super) fn incoming(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let sources = &self.sources;
        (0..sources.len()).filter_map(|index| {
            let index = if self.cartesian { index ^ 1 } else { index };
            Some((sources[index]?, index))
        })
    }
}

/// What goes along the outgoing edges.
#[derive(Clone, Debug)]
pub enum Sent {
    /// The same along all of them.
    Same(Data),
    /// A block of its own along each.
    Each(Blocks),
}

/// Neighbor_allgather: `send` to every destination. `receive` is the first of
/// as many equal blocks as sources.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn neighbour_allgather(hood: Neighbourhood, send: Data, receive: Data) -> Result<Operation> {
    let receive = equal(&receive, hood.sources.len())?;
    Ok(Operation::Neighbours { hood, send: Sent::Same(send), receive })
}

/// Neighbor_alltoall: equal blocks, one for each destination and source.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn neighbour_alltoall(hood: Neighbourhood, send: Data, receive: Data) -> Result<Operation> {
    let send = Sent::Each(equal(&send, hood.destinations.len())?);
    let receive = equal(&receive, hood.sources.len())?;
    Ok(Operation::Neighbours { hood, send, receive })
}

/// `number` blocks of which `first` is the first.
fn equal(first: &Data, number: usize) -> Result<Blocks> {
    first.times(number as u32)?;
    Ok((0..number as u32).map(|index| first.blocks(index, 1)).collect())
}

/// Any of them as messages, all at once. Several between one pair of ranks arrive in
/// order, so the receives stand in the order in which the other side sends.
pub(super) fn neighbours(hood: &Neighbourhood, send: &Sent, receive: &[Data]) -> Schedule {
    let mut schedule = Schedule::new();
    for (source, index) in hood.incoming() {
        schedule.receive(source, receive[index].clone());
    }
    for (index, destination) in hood.destinations.iter().enumerate() {
        if let Some(destination) = *destination {
            let data = match send {
                Sent::Same(data) => data,
                Sent::Each(blocks) => &blocks[index],
            };
            schedule.send(destination, data.clone());
        }
    }
    schedule
}
