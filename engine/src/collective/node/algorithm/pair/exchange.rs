//! Allgathers and alltoalls of two members with a core each.
//!
//! Each has a block for the other, and takes that of the other from where it is offered (`pair/offer.rs`). Or each
//! puts its own into the place of the other's result, where both can write there and both would rather do so
//! (`push_or_pull.rs`).
//!
//! # Ownership
//! As in `zero_copy.rs`: a member that has arrived at the first epoch has lent its block, and the place of its
//! result; only the other one writes at that place. A member that has arrived at the last one has put its
//! block there.

use crate::collective::node::algorithm::pair::offer::{self, Offer};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::{schedule, Data};
use crate::tuning::crossovers::IN_SLOTS_OF_TWO;
use crate::Result;

/// Whether an allgather or alltoall is done here in which each contributes so many bytes. All members come to
/// the same answer, from what all of them know; little goes over slots.
#[inline]
pub(crate) fn applies(me: &Member, bytes: u64) -> bool {
    IN_SLOTS_OF_TWO.is_passed_by(bytes) && offer::may_lend(me) && !me.shares_work()
}

/// An alltoall or allgather to which [`applies`] holds: gives the other a block and gets one in return.
///
/// # Errors
/// `Truncate` where the members do not agree, `NoMem`, what waiting and reaching report.
pub(crate) async fn run<const ALLTOALL: bool>(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &Data,
) -> Result<()> {
    let (me, other) = (party.rank, 1 - party.rank);
    let (own, takes) = (receive.blocks(me, 1), receive.blocks(other, 1));
    let parts = send.filter(|_| ALLTOALL).map(|send| [send.blocks(me, 1), send.blocks(other, 1)]);
    // What this member offers to the other, and what it keeps for itself.
    let (gives, keeps) = match (&parts, send) {
        (Some([keeps, gives]), _) => (gives, Some(keeps)),
        (None, Some(send)) => (send, Some(send)),
        (None, None) if ALLTOALL => (&takes, None),
        (None, None) => (&own, None),
    };
    let is_replaced = gives.address == takes.address;
    let mut offer = match is_replaced {
        true => Offer::copied(party, gives)?,
        false => Offer::of(party, gives)?,
    };
    let ways = &party.member.push_or_pull;
    let turn = ways.next(takes.bytes());
    let may_put = offer.is_lent() && !is_replaced && ways.wants_to_put(turn);
    let place = may_put.then(|| takes.dense()).flatten();
    let place = place.and_then(|(address, bytes)| offer::open(party, address, bytes));
    let epoch = party.begin();
    party.wait_until_free(epoch, offer.room(party.member, gives)).await?;
    offer.publish(party.member, epoch, gives, place);
    if let Some(keeps) = keeps {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(keeps, &own) };
    }
    party.wait_for_all(epoch).await?;
    let bytes = takes.bytes();
    if !offer::are_lent(party.member, epoch) {
        party.agree(other, epoch, bytes)?;
        party.take(other, epoch, (0, bytes), &takes);
        return Ok(());
    }
    if offer::have_lent_results(party.member, epoch) {
        let done = ways.copy(turn, bytes, true, || put(party, epoch, bytes));
        party.meet().await?;
        return done;
    }
    let done = ways.copy(turn, bytes, false, || offer::take(party, epoch, &takes));
    if let Some(last) = offer.done(party.member, epoch) {
        party.wait_for_all(last).await?;
    }
    done
}

/// Puts this member's block into the result of the other.
#[inline]
fn put(party: &Party<'_, impl Wait, impl PeerMemory>, epoch: u64, bytes: u64) -> Result<()> {
    let other = 1 - party.rank;
    let target = party.lent_by(other, epoch, bytes)?.receive;
    let (source, copies) = (party.offered(epoch, bytes), party.member.chooser(CopyKind::Cached));
    // SAFETY: the other has lent the place until the last epoch, and nobody else writes there; the block is mine.
    unsafe { party.memory.write(party.member, other, target, source, bytes as usize, copies) }
}
