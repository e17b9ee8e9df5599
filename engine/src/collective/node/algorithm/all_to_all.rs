//! Long allgathers and alltoalls.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::lending::{begin, over, take};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing;
use crate::collective::{schedule, Data};
use crate::memory::copy::last_cache;
use crate::Result;

/// If all members together write so much in an operation, no cache keeps it.
const BEYOND: u64 = 16 << 20;

/// A block of each member to all.
///
/// # Errors
/// As `zero_copy::run`.
pub(crate) async fn allgather(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    if party.shares_work() {
        return work_sharing::all_to_all::allgather(party, send, receive).await;
    }
    let own = receive.blocks(party.rank, 1);
    let mut lent = Contiguous::to_read(party, send.unwrap_or(&own), party.size - 1)?;
    let epoch = begin(party, &lent).await?;
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(send, &own) };
    }
    party.wait_for_all(epoch).await?;
    let bytes = receive.bytes();
    let done = party.others().try_for_each(|member| {
        take(party, (member, epoch), (0, bytes), &receive.blocks(member, 1), CopyKind::Allgather)
    });
    over(party, epoch, &mut lent).await?;
    done
}

/// A block of each member to each.
///
/// # Errors
/// As `zero_copy::run`.
pub(crate) async fn alltoall(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    let block = receive.bytes();
    let (offset, total) = (u64::from(party.rank) * block, u64::from(party.size) * block);
    let kind = match total.saturating_mul(u64::from(party.size)) {
        all if last_cache().is_some_and(|cache| all >= 2 * cache.max(BEYOND)) => CopyKind::FarBeyond,
        BEYOND.. => CopyKind::Beyond,
        _ => CopyKind::Alltoall,
    };
    if party.shares_work() {
        return work_sharing::all_to_all::alltoall(party, send, receive, kind).await;
    }
    let mut lent = match send {
        Some(send) => Contiguous::blocks_to_read(party, send)?,
        // Incoming blocks take the place of data that others still want to read.
        None => Contiguous::copied(party, &receive.times(party.size)?)?,
    };
    let epoch = begin(party, &lent).await?;
    if let Some(send) = send {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(&send.blocks(party.rank, 1), &receive.blocks(party.rank, 1)) };
    }
    party.wait_for_all(epoch).await?;
    let done = party.others().try_for_each(|member| {
        take(party, (member, epoch), (offset, total), &receive.blocks(member, 1), kind)
    });
    over(party, epoch, &mut lent).await?;
    done
}
