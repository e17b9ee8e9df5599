//! Payloads too long for a packet.

use super::{load, next, pattern, payload, push, wait_for, Place};
use crate::transport::{Arrival, Packet, Packets, Payloads, Retained};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// What stands for a block that the sender could not push at once.
const REFUSED: u8 = 3;

/// Blocks that the receiver reads at once, later, or not at all, while the sender goes on. Who cannot push one says so.
pub fn blocks_arrive_while_they_are_copied(place: &impl Place) {
    let (mut one, mut other) = place.pair();
    let lengths = [100, 3000, 5000, 16_384, 16_385, 70_000, 300_000, 500_000];
    let blocks: Vec<Vec<u8>> = (0..80).map(|seed| pattern(lengths[seed % 8], seed as u64)).collect();
    let heads = [0, 64, 8];
    let all_came = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (seed, block) in blocks.iter().enumerate() {
                let header = [block.len() as u64, seed as u64];
                let (head, block) = block.split_at(heads[seed % 3]);
                let block = (block.as_ptr(), block.len());
                // SAFETY: the block is that long.
                if !unsafe { one.push_block(1.into(), (5, header), head, block).unwrap() } {
                    push(&mut one, 1, &Packet::new(REFUSED, header));
                }
            }
            wait_for("the receiver", || {
                one.peek();
                all_came.load(Ordering::Relaxed).then_some(())
            });
        });
        let mut retained = Vec::new();
        for (seed, block) in blocks.iter().enumerate() {
            let arrival = next(&mut other);
            assert_eq!(arrival.header, [block.len() as u64, seed as u64]);
            match seed % 5 {
                _ if arrival.kind == REFUSED => {}
                0 => retained.push((block, other.retain(&arrival))),
                1 => {}
                _ => assert!(all_of(&mut other, &arrival) == *block),
            }
            other.advance(&arrival);
            if retained.len() == 3 {
                retained.drain(..).for_each(|(block, retained)| release(&mut other, block, retained));
            }
        }
        retained.into_iter().for_each(|(block, retained)| release(&mut other, block, retained));
        all_came.store(true, Ordering::Relaxed);
    });
}

/// The long payload of the packet that was looked at last, read part by part.
fn all_of(transport: &mut impl Payloads, arrival: &Arrival) -> Vec<u8> {
    match arrival.is_long {
        true => parts_of(transport, None, (arrival.payload(), arrival.bytes as usize)),
        false => payload(arrival),
    }
}

fn release(transport: &mut impl Payloads, block: &[u8], retained: Retained) {
    let all = (retained.payload, retained.bytes as usize);
    assert!(parts_of(transport, Some(&retained), all) == block);
    transport.release(retained);
}

fn parts_of(transport: &mut impl Payloads, retained: Option<&Retained>, all: (*const u8, usize)) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < all.1 {
        let (part, bytes) = transport.part(retained, all, read.len()).unwrap();
        assert!(bytes > 0 && bytes <= all.1 - read.len());
        // SAFETY: it is that long, until it is released or advanced over.
        read.extend_from_slice(unsafe { std::slice::from_raw_parts(part, bytes) });
    }
    read
}
