//! Offers that are withdrawn.

use super::{next, push, Place};
use crate::transport::{Offers, Packet, Packets};
use std::sync::Barrier;

/// Either the peer takes an offer and tells, or its owner withdraws it: never both, never neither.
pub fn an_offer_is_taken_or_withdrawn(place: &impl Place) {
    const ROUNDS: u32 = 1000;
    let (mut owner, mut peer) = place.pair();
    let both = &Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..ROUNDS {
                both.wait();
                let is_taken = peer.begin_taking(0.into(), number);
                if is_taken {
                    push(&mut peer, 0, &Packet::new(1, [number as u64, 0]));
                    peer.end_taking();
                }
                push(&mut peer, 0, &Packet::new(2, [number as u64, u64::from(is_taken)]));
                both.wait();
                peer.forget_withdrawn(0.into(), number);
                both.wait();
            }
        });
        for number in 0..ROUNDS {
            both.wait();
            (0..number % 64).for_each(|_| std::hint::spin_loop());
            let is_settled = owner.withdraw(1.into(), number).unwrap();
            let told = owner.peek().is_some_and(|arrival| arrival.kind == 1);
            let mut arrival = next(&mut owner);
            if arrival.kind == 1 {
                owner.advance(&arrival);
                arrival = next(&mut owner);
            }
            let is_taken = arrival.header[1] != 0;
            assert!(!is_settled || told == is_taken, "round {number}: told {told}, taken {is_taken}");
            owner.advance(&arrival);
            both.wait();
            both.wait();
            owner.end_withdrawal(1.into(), number);
        }
    });
}

/// A number may be used again when the peer has heard of the withdrawal.
pub fn withdrawn_offers_are_forgotten(place: &impl Place) {
    let (mut owner, mut peer) = place.pair();
    assert!(!peer.any_withdrawn() && !owner.awaits_word(7));
    if !owner.withdraw(1.into(), 7).unwrap() {
        return; // only the peer knows, and says so in a packet
    }
    assert!(peer.any_withdrawn() && peer.is_withdrawn(0.into(), 7) && !peer.is_withdrawn(0.into(), 8));
    assert!(!peer.begin_taking(0.into(), 7) && owner.awaits_word(7));
    peer.forget_withdrawn(0.into(), 7);
    assert!(!peer.any_withdrawn());
    assert!(owner.end_withdrawal(1.into(), 7) && !owner.end_withdrawal(1.into(), 7));
    assert!(!owner.awaits_word(7) && peer.begin_taking(0.into(), 7));
    peer.end_taking();
    assert!(!owner.shows_waiting(1.into()));
    peer.show_waiting(true);
    assert!(owner.shows_waiting(1.into()));
    peer.show_waiting(false);
}
