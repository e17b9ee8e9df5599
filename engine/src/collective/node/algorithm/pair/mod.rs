//! Operations of two members, which lend to each other what others would put into slots.

pub mod allreduce;
pub mod broadcast;
pub mod exchange;
pub mod offer;

use crate::collective::node::protocol::member::Member;
use crate::collective::Operation;

/// Whether an operation with so many bytes, for which no slot has room, is one of two members that both
/// lend, whatever they have to lend. All members come to the same answer, from what all of them know.
pub(crate) fn applies(me: &Member, operation: &Operation, bytes: u64) -> bool {
    match operation {
        Operation::Allgather { .. } | Operation::Alltoall { .. } => exchange::applies(me, bytes),
        Operation::Allreduce { operator, .. } => {
            offer::may_lend(me) && allreduce::applies(me, operator, bytes)
        }
        _ => false,
    }
}
