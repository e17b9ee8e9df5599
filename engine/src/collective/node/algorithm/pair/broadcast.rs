//! A long broadcast of two members with a core each: the root writes into the buffer of the other.
//!
//! A member that takes all of it waits for each line twice: until the root's core has sent it, and,
//! where that core has read the buffer before, until it has given the old one up. The root has its
//! own lines at hand and waits once. Longer data, which no cache keeps, both copy at once, each a
//! half. (In an allgather or alltoall, where both copy at once anyway, it depends: `pair/exchange.rs`.)
//!
//! # Ownership
//! As in `zero_copy.rs`: at the first epoch the root has lent its data, and the other the buffer that
//! they go to. The two together say which part of it is the root's to write ([`pushed`]); the other
//! writes all the rest. A member that has arrived at the last epoch has done so.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::descriptor::Descriptor;
use crate::collective::node::buffer::lending::taken;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::access::Access;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::Data;
use crate::tuning::crossovers::PUSHED_BY_ROOT;
use crate::Result;
use std::ops::Range;

/// The halves of longer data begin at a multiple of so many bytes.
const GRAIN: u64 = 4096;

/// Whether a broadcast is done so; all members know it alike. Where ranks share CPUs it is not: the
/// other would wait for a turn of the root.
pub(crate) fn applies(me: &Member) -> bool {
    me.size == 2 && me.reaches(Access::Write) && !me.shares_cpus()
}

/// The part that the root writes of a buffer that the other has lent.
fn pushed(buffer: &Descriptor) -> Range<u64> {
    let [head, tail] = buffer.apart.map(u64::from);
    if !buffer.open && head + tail == 0 {
        return 0..0;
    }
    let first = if PUSHED_BY_ROOT.is_passed_by(buffer.bytes) {
        (buffer.bytes / 2).next_multiple_of(GRAIN)
    } else {
        0
    };
    let last = buffer.bytes - tail;
    first.clamp(head, last)..last
}

/// The root's part.
pub(crate) async fn give(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<()> {
    let (mut contiguous, other) = (Contiguous::to_read(party, data, 1)?, 1 - party.rank);
    let lent = contiguous.descriptor(party.member);
    let epoch = party.begin();
    lent.lend(party, epoch).await?;
    if contiguous.retain(party.member) {
        return Ok(());
    }
    party.wait_for_all(epoch).await?;
    let done = party.lent_by(other, epoch, contiguous.bytes).and_then(|buffer| {
        let part = pushed(&buffer);
        let (at, bytes) = (part.start as usize, (part.end - part.start) as usize);
        if bytes == 0 {
            return Ok(());
        }
        let copies = party.member.chooser(CopyKind::Pushed);
        let (to, from) = (buffer.receive + part.start, contiguous.address.wrapping_add(at));
        // SAFETY: the other has lent this part until the last epoch and leaves it to me.
        unsafe { party.memory.write(party.member, other, to, from, bytes, copies) }
    });
    party.meet().await?;
    done
}

/// The other's part.
pub(crate) async fn get(party: &Party<'_, impl Wait, impl PeerMemory>, data: &Data) -> Result<()> {
    let (mut contiguous, root) = (Contiguous::to_write(data)?, 1 - party.rank);
    contiguous.reachable = party.memory.lend(party.member, (contiguous.address, contiguous.bytes), 1);
    let buffer = Descriptor::new(0, 0, contiguous.bytes).with_result(contiguous.as_result());
    let epoch = party.begin();
    party.wait_until_free(epoch, party.narrow()).await?;
    buffer.put(party.member, epoch);
    party.wait_for(root, epoch).await?;
    let lent = match party.lent_by(root, epoch, contiguous.bytes) {
        Ok(lent) => lent,
        Err(error) => {
            // Neither writes anything, and the root may have come to another operation.
            taken(party.member, (root, epoch));
            return Err(error);
        }
    };
    let part = if lent.is_copy { 0..0 } else { pushed(&buffer) };
    let done = [0..part.start, part.end..contiguous.bytes].into_iter().try_for_each(|rest| {
        if rest.is_empty() {
            return Ok(());
        }
        let target = contiguous.address.wrapping_add(rest.start as usize);
        let target = (target, (rest.end - rest.start) as usize);
        let copies = party.member.chooser(CopyKind::Broadcast);
        // SAFETY: the root has lent its data until the last epoch; nobody else writes this
        // part of the target, which the program lends or which is ours.
        unsafe { lent.read(party, (root, epoch), rest.start, target, copies) }
    });
    if !lent.is_copy {
        party.meet().await?;
    }
    contiguous.finish(data);
    done
}
