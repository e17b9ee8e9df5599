//! The watch over jobs with ranks that nap, by a clock that the test sets: nobody waits for minutes.

use super::naps::tests::sleeper;
use super::options::OnDeadlock;
use super::watch::{Finding, Watch};
use serried_engine::job::NodeSegment;
use serried_engine::observe::description::{Description, Need, Thread};
use serried_engine::observe::State;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(100);

/// A job of two ranks, each of which waits for the other: some of them in calls that find nothing,
/// with naps in between.
struct Job {
    node: NodeSegment,
    naps: [bool; 2],
    /// The thread that is looked at.
    thread: u32,
}

impl Job {
    fn new(naps: [bool; 2], thread: u32) -> Job {
        let node = NodeSegment::create(2).unwrap();
        for rank in 0..2 {
            node.reserve_report(rank, 4096).unwrap();
            let page = node.page(rank);
            page.identity.pid.store(std::process::id(), Relaxed);
            page.identity.namespace.store(serried_engine::job::process::own_namespace(), Relaxed);
            page.set_state(State::Running);
            if !naps[rank as usize] {
                page.enter(1);
                page.call.waiting_since.store(1, Relaxed);
            }
        }
        Job { node, naps, thread }
    }

    /// What the ranks do in one step.
    fn go_on(&self) {
        for rank in 0..2 {
            let page = self.node.page(rank);
            let naps = self.naps[rank as usize];
            if naps {
                page.enter(1);
                page.leave(true);
                page.own().idle_polls.fetch_add(1, Relaxed);
            }
            let Some(question) = page.question() else { continue };
            let ways = vec![vec![Need { peers: vec![1 - rank], ..Need::default() }]];
            let threads =
                vec![Thread { number: self.thread, call: "MPI_Test".into(), ways, ..Thread::default() }];
            let stamp = [page.moves(), 0, 0, 0];
            let description = Description { stamp, polls: naps, naps, threads, ..Description::default() };
            self.node.report(rank).write(question, &description.to_string());
            page.inquiry.answered.store(question, Relaxed);
        }
    }

    /// The seconds after which each finding comes, in so many seconds; at `moves` rank 0 makes another call.
    fn found_within(&self, seconds: u32, moves: Option<u32>) -> Vec<(u32, Finding)> {
        let began = Instant::now();
        let mut watch = Watch::new(&self.node, OnDeadlock::Abort, began).unwrap();
        let mut found = Vec::new();
        for step in 1..=seconds * 10 {
            self.go_on();
            if moves.is_some_and(|every| step % (every * 10) == 0) {
                for _ in 0..3 {
                    self.node.page(0).enter(2);
                    self.node.page(0).leave(true);
                }
            }
            let finding =
                watch.tick(began + step * STEP, u64::MAX / 2, &|_| false, &|rank| format!("process {rank}"));
            found.extend(finding.map(|finding| (step / 10, finding)));
            if found.last().is_some_and(|(_, finding)| *finding == Finding::End) {
                break;
            }
        }
        found
    }
}

fn text(found: &(u32, Finding)) -> &str {
    match &found.1 {
        Finding::Tell(text) => text,
        Finding::End => "end",
    }
}

#[test]
fn ranks_that_all_nap_are_told_after_half_a_minute_and_ended_a_minute_later() {
    let found = Job::new([true, true], sleeper()).found_within(120, None);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!((20..40).contains(&found[0].0), "{found:?}");
    assert!(text(&found[0]).starts_with("serried: ranks 0 and 1 wait for each other and cannot go on\n"));
    assert!(text(&found[0]).contains("calls MPI_Test and sleeps, again and again"));
    assert!(text(&found[0]).contains("Ranks 0 and 1 have called nothing else: if those loops can end"));
    assert!(text(&found[0]).contains("ended if nothing moves within 60 s"));
    assert_eq!(found[1].1, Finding::End);
    assert!((80..101).contains(&found[1].0), "{found:?}");
}

#[test]
fn a_rank_that_naps_while_another_waits_is_told_after_two_minutes() {
    let found = Job::new([true, false], sleeper()).found_within(200, None);
    assert!((120..170).contains(&found[0].0), "{found:?}");
    assert!(text(&found[0]).contains("Rank 0 has called nothing else: if that loop can end"));
}

#[test]
fn ranks_that_call_something_else_now_and_then_are_let_alone() {
    assert_eq!(Job::new([true, true], sleeper()).found_within(300, Some(15)), []);
}

#[test]
fn a_rank_that_does_not_sleep_between_its_calls_is_let_alone() {
    let (stop, stopped) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let waits_for_input = std::thread::spawn(move || {
        let (reader, writer) = std::io::pipe().unwrap();
        tell.send(serried_engine::memory::system_calls::thread_number()).unwrap();
        let closer = std::thread::spawn(move || drop((stopped.recv(), writer)));
        std::io::read_to_string(reader).unwrap();
        closer.join().unwrap();
    });
    let found = Job::new([true, true], told.recv().unwrap()).found_within(100, None);
    drop(stop);
    waits_for_input.join().unwrap();
    assert_eq!(found, []);
}

#[test]
fn ranks_that_wait_are_told_at_once() {
    let found = Job::new([false, false], 1).found_within(10, None);
    assert!(found[0].0 <= 3, "{found:?}");
}
