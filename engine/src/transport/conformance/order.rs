//! Packets arrive whole, all of them, in order, and those who wait are woken.

use super::{next, pattern, payload, push, wait_for, Place, PATIENCE};
use crate::progress::{Doorbell, Sleeper};
use crate::transport::{Letter, Packet, Packets, INLINE_BYTES, LETTER_BYTES, LONG_LETTER_BYTES};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Three ranks send to a fourth, which is slow now and then, until there is no room.
pub fn packets_keep_the_order_of_each_sender(place: &impl Place) {
    const COUNT: u64 = 10_000;
    let mut ranks = place.job(4);
    let mut receiver = ranks.remove(0);
    std::thread::scope(|scope| {
        for (sender, mut transport) in (1u64..).zip(ranks) {
            scope.spawn(move || {
                for number in 0..COUNT {
                    let mut packet = Packet::new(3, [sender, number]);
                    packet.append(&(number as u32));
                    push(&mut transport, 0, &packet);
                }
                // Whoever goes without leave may take with it what it has sent last.
                transport.leave();
            });
        }
        let mut expected = [0u64; 4];
        for taken in 0..3 * COUNT {
            let arrival = next(&mut receiver);
            let [sender, number] = arrival.header;
            assert_eq!((arrival.kind, arrival.bytes, number), (3, 4, expected[sender as usize]));
            assert_eq!(arrival.read::<u32>(), number as u32);
            expected[sender as usize] += 1;
            receiver.advance(&arrival);
            if taken % 4000 == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        assert!(receiver.peek().is_none(), "nothing comes twice");
        // Senders over a network that needs their care wait until the receiver goes too.
        receiver.leave();
    });
}

/// Of a packet of one line, and of longer ones where the transport takes them.
pub fn payloads_of_every_length_arrive_whole(place: &impl Place) {
    let (mut one, mut other) = place.pair();
    for round in 0..2u64 {
        for bytes in (0..=LETTER_BYTES).chain([LONG_LETTER_BYTES]) {
            let data = pattern(bytes, round);
            if bytes > INLINE_BYTES && !one.takes_letter(1.into(), bytes).unwrap() {
                continue;
            }
            let letter = Letter { kind: 9, header: [bytes as u64, round], payload: &data };
            wait_for("room", || one.push(1.into(), &letter).unwrap().then_some(()));
            let arrival = next(&mut other);
            assert_eq!((arrival.kind, arrival.header, arrival.is_long), (9, [bytes as u64, round], false));
            assert_eq!(payload(&arrival), data);
            other.advance(&arrival);
        }
    }
    // To oneself as well.
    push(&mut one, 0, &Packet::with(4, [1, 2], &77u32));
    let arrival = next(&mut one);
    assert_eq!((arrival.header, arrival.read::<u32>()), ([1, 2], 77));
    one.advance(&arrival);
}

/// How a rank sleeps over a transport.
fn sleeper_of(transport: &impl Packets) -> Sleeper {
    let sleeper = Sleeper::default();
    if let Some(descriptor) = transport.descriptor() {
        sleeper.attend(transport.doorbell(), 0, descriptor).unwrap();
    }
    sleeper
}

fn sleep(transport: &impl Packets, sleeper: &Sleeper, work: impl FnOnce() -> bool) {
    sleeper.sleep_unless(transport.doorbell(), work, PATIENCE.as_nanos() as u64);
}

/// A rank that sleeps at its doorbell wakes when a packet comes.
pub fn a_waiting_receiver_is_woken(place: &impl Place) {
    let (mut one, mut other) = place.pair();
    let sleeper = sleeper_of(&other);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..20 {
                std::thread::sleep(Duration::from_millis(number % 4));
                push(&mut one, 1, &Packet::new(3, [number, 0]));
            }
            one.leave();
        });
        for number in 0..20 {
            let began = Instant::now();
            while other.peek().is_none() {
                let arrivals = other.arrivals();
                sleep(&other, &sleeper, || arrivals.any());
                assert!(began.elapsed() < PATIENCE / 2, "a packet came and woke nobody");
            }
            let arrival = next(&mut other);
            assert_eq!(arrival.header[0], number);
            other.advance(&arrival);
        }
        other.leave();
    });
}

/// A rank that has asked for room sleeps until the receiver has made some.
pub fn a_sender_that_waits_for_room_is_woken(place: &impl Place) {
    let (mut one, mut other) = place.pair();
    let packet = Packet::new(3, [0; 2]);
    let is_full = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut sent = 0u64;
            while one.push(1.into(), &packet.letter()).unwrap() {
                sent += 1;
                assert!(sent < 10_000_000, "there is no end of room");
            }
            is_full.store(true, Ordering::SeqCst);
            let sleeper = sleeper_of(&one);
            let began = Instant::now();
            let doorbell: *const Doorbell = one.doorbell();
            let mut has_gone = false;
            while !has_gone {
                // Room that has come before it is asleep wakes nobody: it looks once more when it says that it sleeps.
                let look = || {
                    one.want_room(1.into());
                    has_gone = one.push(1.into(), &packet.letter()).unwrap();
                    has_gone
                };
                // SAFETY: it lies outside the transport, and longer than that.
                sleeper.sleep_unless(unsafe { &*doorbell }, look, PATIENCE.as_nanos() as u64);
                assert!(began.elapsed() < PATIENCE / 2, "there was room, and nobody was woken");
            }
            one.leave();
            sent + 1
        });
        while !is_full.load(Ordering::SeqCst) && !sender.is_finished() {
            std::thread::yield_now();
        }
        let mut taken = 0;
        while !sender.is_finished() {
            if let Some(arrival) = other.peek() {
                other.advance(&arrival);
                taken += 1;
            }
        }
        for _ in taken..sender.join().unwrap() {
            let arrival = next(&mut other);
            other.advance(&arrival);
        }
        assert!(other.peek().is_none());
    });
}

/// What is sent in a lane arrives in the same lane only.
pub fn lanes_do_not_meet(place: &impl Place) {
    let (mut one, mut other) = place.pair();
    let (mut second, mut other_second) = (place.beside(&one), place.beside(&other));
    for number in 0..20 {
        push(&mut one, 1, &Packet::new(1, [number, 0]));
        push(&mut second, 1, &Packet::new(2, [number, 1]));
    }
    for number in 0..20 {
        for (transport, kind) in [(&mut other_second, 2), (&mut other, 1)] {
            let arrival = next(transport);
            assert_eq!((arrival.kind, arrival.header), (kind, [number, u64::from(kind) - 1]));
            transport.advance(&arrival);
        }
    }
    assert!(other.peek().is_none() && other_second.peek().is_none());
}
