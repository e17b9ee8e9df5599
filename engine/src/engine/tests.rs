//! Ranks as threads of one process, each with an engine of its own over one
//! node segment: the real protocols, by every means of copying.

use super::several::{Active, Patience};
use super::*;
use crate::datatype::{Basic, Datatype};
use crate::job::cpu_set::CpuSet;
use crate::job::{cpus, NodeSegment, Nodes};
use crate::message::work::Recipe;
use crate::message::{Buffer, Envelope, Mode, ANY_SOURCE, ANY_TAG};
use crate::settings::Network;
use crate::test_ranks::play;
use crate::transport::Means;
use crate::world::Communicator;
use crate::{Class, JobRank};
use std::os::fd::AsFd;

const CONTEXT: u64 = 2;

/// Runs `body` as `ranks` ranks.
pub(super) fn run(ranks: u32, best: Means, body: impl Fn(&Engine) + Sync) {
    run_on(ranks, best, |_| None, body);
}

/// The same with ranks that are bound to a CPU each, or to none.
fn run_on(
    ranks: u32,
    best: Means,
    cpu_of: impl Fn(u32) -> Option<usize> + Sync,
    body: impl Fn(&Engine) + Sync,
) {
    run_over(Nodes::One, ranks, best, cpu_of, body);
}

/// The same with ranks on several nodes.
pub(super) fn run_over(
    nodes: Nodes,
    ranks: u32,
    best: Means,
    cpu_of: impl Fn(u32) -> Option<usize> + Sync,
    body: impl Fn(&Engine) + Sync,
) {
    let settings = Settings {
        max_slowdown: None,
        gpu: crate::device::Presence::Off,
        memory: 1 << 20,
        copy: best,
        check: false,
        reproducible: false,
        multicast: crate::collective::multicast::Wanted::ManyNodes,
        seals: false,
        nodes,
        network: Network::Nothing,
        servers: None,
    };
    let node = NodeSegment::create(ranks).unwrap();
    let descriptor = node.descriptor();
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            let (body, cpu_of) = (&body, &cpu_of);
            let mine = NodeSegment::open(descriptor.as_fd().try_clone_to_owned().unwrap()).unwrap();
            scope.spawn(move || {
                cpu_of(rank).into_iter().for_each(bind);
                let job = Box::leak(Box::new(Job::in_process(rank, mine)));
                let engine = Engine::join_with(job, settings).unwrap();
                play(|| {
                    body(&engine);
                    engine.finalize().unwrap();
                });
            });
        }
    });
}

/// Binds the calling thread to a CPU.
fn bind(cpu: usize) {
    let set: CpuSet = [cpu].into_iter().collect();
    // SAFETY: the words are a set of that size, and laid out as the system's type.
    let refused = unsafe { libc::sched_setaffinity(0, size_of::<CpuSet>(), set.0.as_ptr().cast()) };
    assert_eq!(refused, 0, "CPU {cpu} is not among those that may be used");
}

fn both(ranks: u32, body: impl Fn(&Engine) + Sync) {
    run(ranks, Means::CrossMemory, &body);
    run(ranks, Means::MemoryFile, &body);
    run(ranks, Means::Cells, &body);
}

fn as_sender(engine: &Engine, tag: i32) -> Envelope {
    Envelope { context: CONTEXT, source: engine.rank() as i32, tag }
}

fn from(source: i32, tag: i32) -> Envelope {
    Envelope { context: CONTEXT, source, tag }
}

fn bytes_of(data: &mut [u8]) -> Buffer {
    Buffer::Dense { address: data.as_mut_ptr(), bytes: data.len() as u64 }
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 251 + seed * 7) as u8).collect()
}

const LENGTHS: [usize; 13] =
    [0, 1, 40, 41, 1024, 1025, 4096, 16384, 16385, 65537, 524_288, 1_000_003, 9 * (1 << 20) + 3];

#[test]
fn messages_of_every_size_arrive_by_every_means() {
    both(2, |engine| {
        let peer = 1 - engine.rank();
        for (tag, length) in LENGTHS.into_iter().enumerate() {
            for mode in [Mode::Standard, Mode::Synchronous, Mode::Buffered] {
                let mut mine = pattern(length, engine.rank() as usize);
                let mut theirs = vec![0; length];
                let tag = tag as i32;
                let send = engine
                    .start_send(JobRank(peer), as_sender(engine, tag), bytes_of(&mut mine), mode)
                    .unwrap();
                let status = engine.receive(from(peer as i32, tag), None, bytes_of(&mut theirs)).unwrap();
                assert_eq!((status.source, status.tag, status.bytes), (peer as i32, tag, length as u64));
                assert!(status.error.is_none() && theirs == pattern(length, peer as usize), "{length} bytes");
                engine.wait(send).unwrap();
            }
        }
    });
}

#[test]
fn a_rank_sends_to_itself() {
    both(1, |engine| {
        for length in LENGTHS {
            let (mut mine, mut theirs) = (pattern(length, 3), vec![0; length]);
            let receive =
                engine.start_receive(from(ANY_SOURCE, ANY_TAG), None, bytes_of(&mut theirs)).unwrap();
            engine.send(JobRank(0), as_sender(engine, 5), bytes_of(&mut mine), Mode::Standard).unwrap();
            assert_eq!(engine.wait(receive).unwrap().0.bytes, length as u64);
            assert_eq!(mine, theirs);
        }
    });
}

#[test]
fn data_with_gaps_arrive_from_and_into_data_with_gaps() {
    both(2, |engine| {
        let double = Datatype::basic(Basic::Float64);
        for (count, block) in [(10u64, 1u64), (3000, 1), (3000, 100), (70_000, 2)] {
            let stride = block + 3;
            let column = Datatype::vector(count as i64, block as i64, stride as i64, &double).unwrap();
            column.commit();
            let length = (count * stride) as usize;
            let mine: Vec<f64> = (0..length).map(|index| index as f64).collect();
            let mut theirs = vec![-1.0f64; length];
            let dense_send = engine.rank() == 0 && count == 3000;
            let envelope = as_sender(engine, 1);
            let peer = 1 - engine.rank();
            let packed: Vec<f64> =
                (0..length).filter(|i| i % (stride as usize) < block as usize).map(|i| i as f64).collect();
            let send = if dense_send {
                Buffer::new(packed.as_ptr() as *mut u8, packed.len() as u64, &double)
            } else {
                Buffer::new(mine.as_ptr() as *mut u8, 1, &column)
            };
            let request = engine.start_send(JobRank(peer), envelope, send, Mode::Standard).unwrap();
            let into = Buffer::new(theirs.as_mut_ptr().cast(), 1, &column);
            engine.receive(from(peer as i32, 1), None, into).unwrap();
            engine.wait(request).unwrap();
            for (index, value) in theirs.iter().enumerate() {
                let expected = if index % (stride as usize) < block as usize { index as f64 } else { -1.0 };
                assert_eq!(*value, expected, "item {index} of {count} × {block}");
            }
        }
    });
}

#[test]
fn a_receive_too_small_reports_truncation_and_the_sender_is_not_harmed() {
    both(2, |engine| {
        for length in [8usize, 2000, 100_000, 2_000_000] {
            if engine.rank() == 0 {
                let mut data = pattern(length, 1);
                engine.send(JobRank(1), as_sender(engine, 0), bytes_of(&mut data), Mode::Standard).unwrap();
            } else {
                let mut data = vec![0; length / 2];
                let status = engine.receive(from(0, 0), None, bytes_of(&mut data)).unwrap();
                assert_eq!(status.error.map(|error| error.class()), Some(Class::Truncate));
                assert_eq!(data, pattern(length, 1)[..length / 2]);
            }
        }
    });
}

#[test]
fn a_flood_of_unexpected_messages_is_kept_and_delivered_in_order() {
    run(2, Means::CrossMemory, |engine| {
        let count = 20_000u32;
        if engine.rank() == 0 {
            let data = vec![7u8; 1024];
            let mut requests = Vec::new();
            for number in 0..count {
                let mut own = data.clone();
                own[..4].copy_from_slice(&number.to_ne_bytes());
                let own = Box::leak(own.into_boxed_slice());
                let buffer = Buffer::Dense { address: own.as_mut_ptr(), bytes: 1024 };
                requests.push(
                    engine.start_send(JobRank(1), as_sender(engine, 1), buffer, Mode::Standard).unwrap(),
                );
            }
            engine.send(JobRank(1), as_sender(engine, 2), bytes_of(&mut []), Mode::Standard).unwrap();
            requests.into_iter().for_each(|request| drop(engine.wait(request).unwrap()));
        } else {
            engine.receive(from(0, 2), None, bytes_of(&mut [])).unwrap();
            let mut data = [0u8; 1024];
            for number in 0..count {
                engine.receive(from(0, 1), None, bytes_of(&mut data)).unwrap();
                assert_eq!(data[..4], number.to_ne_bytes());
            }
        }
    });
}

#[test]
fn all_ranks_to_one_with_wildcards_keep_the_order_of_each_sender() {
    run(6, Means::CrossMemory, |engine| {
        let rounds = 500;
        if engine.rank() > 0 {
            for round in 0..rounds {
                let mut data = vec![round as u8; (round * 37) % 30_000];
                engine
                    .send(JobRank(0), as_sender(engine, round as i32), bytes_of(&mut data), Mode::Standard)
                    .unwrap();
            }
            return;
        }
        let mut next = [0usize; 6];
        let mut data = vec![0; 30_000];
        for _ in 0..5 * rounds {
            let status = engine.receive(from(ANY_SOURCE, ANY_TAG), None, bytes_of(&mut data)).unwrap();
            let round = status.tag as usize;
            assert_eq!(next[status.source as usize], round);
            next[status.source as usize] += 1;
            assert_eq!(status.bytes as usize, (round * 37) % 30_000);
            assert!(data[..status.bytes as usize].iter().all(|&byte| byte == round as u8));
        }
    });
}

#[test]
fn probes_see_and_take_messages() {
    run(2, Means::CrossMemory, |engine| {
        if engine.rank() == 0 {
            for length in [4usize, 5000, 50_000] {
                let mut data = pattern(length, 0);
                engine
                    .send(JobRank(1), as_sender(engine, length as i32), bytes_of(&mut data), Mode::Standard)
                    .unwrap();
            }
            return;
        }
        for length in [50_000usize, 4, 5000] {
            assert_eq!(engine.probe(from(0, length as i32), None).unwrap().bytes, length as u64);
            let message = engine.take_message(from(ANY_SOURCE, length as i32), None).unwrap();
            assert!(engine.try_probe(from(0, length as i32)).unwrap().is_none());
            let mut data = vec![0; length];
            let request = engine.start_matched_receive(message, bytes_of(&mut data)).unwrap();
            assert_eq!(engine.wait(request).unwrap().0.tag, length as i32);
            assert_eq!(data, pattern(length, 0));
            if length == 50_000 {
                // The others were held back by nothing.
                assert!(engine.probe(from(0, 4), Some(JobRank(0))).is_ok());
            }
        }
    });
}

/// Else both ranks of an exchange would read before they send.
#[test]
fn a_receive_that_is_started_leaves_a_long_message_to_its_wait() {
    both(2, |engine| {
        let mut data = pattern(10_000, 3);
        if engine.rank() == 1 {
            engine.send(JobRank(0), as_sender(engine, 4), bytes_of(&mut data), Mode::Standard).unwrap();
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut into = vec![0; 10_000];
        let request = engine.start_receive(from(1, 4), None, bytes_of(&mut into)).unwrap();
        assert_eq!(into, vec![0; 10_000]);
        assert_eq!(engine.wait(request).unwrap().0.bytes, 10_000);
        assert_eq!(into, data);
    });
}

#[test]
fn persistent_requests_start_again_and_a_receive_can_be_cancelled() {
    both(2, |engine| {
        let (mut data, mut into) = (vec![0u8; 100_000], vec![0u8; 100_000]);
        let peer = 1 - engine.rank();
        let send = Recipe::Send {
            buffer: bytes_of(&mut data),
            mode: Mode::Standard,
            envelope: as_sender(engine, 4),
            peer: JobRank(peer),
        };
        let send = engine.persistent(send).unwrap();
        let receive =
            Recipe::Receive { buffer: bytes_of(&mut into), wanted: from(peer as i32, 4), peer: None };
        let receive = engine.persistent(receive).unwrap();
        for round in 0..5u8 {
            // SAFETY: both requests are inactive, so the buffers are ours.
            unsafe { std::ptr::write_bytes(data.as_mut_ptr(), round, 100_000) };
            engine.start_persistent(receive).unwrap();
            engine.start_persistent(send).unwrap();
            assert!(engine.start_persistent(send).is_err());
            engine.wait(send).unwrap();
            assert_eq!(engine.wait(receive).unwrap().0.bytes, 100_000);
            assert!(into.iter().all(|&byte| byte == round));
        }
        engine.each_active([Ok(Some(send))].into_iter(), |_| panic!("it is inactive")).unwrap();
        engine.release(send).unwrap();
        engine.release(receive).unwrap();
        assert_eq!(engine.wait(send).unwrap_err().class(), Class::Request);

        let never = engine.start_receive(from(0, 99), None, bytes_of(&mut into)).unwrap();
        engine.cancel(never).unwrap();
        assert!(engine.wait(never).unwrap().0.cancelled);
    });
}

#[test]
fn communicators_are_made_while_other_work_goes_on() {
    use crate::world::create::{split, start_dup, Copied};
    both(3, |engine| {
        let world = Communicator::world(engine.rank(), 3);
        let under_way: Vec<_> = (0..20)
            .map(|_| {
                let duplication = start_dup(engine, &world, Copied::default()).unwrap();
                let made = duplication.made();
                (made, engine.start_pending(world.context(), duplication).unwrap())
            })
            .collect();
        let part = split(engine, &world, Some((engine.rank() % 2) as i32), 0).unwrap().unwrap();
        let mut contexts = vec![part.context()];
        for (made, request) in under_way {
            assert!(engine.wait(request).unwrap().0.error.is_none());
            contexts.push(made.context());
        }
        contexts.sort_unstable();
        contexts.dedup();
        assert!(contexts.len() == 21 && contexts[0] > 0);
    });
}

#[test]
fn threads_in_communicators_of_all_lanes_go_on_together() {
    use crate::world::{context, create::dup};
    both(3, |engine| {
        engine.set_threaded();
        let world = std::sync::Arc::new(Communicator::world(engine.rank(), 3));
        // All ranks have lanes before one of them proposes contexts.
        let barrier = crate::collective::Operation::Barrier;
        engine.run_collective(&world, &barrier).unwrap();
        let made: Vec<u64> =
            (0..3).map(|_| dup(engine, &world, Default::default()).unwrap().context()).collect();
        let mut lanes: Vec<usize> = made.iter().map(|&context| context::lane(context)).collect();
        lanes.sort_unstable();
        assert_eq!(lanes, [1, 2, 3]);
        std::thread::scope(|scope| {
            for &context in made.iter().chain([&CONTEXT]) {
                scope.spawn(move || play(|| to_and_fro(engine, context)));
            }
        });
        across_lanes(engine, &made);
    });
}

/// Each rank sends to the next one, in one context.
fn to_and_fro(engine: &Engine, context: u64) {
    let (me, next, before) = (engine.rank(), (engine.rank() + 1) % 3, (engine.rank() + 2) % 3);
    for round in 0..60 {
        let length = LENGTHS[round % 10];
        let mut out = pattern(length, me as usize + round);
        let mut into = vec![0; length];
        let sent = Envelope { context, source: me as i32, tag: round as i32 };
        let wanted = Envelope { context, source: before as i32, tag: ANY_TAG };
        let request = engine.start_send(JobRank(next), sent, bytes_of(&mut out), Mode::Standard).unwrap();
        assert_eq!(engine.receive(wanted, None, bytes_of(&mut into)).unwrap().tag, round as i32);
        assert_eq!(engine.wait(request).unwrap().0.error.map(|error| error.to_string()), None);
        assert_eq!(into, pattern(length, before as usize + round));
    }
}

/// Requests of several lanes are waited for together.
fn across_lanes(engine: &Engine, contexts: &[u64]) {
    let (me, next, before) = (engine.rank(), (engine.rank() + 1) % 3, (engine.rank() + 2) % 3);
    let mut into = vec![[0u8; 3]; contexts.len()];
    let open: Vec<_> = contexts
        .iter()
        .zip(&mut into)
        .map(|(&context, into)| {
            let wanted = Envelope { context, source: before as i32, tag: 1 };
            engine.start_receive(wanted, None, bytes_of(into)).unwrap()
        })
        .collect();
    for (round, &context) in contexts.iter().enumerate() {
        let sent = Envelope { context, source: me as i32, tag: 1 };
        engine.send(JobRank(next), sent, bytes_of(&mut [round as u8; 3]), Mode::Standard).unwrap();
        let mut complete = Vec::new();
        let ids = || open[round..].iter().map(|&id| Ok(Some(id)));
        let see = |active: Active| complete.extend(active.is_complete.then_some(active.place));
        engine.any_complete(ids, Patience::UntilOne, see).unwrap();
        assert_eq!(complete, [0], "one by one");
        // The next one is sent when all have got this one.
        engine.wait(open[round]).unwrap();
        to_and_fro(engine, context);
    }
    assert_eq!(into, [[0; 3], [1; 3], [2; 3]]);
}

/// Whether each of so many ranks shares CPUs when all have come, being bound to these.
fn share_cpus(cpus: &[usize]) -> bool {
    let shares = std::sync::Mutex::new(Vec::new());
    run_on(
        cpus.len() as u32,
        Means::CrossMemory,
        |rank| Some(cpus[rank as usize]),
        |engine| {
            let world = std::sync::Arc::new(Communicator::world(engine.rank(), engine.size()));
            for _ in 0..5 {
                engine.run_collective(&world, &crate::collective::Operation::Barrier).unwrap();
            }
            let me = world.member().flatten().expect("it has had its first operations");
            assert_eq!(me.shares_cpus(), engine.crowd.shares(), "what is agreed is what each sees");
            shares.lock().unwrap().push(engine.crowd.shares());
        },
    );
    let shares = shares.into_inner().unwrap();
    assert!(shares.len() == cpus.len() && shares.iter().all(|&one| one == shares[0]), "{shares:?}");
    shares[0]
}

#[test]
fn bound_ranks_share_cpus_only_if_there_are_more_ranks_than_cpus() {
    let cpus = cpus::allowed();
    assert!(share_cpus(&[cpus[0], cpus[0]]));
    if let [one, other, ..] = cpus[..] {
        assert!(!share_cpus(&[one, other]));
        assert!(share_cpus(&[one, one, other, other]), "two pairs");
    }
}
