//! Allreduces of two members for whose operands slots have no room.
//!
//! Each lends its operand, as it lies or as a copy (`pair/offer.rs`). Where each can write into the place of the
//! other's result, and operands are not quite short, it combines a half and puts it into both results. So
//! it is where results go to the places of operands. Else it takes the other's operand to a place of its
//! own, and combines all there is, for itself: the other can go on meanwhile.

use crate::collective::node::algorithm::pair::offer::{self, Offer, Offers};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::reduction::elements::{self, operand, Elements};
use crate::collective::node::reduction::slices::slice;
use crate::collective::Data;
use crate::reduce::Operator;
use crate::tuning::crossovers::{WHOLE_OF_TWO, WHOLE_VECTOR_OF_TWO};
use crate::Result;
use std::sync::Arc;

/// Whether an allreduce of so many bytes is done here, once both may lend.
pub(crate) fn applies(me: &Member, operator: &Operator, bytes: u64) -> bool {
    !WHOLE_VECTOR_OF_TWO.is_passed_by(bytes) && !operator.is_user() && !me.shares_work()
}

/// An allreduce that [`applies`] to.
///
/// # Errors
/// `Truncate` where the members do not agree, `NoMem`, what waiting and reaching report.
pub(crate) async fn allreduce(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: &Data,
    receive: &Data,
    operator: &Arc<Operator>,
) -> Result<()> {
    let bytes = elements::bytes(receive);
    let in_place = send.address == receive.address;
    let mut offer = Offer::of(party, &operand(send))?;
    let result = match in_place {
        true => offer.place(),
        false if !WHOLE_OF_TWO.is_passed_by(bytes) => None,
        false => elements::place(receive).and_then(|place| offer::open(party, place, bytes)),
    };
    let epoch = party.begin();
    party.wait_until_free(epoch, party.narrow()).await?;
    offer.lend(party.member, epoch, result);
    party.wait_for_all(epoch).await?;
    if offer::have_lent_results(party.member, epoch) {
        let done = halves(party, epoch, operator, receive);
        party.meet().await?;
        return done;
    }
    let offers = Offers::find(party, epoch, bytes, 0..bytes);
    let result = elements::place(receive).filter(|_| !in_place);
    let offers = offers.and_then(|offers| offers.taken_to(result, party));
    let last = offer.done(party.member, epoch);
    let combined = || offers?.combine(0..bytes, operator, receive);
    match last {
        // The other may still read what lies where the result goes.
        Some(last) if in_place => {
            party.wait_for_all(last).await?;
            combined()
        }
        // While the other hears of it.
        Some(last) => {
            let done = combined();
            party.wait_for_all(last).await?;
            done
        }
        None => combined(),
    }
}

/// Combines this member's half of both operands, and puts it into both results. Nobody else writes there,
/// nor reads what lies there.
fn halves(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    epoch: u64,
    operator: &Arc<Operator>,
    receive: &Data,
) -> Result<()> {
    let (bytes, item) = (elements::bytes(receive), Elements::of(&receive.datatype).bytes);
    let mine = slice(party.rank, party.size, bytes, item);
    let offers = Offers::find(party, epoch, bytes, mine.clone())?;
    offers.combine(mine.clone(), operator, receive)?;
    let (other, length) = (1 - party.rank, (mine.end - mine.start) as usize);
    let place = |member| Ok(party.lent_by(member, epoch, bytes)?.receive + mine.start);
    let copies = party.member.chooser(CopyKind::Written);
    let (source, target) = (place(party.rank)? as *const u8, place(other)?);
    // SAFETY: the other has lent the place of its result until the last epoch; mine is there.
    unsafe { party.memory.write(party.member, other, target, source, length, copies) }
}
