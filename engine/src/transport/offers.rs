//! Offers: what stays with its owner until a peer takes it, or the owner withdraws it.

use super::Reaches;
use crate::Result;

/// What has been offered and is still to be had: the peer takes it, or its owner withdraws it. Both
/// name it by a number of the owner's. A transport in which only the peer knows leaves everything as
/// it is here: then its answer is waited for.
pub trait Offers: Reaches {
    /// From now on this rank takes what `peer` has offered under `number`, until
    /// [`Offers::end_taking`], before which it tells the peer; `false`, and nothing is to be
    /// taken, if the peer has withdrawn it.
    fn begin_taking(&mut self, _peer: Self::Peer, _number: u32) -> bool {
        true
    }

    /// It is taken, or left where it is.
    fn end_taking(&mut self) {}

    /// Whether anything has been withdrawn from this rank that will not be taken.
    fn any_withdrawn(&self) -> bool {
        false
    }

    /// Whether `peer` has withdrawn what it offered under `number`.
    fn is_withdrawn(&self, _peer: Self::Peer, _number: u32) -> bool {
        false
    }

    /// The offer that `peer` has withdrawn will never come up again.
    fn forget_withdrawn(&mut self, _peer: Self::Peer, _number: u32) {}

    /// Withdraws what was offered to `peer` under `number`: `true` if it will not be taken from now
    /// on; whether it has been taken before, a packet tells that is here by now, unless the peer
    /// [shows that packets wait](Offers::shows_waiting). `false`: only the peer knows. In both
    /// cases it has to be told.
    fn withdraw(&mut self, _peer: Self::Peer, _number: u32) -> Result<bool> {
        Ok(false)
    }

    /// The peer has it already, so it need not be told.
    fn offer_again(&mut self, _peer: Self::Peer, _number: u32) {}

    /// The peer has been told and has answered: the number may be used again. Whether it could not
    /// before.
    fn end_withdrawal(&mut self, _peer: Self::Peer, _number: u32) -> bool {
        false
    }

    /// Whether a number may not be used again yet.
    fn awaits_word(&self, _number: u32) -> bool {
        false
    }

    /// Says whether packets of this rank wait for room with others.
    fn show_waiting(&mut self, _waiting: bool) {}

    /// Whether packets of `peer` wait for room with others.
    fn shows_waiting(&self, _peer: Self::Peer) -> bool {
        false
    }
}
