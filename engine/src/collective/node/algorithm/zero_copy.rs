//! Operations whose payload is too long for a slot: straight between the buffers
//! of the program.
//!
//! A member publishes where its data lie ([`Descriptor`]) instead of the data. Each
//! takes what it needs from the memory of the others, by plain loads where that
//! memory is mapped here, else through the kernel ([`PeerMemory`]). In a reduction
//! every member reduces a share of all operands, along the tree of `tree.rs`; in
//! an allreduce of little, or of two members that cannot write to each other, all of
//! them: each for itself.
//!
//! # Ownership
//! One epoch begins the operation. A member that has arrived there has lent its buffers, and from
//! then on touches in them only what its part of the operation writes. One epoch ends it. A member
//! that has arrived there has done with the memory of others; a member that has lent some returns
//! when all have. An allreduce by shares has one in the middle: a member that has arrived there has
//! written its share of the result, which the others then read; unless each has put its share into
//! the results of all. Where the others read only copies that stay behind (`retained.rs`), nothing
//! ends the operation, as if they lay in slots, and a member that has lent such a copy does not wait
//! for the end. Members write only their shares; no two overlap, and nobody reads an operand in the
//! share of another.
//!
//! A member that fails once it has begun arrives at the remaining epochs all the
//! same, so that no other waits for it in vain.

use crate::collective::node::algorithm::all_to_all::{allgather, alltoall};
use crate::collective::node::algorithm::broadcast::broadcast;
use crate::collective::node::algorithm::reduce::{allreduce, reduce};
use crate::collective::node::algorithm::reduce_scatter::{total, ReduceScatter};
use crate::collective::node::algorithm::scan::Scan;
use crate::collective::node::algorithm::{gather_scatter, irregular};
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::access::Access;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::elements;
use crate::collective::{Data, Operation};
use crate::Result;

/// Whether an operation is done here, once `fits` has said that it is too long
/// for slots: all members come to the same answer, from what all of them know.
#[inline]
pub fn wants(me: &Member, operation: &Operation) -> bool {
    let slot = me.narrow();
    match operation {
        Operation::Broadcast { data, .. } => data.bytes() > slot,
        Operation::Reduce { send, receive, .. } => {
            send.as_ref().or(receive.as_ref()).is_some_and(|data| elements::bytes(data) > slot)
        }
        Operation::Allreduce { receive, .. }
        | Operation::Scan { receive, .. }
        | Operation::Exscan { receive, .. } => elements::bytes(receive) > slot,
        Operation::ReduceScatter { receive, counts, .. } => total(me, receive, counts) > slot,
        Operation::Allgather { receive, .. } => receive.bytes() > slot,
        Operation::Alltoall { receive, .. } => {
            receive.bytes().saturating_mul(u64::from(me.size)) > slot && receive.bytes() > 0
        }
        Operation::Gather { send, receive, .. } => longer(slot, receive.as_ref().or(send.as_ref()), 1),
        Operation::Scatter { send, receive, .. } => longer(slot, send.as_ref().or(receive.as_ref()), me.size),
        Operation::Gatherv { .. }
        | Operation::Scatterv { .. }
        | Operation::Allgatherv { .. }
        | Operation::Alltoallw { .. }
        | Operation::Neighbours { .. } => true,
        Operation::Barrier => false,
    }
}

/// Whether `blocks` blocks are too long for a slot.
fn longer(slot: u64, block: Option<&Data>, blocks: u32) -> bool {
    block.is_some_and(|block| block.bytes().saturating_mul(u64::from(blocks)) > slot)
}

/// Whether all members reach each other's memory as an operation needs it;
/// settled together, once.
///
/// # Errors
/// What waiting reports.
#[inline]
pub async fn can(party: &Party<'_, impl Wait, impl PeerMemory>, operation: &Operation) -> Result<bool> {
    let reaches = match party.access.get() {
        Some(reaches) => *reaches,
        None => settle(party).await?,
    };
    let needs = match operation {
        Operation::Reduce { .. }
        | Operation::Gather { .. }
        | Operation::Scan { .. }
        | Operation::Exscan { .. } => Access::Write,
        _ => Access::Read,
    };
    Ok(reaches >= needs)
}

#[cold]
async fn settle(party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<Access> {
    let all = [Access::Nothing, Access::Read, Access::Write];
    let epoch = party.begin();
    let mine = party.memory.access(party.member) as u64;
    let is_wide =
        party.rank == 0 && party.control_block().shape().is_wide() && party.memory.widen(party.member);
    party.wait_until_free(epoch, party.narrow()).await?;
    Descriptor::new(mine, is_wide.into(), 1).put(party.member, epoch);
    party.wait_for_all(epoch).await?;
    let is_wide = party.lent_by(0, epoch, 1)?.receive == 1;
    party.is_wide.get_or_init(|| is_wide);
    let mut least = mine;
    for member in 0..party.size {
        least = least.min(party.lent_by(member, epoch, 1)?.send);
    }
    Ok(*party.access.get_or_init(|| all[least as usize]))
}

/// Runs an operation that [`wants`] to be done here to its end.
///
/// # Errors
/// `NoMem` for copies of data with gaps, `Truncate` where members do not agree,
/// what waiting and reaching report.
pub async fn run(party: &Party<'_, impl Wait, impl PeerMemory>, operation: &Operation) -> Result<()> {
    match operation {
        Operation::Broadcast { root, data } => broadcast(party, *root, data).await,
        Operation::Reduce { root, send, receive, operator } => {
            reduce(party, *root, send.as_ref(), receive.as_ref(), operator).await
        }
        Operation::Allreduce { send, receive, operator } => {
            allreduce(party, send.as_ref().unwrap_or(receive), receive, operator).await
        }
        Operation::ReduceScatter { send, receive, counts, operator } => {
            ReduceScatter::new(party.member, send.as_ref(), receive, counts, operator).run_large(party).await
        }
        Operation::Scan { send, receive, operator } => {
            Scan::new(send.as_ref(), receive, operator, false).run_large(party).await
        }
        Operation::Exscan { send, receive, operator } => {
            Scan::new(send.as_ref(), receive, operator, true).run_large(party).await
        }
        Operation::Allgather { send, receive } => allgather(party, send.as_ref(), receive).await,
        Operation::Alltoall { send, receive } => alltoall(party, send.as_ref(), receive).await,
        Operation::Gather { root, send, receive } => {
            gather_scatter::gather(party, *root, send.as_ref(), receive.as_ref()).await
        }
        Operation::Scatter { root, send, receive } => {
            gather_scatter::scatter(party, *root, send.as_ref(), receive.as_ref()).await
        }
        Operation::Gatherv { root, send, receive } => {
            irregular::gatherv(party, *root, send.as_ref(), receive).await
        }
        Operation::Scatterv { root, send, receive } => {
            irregular::scatterv(party, *root, send, receive.as_ref()).await
        }
        Operation::Allgatherv { send, receive } => irregular::allgatherv(party, send.as_ref(), receive).await,
        Operation::Alltoallw { send, receive } => irregular::alltoallw(party, send.as_deref(), receive).await,
        Operation::Neighbours { hood, send, receive } => {
            irregular::neighbours(party, hood, send, receive).await
        }
        Operation::Barrier => unreachable!("`wants` has said no"),
    }
}
