//! Long broadcasts.

use crate::collective::node::algorithm::pair;
use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::lending::{begin, given, take, taken};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing;
use crate::collective::{Data, Root};
use crate::Result;

/// Data of a root to all.
///
/// # Errors
/// As `zero_copy::run`.
pub(crate) async fn broadcast(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    data: &Data,
) -> Result<()> {
    let root = party.root_of(root);
    if party.shares_work() {
        return work_sharing::gather_scatter::broadcast(party, root, data).await;
    }
    if pair::broadcast::applies(party.member) {
        return match root == party.rank {
            true => pair::broadcast::give(party, data).await,
            false => pair::broadcast::get(party, data).await,
        };
    }
    if root == party.rank {
        let mut lent = Contiguous::to_read(party, data, party.size - 1)?;
        begin(party, &lent).await?;
        return given(party, &mut lent).await;
    }
    let epoch = party.arrive_at_next();
    party.wait_for(root, epoch).await?;
    let done = take(party, (root, epoch), (0, data.bytes()), data, CopyKind::Broadcast);
    taken(party.member, (root, epoch));
    done
}
