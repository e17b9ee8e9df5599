//! How operations that lend memory begin and end.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::scratch::Scratch;
use crate::collective::Data;
use crate::Result;

/// Begins an operation: lends a buffer. The epoch since which it is lent.
pub(crate) async fn begin(party: &Party<'_, impl Wait, impl PeerMemory>, send: &Contiguous) -> Result<u64> {
    let lent = send.descriptor(party.member);
    let epoch = party.begin();
    lent.lend(party, epoch).await?;
    Ok(epoch)
}

/// Ends an operation of the root, in which the others read what it has lent.
pub(crate) async fn given(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    lent: &mut Contiguous,
) -> Result<()> {
    match lent.retain(party.member) {
        true => Ok(()),
        false => party.meet().await,
    }
}

/// The same of another member, which has taken what it wanted.
pub(crate) fn taken(me: &Member, (root, epoch): (u32, u64)) {
    if !me.has_lent_copy(root, epoch) {
        me.arrive_at_next();
    }
}

/// Ends an operation in which others have read what this member has lent since `epoch`, and wrote
/// nowhere. Where all have lent copies it is over already.
pub(crate) async fn over(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    lent: &mut Contiguous,
) -> Result<()> {
    match done(party.member, epoch, lent) {
        Some(last) => party.wait_for_all(last).await,
        None => Ok(()),
    }
}

/// The first half: this member has done with what the others have lent. The epoch to wait for, until they
/// have done with what it has lent, unless that may be retained.
pub(crate) fn done(me: &Member, epoch: u64, lent: &mut Contiguous) -> Option<u64> {
    let all = me.have_all_lent_copies(epoch);
    let last = (!all).then(|| me.arrive_at_next());
    let stays = lent.retain(me);
    last.filter(|_| !stays)
}

/// Takes items from what a member has lent, `total` bytes, `offset` bytes on.
pub(crate) fn take(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    place: (u32, u64),
    (offset, total): (u64, u64),
    data: &Data,
    kind: CopyKind,
) -> Result<()> {
    let lent = party.lent_by(place.0, place.1, total)?;
    let copies = party.member.chooser(kind);
    if let Some((address, bytes)) = data.dense() {
        // SAFETY: the member has lent `total` bytes until the last epoch; the target is lent by the
        // program.
        return unsafe { lent.read(party, place, offset, (address, bytes as usize), copies) };
    }
    let contiguous = Contiguous::to_write(data)?;
    let target = (contiguous.address, data.bytes() as usize);
    // SAFETY: as above, into a copy.
    unsafe { lent.read(party, place, offset, target, copies)? };
    contiguous.finish(data);
    Ok(())
}

/// A place within reach of all for so many bytes that are lent in an epoch which has just begun, and are
/// retained. The caller has waited as rule 2 of the control block demands.
pub(crate) fn retained_place(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    bytes: u64,
) -> Option<*mut u8> {
    party.debug_rule_2(epoch);
    let (me, memory) = (party.member, party.memory);
    let serves = |one: &Scratch| one.bytes() >= bytes && memory.is_shared(me, one.address(), bytes);
    me.retained().place(me.half(), serves, || memory.scratch(me, bytes))
}
