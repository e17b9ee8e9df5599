//! Long gather and scatter, straight between the buffers of the program.
//!
//! Every member but the root does its own copy: into the root's buffer, or from
//! there. In a gather nobody but the root waits for the end.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::lending::{given, take, taken};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing;
use crate::collective::{schedule, Data, Root};
use crate::Result;

/// Blocks of all to a root.
pub(crate) async fn gather(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
) -> Result<()> {
    if party.shares_work() {
        return work_sharing::gather_scatter::gather(party, root, send, receive).await;
    }
    let root = party.root_of(root);
    if let (Some(receive), true) = (receive, root == party.rank) {
        return collect(party, send, receive).await;
    }
    let Some(send) = send else { return Ok(()) };
    let contiguous = Contiguous::packed(party.member, send)?;
    let epoch = party.arrive_at_next();
    party.wait_for(root, epoch).await?;
    let done = party.lent_by(root, epoch, contiguous.bytes).and_then(|lent| {
        let copies = party.member.chooser(CopyKind::Written);
        let target = lent.destination(u64::from(party.size) * contiguous.bytes);
        let at = u64::from(party.rank) * contiguous.bytes;
        let block = (contiguous.address.cast_const(), contiguous.bytes as usize);
        // SAFETY: the root has lent room for a block of each, and this one is mine.
        unsafe { target.write(party, root, at, block, copies) }
    });
    party.arrive_at_next();
    done
}

/// The root's part: the others write their blocks.
async fn collect(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    let all = receive.times(party.size)?;
    let contiguous = Contiguous::to_be_written(party, &all)?;
    let lent = Descriptor::new(0, 0, receive.bytes()).with_result(contiguous.as_result());
    let epoch = party.begin();
    party.wait_until_free(epoch, party.narrow()).await?;
    lent.put(party.member, epoch);
    contiguous.put_own(party.member, receive, send);
    party.meet().await?;
    contiguous.finish(&all);
    Ok(())
}

/// Blocks of a root to all.
pub(crate) async fn scatter(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
) -> Result<()> {
    if party.shares_work() {
        return work_sharing::gather_scatter::scatter(party, root, send, receive).await;
    }
    let root = party.root_of(root);
    if let (Some(send), true) = (send, root == party.rank) {
        let mut contiguous = Contiguous::blocks_to_read(party, send)?;
        let epoch = party.begin();
        contiguous.descriptor(party.member).lend(party, epoch).await?;
        if let Some(receive) = receive {
            // SAFETY: the program lends both, and the face has seen that they are apart.
            unsafe { schedule::copy(&send.blocks(party.rank, 1), receive) };
        }
        return given(party, &mut contiguous).await;
    }
    let Some(receive) = receive else { return Ok(()) };
    let epoch = party.arrive_at_next();
    party.wait_for(root, epoch).await?;
    let block = receive.bytes();
    let (offset, total) = (u64::from(party.rank) * block, u64::from(party.size).saturating_mul(block));
    let done = take(party, (root, epoch), (offset, total), receive, CopyKind::Broadcast);
    taken(party.member, (root, epoch));
    done
}
