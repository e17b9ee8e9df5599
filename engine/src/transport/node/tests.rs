//! The node transport between threads of one process: the real protocol over a
//! real segment.

use super::*;
use crate::transport::Plain;

fn pair() -> (NodeTransport, NodeTransport) {
    let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
    for rank in 0..2 {
        node.page(rank).identity.pid.store(std::process::id(), Ordering::Relaxed);
    }
    (NodeTransport::attach(node, 0).unwrap(), NodeTransport::attach(node, 1).unwrap())
}

fn number(value: u64) -> Packet {
    Packet::with(7, [value, !value], &Number(value))
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
    while sender.push(1, &number(sent)).unwrap() {
        sent += 1;
    }
    assert_eq!(sent, area::LINES);
    for expected in 0..sent {
        let packet = receiver.pop().expect("it was pushed");
        assert_eq!((packet.kind, packet.length, packet.header), (7, 8, [expected, !expected]));
        assert_eq!(packet.read::<Number>().0, expected);
    }
    assert!(receiver.pop().is_none());
    assert!(sender.push(1, &number(0)).unwrap());
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
                    while !transport.push(0, &number(rank << 32 | value)).unwrap() {
                        std::thread::yield_now();
                    }
                }
            })
        })
        .collect();
    let mut next = [0u64; 4];
    let mut received = 0;
    while received < 3 * count {
        let Some(packet) = receiver.pop() else {
            receiver.doorbell().sleep_unless(|| receiver.arrivals().any(), None);
            continue;
        };
        let value = packet.read::<Number>().0;
        let rank = (value >> 32) as usize;
        assert_eq!(value & 0xffff_ffff, next[rank]);
        next[rank] += 1;
        received += 1;
    }
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

#[test]
fn cells_run_out_and_come_back() {
    let (mut owner, mut peer) = pair();
    let mut taken = Vec::new();
    while let Some(cell) = owner.take_cell(60_000).unwrap() {
        // SAFETY: the cell is ours and 64 KiB long.
        unsafe { std::ptr::write_bytes(owner.cell_address(cell), cell.index as u8, 65536) };
        taken.push(cell);
    }
    assert_eq!(taken.len(), 16);
    assert!(owner.take_cell(100_000).unwrap().is_none());
    for cell in taken {
        // SAFETY: the owner has filled it.
        assert_eq!(unsafe { peer.cell_address(cell).add(65535).read() }, cell.index as u8);
        peer.give_back(cell);
    }
    assert!(owner.take_cell(60_000).unwrap().is_some());
}

#[test]
fn the_memory_of_a_peer_is_reached_or_honestly_not() {
    let (mut one, _two) = pair();
    assert_eq!(one.means(0), Means::Direct);
    assert_eq!(one.means(1), Means::CrossMemory);
    let source = [5u8; 64];
    let mut target = [0u8; 64];
    // SAFETY: both lie on our stack.
    unsafe { one.read(1, source.as_ptr() as u64, &[(target.as_mut_ptr() as usize, 64)]).unwrap() };
    assert_eq!(source, target);

    let (mut limited, _other) = pair();
    limited.limit_means(Means::Cells);
    assert_eq!(limited.means(1), Means::Cells);
}
