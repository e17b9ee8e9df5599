//! The buffers of an operation: for who puts others in their place.

use super::{Data, Members, Operation, Sent};
use crate::datatype::Use;
use crate::Result;

/// What is done with each buffer: where it is written down, how many items it has, what the
/// operation does with it.
type Visit<'a> = &'a mut dyn FnMut(&mut Data, u64, Use) -> Result<()>;

impl Operation {
    /// Shows every buffer, with all of its items: an operation mostly has the first of several blocks.
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn each_buffer(&mut self, members: &Members, visit: Visit) -> Result<()> {
        let peers = u64::from(members.peers());
        match self {
            Operation::Barrier => Ok(()),
            Operation::Broadcast { data, .. } => one(Some(data), 1, Use::Change, visit),
            Operation::Reduce { send, receive, .. } => {
                one(send.as_mut(), 1, Use::Read, visit)?;
                one(receive.as_mut(), 1, Use::Change, visit)
            }
            Operation::Allreduce { send, receive, .. }
            | Operation::Scan { send, receive, .. }
            | Operation::Exscan { send, receive, .. } => {
                one(send.as_mut(), 1, Use::Read, visit)?;
                one(Some(receive), 1, Use::Change, visit)
            }
            Operation::ReduceScatter { send, receive, counts, .. } => {
                let total = counts.total(receive, members.size);
                match send {
                    Some(send) => {
                        visit(send, total, Use::Read)?;
                        one(Some(receive), 1, Use::Change, visit)
                    }
                    None => visit(receive, total, Use::Change),
                }
            }
            Operation::Gather { send, receive, .. } => {
                one(send.as_mut(), 1, Use::Read, visit)?;
                one(receive.as_mut(), peers, Use::Change, visit)
            }
            Operation::Scatter { send, receive, .. } => {
                one(send.as_mut(), peers, Use::Read, visit)?;
                one(receive.as_mut(), 1, Use::Change, visit)
            }
            Operation::Allgather { send, receive } => {
                one(send.as_mut(), 1, Use::Read, visit)?;
                one(Some(receive), peers, Use::Change, visit)
            }
            Operation::Alltoall { send, receive } => {
                one(send.as_mut(), peers, Use::Read, visit)?;
                one(Some(receive), peers, Use::Change, visit)
            }
            Operation::Gatherv { send, receive, .. } | Operation::Allgatherv { send, receive } => {
                one(send.as_mut(), 1, Use::Read, visit)?;
                several(receive, Use::Change, visit)
            }
            Operation::Scatterv { send, receive, .. } => {
                several(send, Use::Read, visit)?;
                one(receive.as_mut(), 1, Use::Change, visit)
            }
            Operation::Alltoallw { send, receive } => {
                several(send.as_deref_mut().unwrap_or_default(), Use::Read, visit)?;
                several(receive, Use::Change, visit)
            }
            Operation::Neighbours { send, receive, .. } => {
                match send {
                    Sent::Same(data) => one(Some(data), 1, Use::Read, visit)?,
                    Sent::Each(blocks) => several(blocks, Use::Read, visit)?,
                }
                several(receive, Use::Change, visit)
            }
        }
    }
}

/// A buffer, if it is there, of so many equal blocks.
fn one(data: Option<&mut Data>, blocks: u64, used: Use, visit: Visit) -> Result<()> {
    match data {
        Some(data) => visit(data, data.count.saturating_mul(blocks), used),
        None => Ok(()),
    }
}

fn several(blocks: &mut [Data], used: Use, visit: Visit) -> Result<()> {
    blocks.iter_mut().try_for_each(|data| one(Some(data), 1, used, visit))
}
