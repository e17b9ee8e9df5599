//! One description of each operation, from which its forms are made.
//!
//! A face says *what* is to be done; the engine decides how: over shared memory
//! when the communicator has a block and the data are small (`node`), else by the
//! [`Schedule`] of messages that [`Operation::schedule`] writes.

use super::{Blocks, Counts, Data, Members, Neighbourhood, Root, Schedule, Sent};
use crate::kept::Kept;
use crate::reduce::Operator;
use crate::Result;

/// A collective operation of one rank, with checked arguments. The fields are
/// the arguments of the functions of the same name.
#[derive(Clone)]
pub enum Operation {
    /// [`super::barrier`].
    Barrier,
    /// [`super::broadcast`].
    Broadcast {
        /// Who has the data.
        root: Root,
        /// Where they are, or go.
        data: Data,
    },
    /// [`super::reduce`].
    Reduce {
        /// Who gets the result.
        root: Root,
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// Where the result goes, at the root.
        receive: Option<Data>,
        /// How two become one.
        operator: Kept<Operator>,
    },
    /// [`super::allreduce`].
    Allreduce {
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// Where the result goes.
        receive: Data,
        /// How two become one.
        operator: Kept<Operator>,
    },
    /// [`super::reduce_scatter`].
    ReduceScatter {
        /// What I contribute; if in place, it lies where the result goes.
        send: Option<Data>,
        /// Where my part of the result goes.
        receive: Data,
        /// Who gets how many items.
        counts: Counts,
        /// How two become one.
        operator: Kept<Operator>,
    },
    /// [`super::scan`].
    Scan {
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// Where the result goes.
        receive: Data,
        /// How two become one.
        operator: Kept<Operator>,
    },
    /// [`super::exscan`].
    Exscan {
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// Where the result goes.
        receive: Data,
        /// How two become one.
        operator: Kept<Operator>,
    },
    /// [`super::gather`].
    Gather {
        /// Who gets the blocks.
        root: Root,
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// The first of the blocks, at the root.
        receive: Option<Data>,
    },
    /// [`super::scatter`].
    Scatter {
        /// Who has the blocks.
        root: Root,
        /// The first of the blocks, at the root.
        send: Option<Data>,
        /// Where my block goes, if not in place.
        receive: Option<Data>,
    },
    /// [`super::allgather`].
    Allgather {
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// The first of the blocks.
        receive: Data,
    },
    /// [`super::alltoall`].
    Alltoall {
        /// The first of my blocks, if not in place.
        send: Option<Data>,
        /// The first of the blocks that I get.
        receive: Data,
    },
    /// [`super::gatherv`].
    Gatherv {
        /// Who gets the blocks.
        root: Root,
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// The block of each peer, at the root.
        receive: Blocks,
    },
    /// [`super::scatterv`].
    Scatterv {
        /// Who has the blocks.
        root: Root,
        /// The block of each peer, at the root.
        send: Blocks,
        /// Where my block goes, if not in place.
        receive: Option<Data>,
    },
    /// [`super::allgatherv`].
    Allgatherv {
        /// What I contribute, if not in place.
        send: Option<Data>,
        /// The block of each peer.
        receive: Blocks,
    },
    /// [`super::alltoallw`], and alltoallv.
    Alltoallw {
        /// My block for each peer, if not in place.
        send: Option<Blocks>,
        /// The block of each peer.
        receive: Blocks,
    },
    /// All operations on neighbourhoods.
    Neighbours {
        /// My edges.
        hood: Neighbourhood,
        /// What goes along the outgoing ones.
        send: Sent,
        /// What comes along the incoming ones.
        receive: Blocks,
    },
}

// SAFETY: the raw addresses are of buffers that the program lends to the operation until it is
// done, from whichever thread it is run; nothing here follows them.
unsafe impl Send for Operation {}
// SAFETY: as above.
unsafe impl Sync for Operation {}

impl Operation {
    /// What one rank can see to be wrong. Asked before anything is counted or
    /// sent, so that a wrong call of one rank leaves the communicator as it was.
    ///
    /// # Errors
    /// `Op` where an operator does not take the type; `Count` where blocks
    /// together do not fit 64 bits.
    #[inline]
    pub fn check(&self, members: &Members) -> Result<()> {
        let blocks = |data: &Option<Data>| match data {
            Some(data) => data.fits_times(members.peers()),
            None => Ok(()),
        };
        match self {
            Operation::Reduce { send, receive, operator, .. } => match send.as_ref().or(receive.as_ref()) {
                Some(data) => operator.check(&data.datatype),
                None => Ok(()),
            },
            Operation::Allreduce { receive, operator, .. }
            | Operation::Scan { receive, operator, .. }
            | Operation::Exscan { receive, operator, .. } => operator.check(&receive.datatype),
            Operation::ReduceScatter { receive, counts, operator, .. } => {
                operator.check(&receive.datatype)?;
                counts.check(receive, members.size)
            }
            Operation::Gather { receive, .. } => blocks(receive),
            Operation::Scatter { send, .. } => blocks(send),
            Operation::Allgather { receive, .. } => receive.fits_times(members.peers()),
            Operation::Alltoall { send, receive } => {
                blocks(send)?;
                receive.fits_times(members.peers())
            }
            Operation::Barrier
            | Operation::Broadcast { .. }
            | Operation::Gatherv { .. }
            | Operation::Scatterv { .. }
            | Operation::Allgatherv { .. }
            | Operation::Alltoallw { .. }
            | Operation::Neighbours { .. } => Ok(()),
        }
    }

    /// The root, as a rank of the communicator if it has one there, and the bytes of one block: what
    /// observers are told of it.
    #[inline]
    pub fn outline(&self) -> (Option<u32>, u64) {
        let rank = |root: &Root| match root {
            Root::Rank(rank) => Some(*rank),
            Root::Me | Root::Nobody => None,
        };
        let of = |data: Option<&Data>| data.map_or(0, Data::bytes);
        match self {
            Operation::Barrier | Operation::Alltoallw { .. } | Operation::Neighbours { .. } => (None, 0),
            Operation::Gatherv { root, .. } | Operation::Scatterv { root, .. } => (rank(root), 0),
            Operation::Allgatherv { receive, .. } => (None, receive.iter().map(Data::bytes).sum()),
            Operation::Broadcast { root, data } => (rank(root), data.bytes()),
            Operation::Reduce { root, send, receive, .. } => {
                (rank(root), of(send.as_ref().or(receive.as_ref())))
            }
            Operation::Allreduce { receive, .. }
            | Operation::Scan { receive, .. }
            | Operation::Exscan { receive, .. } => (None, receive.bytes()),
            // Of all together, where ranks get unlike parts.
            Operation::ReduceScatter { receive, counts, .. } => {
                let items = match counts {
                    Counts::Equal => receive.count,
                    Counts::Each(_) => counts.total(receive, 0),
                };
                (None, items.saturating_mul(receive.datatype.size()))
            }
            Operation::Gather { root, send, receive } => (rank(root), of(send.as_ref().or(receive.as_ref()))),
            Operation::Scatter { root, send, receive } => {
                (rank(root), of(receive.as_ref().or(send.as_ref())))
            }
            Operation::Allgather { receive, .. } | Operation::Alltoall { receive, .. } => {
                (None, receive.bytes())
            }
        }
    }

    /// How two become one, if it reduces.
    pub fn operator(&self) -> Option<&Operator> {
        match self {
            Operation::Reduce { operator, .. }
            | Operation::Allreduce { operator, .. }
            | Operation::ReduceScatter { operator, .. }
            | Operation::Scan { operator, .. }
            | Operation::Exscan { operator, .. } => Some(operator),
            _ => None,
        }
    }

    /// The operation as messages.
    ///
    /// # Errors
    /// Those of the function that it stands for.
    pub fn schedule(self, members: Members) -> Result<Schedule> {
        match self {
            Operation::Barrier => super::barrier(members),
            Operation::Broadcast { root, data } => super::broadcast(members, root, data),
            Operation::Reduce { root, send, receive, operator } => {
                super::reduce(members, root, send, receive, &operator)
            }
            Operation::Allreduce { send, receive, operator } => {
                super::allreduce(members, send, receive, &operator)
            }
            Operation::ReduceScatter { send, receive, counts, operator } => {
                super::reduce_scatter(members, send, receive, &counts, &operator)
            }
            Operation::Scan { send, receive, operator } => super::scan(members, send, receive, &operator),
            Operation::Exscan { send, receive, operator } => super::exscan(members, send, receive, &operator),
            Operation::Gather { root, send, receive } => super::gather(members, root, send, receive),
            Operation::Scatter { root, send, receive } => super::scatter(members, root, send, receive),
            Operation::Allgather { send, receive } => super::allgather(members, send, receive),
            Operation::Alltoall { send, receive } => super::alltoall(members, send, receive),
            Operation::Gatherv { root, send, receive } => super::gatherv(members, root, send, &receive),
            Operation::Scatterv { root, send, receive } => super::scatterv(members, root, &send, receive),
            Operation::Allgatherv { send, receive } => super::allgatherv(members, send, &receive),
            Operation::Alltoallw { send, receive } => super::alltoallw(members, send.as_deref(), &receive),
            Operation::Neighbours { hood, send, receive } => {
                Ok(super::neighbour::neighbours(&hood, &send, &receive))
            }
        }
    }
}
