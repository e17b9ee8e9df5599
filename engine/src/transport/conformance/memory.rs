//! Memory that is offered, and tasks that two ranks share.

use super::{pattern, Place, Transport};
use crate::transport::{AccessDescriptor, Means, OfferedMemory, SharedTasks};

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
