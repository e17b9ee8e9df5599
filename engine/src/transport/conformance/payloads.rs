//! Payloads too long for a packet.

use super::{load, next, pattern, payload, push, wait_for, Place};
use crate::transport::{Packet, Packets, Payloads};

/// As many as there is memory for, but no more than any transport has room for; half of them are retained while others come.
pub fn long_payloads_arrive_and_can_be_retained(place: &impl Place) {
    let (mut one, mut other) = place.pair();
    let longest = one.longest_payload();
    for bytes in [1, 41, 1000, 5000, longest] {
        // What the receiver has let go of may come back late.
        one.want_load();
        let first = wait_for("memory", || load(&mut one, 1, bytes, 0, false));
        push(&mut one, 1, &first);
        let mut sent = 1;
        while let Some(packet) = (sent < 20).then(|| load(&mut one, 1, bytes, sent, false)).flatten() {
            push(&mut one, 1, &packet);
            sent += 1;
        }
        let mut retained = Vec::new();
        for seed in 0..sent {
            let arrival = next(&mut other);
            assert_eq!((arrival.kind, arrival.is_long, arrival.header), (5, true, [bytes as u64, seed]));
            assert!(payload(&arrival) == pattern(bytes, seed));
            if seed % 2 == 0 {
                retained.push((seed, other.retain(&arrival)));
            }
            other.advance(&arrival);
        }
        push(&mut one, 1, &Packet::new(3, [0; 2]));
        let arrival = next(&mut other);
        assert!(arrival.kind == 3 && !arrival.is_long);
        other.advance(&arrival);
        for (seed, retained) in retained {
            // SAFETY: it is that long, and has not been released.
            let data = unsafe { std::slice::from_raw_parts(retained.payload, retained.bytes as usize) };
            assert!(data == pattern(bytes, seed));
            other.release(retained);
        }
        // All of it comes back: as often again.
        for seed in 0..sent {
            one.want_load();
            let packet = wait_for("memory", || load(&mut one, 1, bytes, seed, true));
            push(&mut one, 1, &packet);
            let arrival = next(&mut other);
            assert!(payload(&arrival) == pattern(bytes, seed));
            other.advance(&arrival);
        }
    }
}

/// Packets that are never pushed cost nothing once they are unloaded.
pub fn what_is_not_sent_is_given_back(place: &impl Place) {
    let (mut one, _other) = place.pair();
    let longest = one.longest_payload();
    for round in 0..1000 {
        let packet = load(&mut one, 1, longest, round, true).expect("all have been given back");
        one.unload(&packet);
    }
    one.unload(&Packet::new(3, [0; 2]));
}
