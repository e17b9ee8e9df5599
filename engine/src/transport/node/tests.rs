//! The node transport between threads of one process: the real protocol over a
//! real segment.

use super::*;
use crate::transport::conformance::{conformance, Place};
use crate::transport::{
    AccessDescriptor, Load, OfferedMemory, Packet, Payloads, Plain, Source, LONG_LETTER_BYTES,
};
use crate::LocalRank;

struct Threads;

impl Place for Threads {
    type Transport = NodeTransport;

    fn job(&self, ranks: u32) -> Vec<NodeTransport> {
        let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(ranks).unwrap()));
        for rank in 0..ranks {
            node.page(rank).identity.pid.store(std::process::id(), Ordering::Relaxed);
        }
        (0..ranks).map(|rank| NodeTransport::attach(node, rank).unwrap()).collect()
    }

    fn beside(&self, transport: &NodeTransport) -> NodeTransport {
        transport.beside(1).unwrap()
    }
}

conformance!(Threads);

fn pair() -> (NodeTransport, NodeTransport) {
    Threads.pair()
}

fn number(value: u64) -> Packet {
    Packet::with(7, [value, !value], &Number(value))
}

/// Reads the next packet: kind, bytes, header, and its payload as a number.
fn pop(transport: &mut NodeTransport) -> Option<(u8, u32, [u64; 2], u64)> {
    let arrival = transport.peek()?;
    let found = (arrival.kind, arrival.bytes, arrival.header, arrival.read::<Number>().0);
    transport.advance(&arrival);
    Some(found)
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Number(u64);
// SAFETY: one integer.
unsafe impl Plain for Number {}

#[test]
fn packets_arrive_whole_and_in_order_and_a_full_mailbox_says_so() {
    let (mut sender, mut receiver) = pair();
    let mut sent = 0;
    while sender.push(LocalRank(1), &number(sent).letter()).unwrap() {
        sent += 1;
    }
    let fit = (sizes::BOX_BYTES as u64 - 1) / 32;
    assert_eq!(sent, express::HOT as u64 + fit, "by the mailbox first, then by a box");
    for expected in 0..sent {
        assert_eq!(pop(&mut receiver).expect("it was pushed"), (7, 8, [expected, !expected], expected));
    }
    assert!(pop(&mut receiver).is_none());
    assert!(sender.push(LocalRank(1), &number(0).letter()).unwrap());
}

#[test]
fn what_a_peer_has_left_unfinished_is_passed_over_once_it_has_failed() {
    let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(3).unwrap()));
    for rank in 0..3 {
        node.page(rank).identity.pid.store(std::process::id(), Ordering::Relaxed);
    }
    let mut all: Vec<_> = (0..3).map(|rank| NodeTransport::attach(node, rank).unwrap()).collect();
    let mut receiver = all.pop().unwrap();
    // It dies between taking a line and filling it.
    all[0].own.control().filling.0.store(3, Ordering::Relaxed);
    let area = Area::of(node, 2, 0);
    mailbox::SenderView::default().fill(&area, &number(1).letter()).unwrap();
    assert!(all[1].push(LocalRank(2), &number(2).letter()).unwrap());
    assert!(pop(&mut receiver).is_none() && !receiver.skip_unfinished(), "it may still come");
    node.note_failure(0);
    assert!(receiver.skip_unfinished());
    assert_eq!(pop(&mut receiver).map(|(_, _, _, value)| value), Some(2));
    assert!(!receiver.skip_unfinished() && pop(&mut receiver).is_none());
}

#[test]
fn letters_of_every_length_pass_through_an_express_box_lap_after_lap() {
    let (mut sender, mut receiver) = pair();
    let mut bytes = 0;
    let mut waiting = std::collections::VecDeque::new();
    for round in 0..20_000usize {
        bytes = if round < 20 { 8 } else { (bytes * 5 + 77) % (LONG_LETTER_BYTES + 1) };
        let payload: Vec<u8> = (0..bytes).map(|byte| (byte * 31 + round) as u8).collect();
        let letter = Letter { kind: 9, header: [round as u64, 2], payload: &payload };
        while !sender.push(LocalRank(1), &letter).unwrap() {
            let arrival = receiver.peek().expect("a full box has something in it");
            let expected: Vec<u8> = waiting.pop_front().unwrap();
            let mut back = vec![0u8; arrival.bytes as usize];
            // SAFETY: it is that long.
            unsafe { arrival.copy_to(back.as_mut_ptr(), back.len()) };
            assert_eq!(back, expected);
            receiver.advance(&arrival);
        }
        waiting.push_back(payload);
    }
    assert!(sender.takes_letter(LocalRank(1), LETTER_BYTES).unwrap());
    receiver.take_long_letters(false);
    assert!(!sender.takes_letter(LocalRank(1), LETTER_BYTES).unwrap());
}

#[test]
fn who_gets_no_express_box_stays_with_the_mailbox() {
    let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(12).unwrap()));
    let mut receiver = NodeTransport::attach(node, 0).unwrap();
    let mut senders: Vec<_> = (1..12).map(|rank| NodeTransport::attach(node, rank).unwrap()).collect();
    let payload: Vec<u8> = (0..40).collect();
    for round in 0..100u64 {
        for sender in &mut senders {
            let letter = Letter { kind: 3, header: [sender.me as u64, round], payload: &payload };
            assert!(sender.push(LocalRank(0), &letter).unwrap());
        }
        for _ in 0..senders.len() {
            let arrival = receiver.peek().expect("it was pushed");
            assert_eq!(arrival.header[1], round);
            let mut back = [0u8; 40];
            // SAFETY: it is that long.
            unsafe { arrival.copy_to(back.as_mut_ptr(), 40) };
            assert_eq!(back[..], payload[..]);
            receiver.advance(&arrival);
        }
    }
    let boxes = senders.iter().filter(|sender| sender.peers[0].as_ref().unwrap().express.is_some()).count();
    assert_eq!(boxes, sizes::BOXES);
}

#[test]
fn many_senders_lose_nothing() {
    let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(4).unwrap()));
    let count = 20_000u64;
    let mut receiver = NodeTransport::attach(node, 0).unwrap();
    let senders: Vec<_> = (1..4u64)
        .map(|rank| {
            std::thread::spawn(move || {
                let mut transport = NodeTransport::attach(node, rank as u32).unwrap();
                for value in 0..count {
                    while !transport.push(LocalRank(0), &number(rank << 32 | value).letter()).unwrap() {
                        std::thread::yield_now();
                    }
                }
            })
        })
        .collect();
    let mut next = [0u64; 4];
    let mut received = 0;
    while received < 3 * count {
        let Some((_, _, _, value)) = pop(&mut receiver) else {
            receiver.doorbell().sleep_unless(|| receiver.arrivals().any(), None);
            continue;
        };
        let rank = (value >> 32) as usize;
        assert_eq!(value & 0xffff_ffff, next[rank]);
        next[rank] += 1;
        received += 1;
    }
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

/// Loads a payload of `bytes` bytes of one value.
fn load(owner: &mut NodeTransport, bytes: usize, value: u8, is_awaited: bool) -> Option<Packet> {
    // SAFETY: the transport has room for as many bytes.
    let mut pack = |target: *mut u8| unsafe { std::ptr::write_bytes(target, value, bytes) };
    let source = Source::Packed(&mut pack);
    // SAFETY: no more is packed.
    unsafe { owner.load(LocalRank(1), Load { kind: 5, header: [7, 8], bytes, is_awaited, source }).unwrap() }
}

#[test]
fn cells_run_out_and_come_back_when_what_they_brought_was_read_or_released() {
    let (mut owner, mut peer) = pair();
    let mut loaded = 0u8;
    while let Some(packet) = load(&mut owner, 60_000, loaded, false) {
        assert!(owner.push(LocalRank(1), &packet.letter()).unwrap());
        loaded += 1;
    }
    assert_eq!(loaded, 16);
    let mut kept = Vec::new();
    for value in 0..16 {
        let arrival = peer.peek().expect("it was pushed");
        assert_eq!((arrival.kind, arrival.bytes, arrival.header), (5, 60_000, [7, 8]));
        // SAFETY: the payload is that long.
        assert_eq!(unsafe { arrival.payload().add(59_999).read() }, value);
        if value % 2 == 0 {
            kept.push(peer.retain(&arrival));
        }
        peer.advance(&arrival);
    }
    assert!((0..8).all(|value| load(&mut owner, 60_000, value, true).is_some()));
    assert!(load(&mut owner, 60_000, 0, true).is_none(), "half of them are retained");
    for (which, retained) in kept.into_iter().enumerate() {
        // SAFETY: the payload is that long.
        assert_eq!(unsafe { retained.payload.add(59_999).read() }, 2 * which as u8);
        peer.release(retained);
    }
    assert!(owner.want_load());
    // A short one that comes back is still in the caches; of long ones, the one that has been free for longest is taken.
    for (bytes, is_again) in [(1000, true), (60_000, false)] {
        let mut next = || load(&mut owner, bytes, 0, !is_again).unwrap();
        let (one, other) = (next(), next());
        assert_ne!(one.payload, other.payload);
        owner.unload(&other);
        assert_eq!(load(&mut owner, bytes, 0, !is_again).unwrap().payload == other.payload, is_again);
    }
}

#[test]
fn the_memory_of_a_peer_is_reached_or_honestly_not() {
    let (mut one, _two) = pair();
    assert_eq!(one.means(LocalRank(0)), Means::Direct);
    assert_eq!(one.means(LocalRank(1)), Means::CrossMemory);
    let source = [5u8; 64];
    let mut target = [0u8; 64];
    // SAFETY: both lie on our stack.
    unsafe {
        one.read(
            LocalRank(1),
            AccessDescriptor::host(source.as_ptr() as u64, 64),
            &[(target.as_mut_ptr() as usize, 64)],
        )
        .unwrap()
    };
    assert_eq!(source, target);

    let (mut limited, _other) = pair();
    limited.limit_means(Means::Cells);
    assert_eq!(limited.means(LocalRank(1)), Means::Cells);
}

#[test]
fn a_memory_file_comes_from_a_peer_that_sends_and_is_read() {
    let (mut reader, mut owner) = pair();
    reader.limit_means(Means::MemoryFile);
    assert_eq!(reader.means(LocalRank(1)), Means::Cells, "nothing has come yet");
    assert!(reader.why_not_better(LocalRank(1)).contains("SERRIED_COPY"));
    let data: Vec<u8> = (0..10_000).map(|index| (index % 241) as u8).collect();
    owner.lend(data.as_ptr(), data.len() as u64, 1);
    owner.lend(data.as_ptr(), data.len() as u64, 1);
    assert_eq!(owner.own.control().passing.0.wanted.load(Ordering::Relaxed), 0);
    assert_eq!(reader.means(LocalRank(1)), Means::MemoryFile);
    let mut back = vec![0u8; data.len()];
    let memory = owner.describe(data.as_ptr(), data.len() as u64);
    let pieces = [(back.as_mut_ptr() as usize, 100), (back.as_mut_ptr() as usize + 100, data.len() - 100)];
    // SAFETY: the pieces are `back`.
    assert_eq!(unsafe { reader.read(LocalRank(1), memory, &pieces).unwrap() }, Means::MemoryFile);
    assert_eq!(back, data);
    // SAFETY: nothing is written.
    assert!(unsafe { reader.write(LocalRank(1), memory.part(0, 1), back.as_ptr()) }.is_err());
}
