//! Memory that is offered, and tasks that two ranks share.

use super::{pattern, push, wait_for, Place, Transport};
use crate::transport::{
    AccessDescriptor, Means, OfferedMemory, Packet, Packets, RemoteMemory, SharedTasks, Told,
};

/// A transport that does not reach a memory says so and leaves everything as it was.
pub fn memory_of_a_peer_is_read_and_written_or_refused(place: &impl Place) {
    let (mut owner, mut peer) = place.pair();
    let mut data = pattern(100_000, 1);
    owner.lend(data.as_ptr(), data.len() as u64, 1);
    let memory = owner.describe(data.as_ptr(), data.len() as u64);
    let mut back = vec![0; 60_000];
    let start = back.as_mut_ptr() as usize;
    let pieces = [(start, 10), (start + 10, 50_000), (start + 50_010, 9990)];
    let means = peer.means(0.into());
    // SAFETY: the pieces are `back`.
    let read = unsafe { peer.read(0.into(), part(memory, 40_000, 60_000), &pieces) };
    match means {
        Means::Cells => assert!(read.is_err() && back.iter().all(|&byte| byte == 0)),
        _ => assert!(read.is_ok() && back == data[40_000..]),
    }
    let news = pattern(5000, 2);
    let expected = [&data[..7], &news, &data[5007..]].concat();
    // SAFETY: the peer has offered the memory, and nobody uses it.
    let written = unsafe { peer.write(0.into(), part(memory, 7, 5000), news.as_ptr()) };
    let now = std::hint::black_box(&mut data);
    assert_eq!(*now == expected, written.is_ok());
}

/// A part of what has been described, if it can be reached.
fn part(memory: AccessDescriptor, offset: u64, bytes: u64) -> AccessDescriptor {
    match memory.is_reachable() {
        true => memory.part(offset, bytes),
        false => AccessDescriptor::unreachable(bytes),
    }
}

/// Several ranges at once, into pieces of all lengths; packets come meanwhile, and the rank is told of each once.
pub fn memory_is_fetched_or_not_offered(place: &impl Place) {
    const BYTES: usize = 1_500_000;
    let (mut owner, mut peer) = place.pair();
    let data: [Vec<u8>; 3] = [1, 2, 3].map(|seed| pattern(BYTES, seed));
    let memory = [0, 1, 2].map(|index: usize| owner.register(1.into(), data[index].as_ptr(), BYTES as u64));
    if memory.iter().any(|memory| memory.key == 0) {
        return;
    }
    let mut back = [0, 1, 2].map(|index| vec![0; BYTES - 1000 * index]);
    for (index, back) in back.iter_mut().enumerate() {
        let part = memory[index].part(1000 * index as u64, back.len() as u64);
        let pieces: Vec<_> = match index {
            0 => vec![(back.as_mut_ptr() as usize, BYTES)],
            _ => {
                back.chunks_mut(977 * index).map(|piece| (piece.as_mut_ptr() as usize, piece.len())).collect()
            }
        };
        let told = Told { kind: 7, header: [index as u64, 70] };
        // SAFETY: the pieces are `back`, which nobody looks at before the rank is told.
        unsafe { peer.fetch(0.into(), part, &pieces, told).unwrap() };
        push(&mut owner, 1, &Packet::new(3, [index as u64, 0]));
    }
    let (mut told, mut packets) = ([0; 3], 0);
    while told.iter().sum::<u32>() < 3 || packets < 3 {
        let arrival = wait_for("data", || {
            assert!(owner.peek().is_none(), "its transport does it by itself");
            peer.peek()
        });
        match arrival.kind {
            7 => {
                let index = arrival.header[0] as usize;
                assert_eq!((arrival.bytes, arrival.header[1]), (0, 70));
                assert!(back[index] == data[index][1000 * index..]);
                told[index] += 1;
            }
            _ => {
                assert_eq!((arrival.kind, arrival.header[0]), (3, packets));
                packets += 1;
            }
        }
        peer.advance(&arrival);
    }
    assert_eq!(told, [1; 3]);
    memory.into_iter().for_each(|memory| owner.unregister(1.into(), memory));
}

/// By both ranks at once; one of them is told that its part was the last.
pub fn parts_of_a_task_are_done_once(place: &impl Place) {
    let (mut owner, mut helper) = place.pair();
    for bytes in [1, 100_000, 4 << 20] {
        let Some(task) = owner.open_task() else { return };
        let (own, helped) = std::thread::scope(|scope| {
            let helper = &mut helper;
            let helped = scope.spawn(move || work(helper, task, bytes));
            (work(&owner, task, bytes), helped.join().unwrap())
        });
        assert_eq!((own.0 + helped.0, own.1 + helped.1), (bytes, 1));
        owner.close_task(task);
        let next = owner.open_task().expect("the last one is closed");
        assert_eq!(helper.claim_part(0.into(), task, bytes), None, "that one is over");
        owner.close_task(next);
    }
}

/// Claims parts of a task of rank 0: bytes done, and how often it was told that they were the last.
fn work(transport: &impl Transport, task: crate::transport::Task, bytes: u64) -> (u64, u32) {
    let (mut done, mut was_last) = (0, 0);
    while let Some((offset, part)) = transport.claim_part(0.into(), task, bytes) {
        assert!(offset + part <= bytes);
        done += part;
        was_last += u32::from(transport.part_is_done(0.into(), task, part, bytes));
    }
    (done, was_last)
}
