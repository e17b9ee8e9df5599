//! One look at a running job: its ranks are asked, and once more if some seem stuck.

use super::ask::Round;
use super::graph::{self, Standing};
use super::sources::Sources;
use crate::attach::{Attached, Found, Snapshot};
use crate::system::monotonic_now;
use serried_engine::job::NodeView;
use serried_engine::observe::inquiry::Wish;
use serried_engine::observe::State;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long ranks have to answer.
const ANSWERS: Duration = Duration::from_millis(1200);
/// The same for ranks that do not seem to wait.
const OTHERS: Duration = Duration::from_millis(150);
const GLANCE: Duration = Duration::from_millis(5);
/// Between two questions, nothing may move.
const PAUSE: Duration = Duration::from_millis(400);
/// Failed polls in that time; fewer may be a program that computes as well.
const POLLS: u64 = 400;

/// What was seen.
pub struct Seen {
    /// The command line of the job.
    pub command: String,
    /// The process that was found.
    pub process: i32,
    /// What each rank shows.
    pub ranks: Vec<Snapshot>,
    /// The name of the call that each rank is in, or was in last.
    pub calls: Vec<String>,
    /// What each rank says.
    pub standing: Vec<Standing>,
    /// Ranks that can never go on.
    pub stuck: Vec<u32>,
    /// The clock of the pages when they were asked.
    pub now: u64,
}

/// Looks at a job.
///
/// # Errors
/// A sentence: the job has ended, or may not be looked at.
pub fn at(found: Found) -> Result<Seen, String> {
    let job = found.open()?;
    let writable = job.writable()?;
    let view = &writable.view;
    let gone: Vec<u32> = ranks(view).filter(|&rank| view.page(rank).state() == State::Finalized).collect();
    let running: Vec<u32> = ranks(view).filter(|&rank| view.page(rank).state() == State::Running).collect();
    let before = polls(view);
    let mut first = answers(view, Wish::STACK, &running, &gone);
    first.find_sources(view, &mut Sources::default());
    let now = monotonic_now();
    let mut stuck = graph::stuck(&first.ranks);
    if !stuck.is_empty() {
        std::thread::sleep(PAUSE);
        let second = answers(view, Wish::default(), &running, &gone);
        let after = polls(view);
        let only_polls = |rank: u32| {
            let ((calls, polls), (calls_now, polls_now)) = (before[rank as usize], after[rank as usize]);
            calls.abs_diff(calls_now) <= 1 && polls_now.wrapping_sub(polls) >= POLLS
        };
        stuck = confirmed(&first.ranks, &second.ranks, only_polls);
    }
    Ok(Seen {
        ranks: job.snapshot(),
        calls: calls(&job),
        command: job.found.command.clone(),
        process: job.found.anchors.first().copied().unwrap_or_default(),
        standing: first.ranks,
        stuck,
        now,
    })
}

fn ranks(view: &NodeView) -> std::ops::Range<u32> {
    0..view.local_ranks()
}

fn calls(job: &Attached) -> Vec<String> {
    job.snapshot().iter().map(|rank| job.call_name(rank.call)).collect()
}

/// Of each rank: calls that found something, and those that did not.
fn polls(view: &NodeView) -> Vec<(u64, u64)> {
    let of = |rank: u32| {
        let page = view.page(rank);
        (page.moves(), page.idle_polls())
    };
    ranks(view).map(of).collect()
}

fn answers(view: &NodeView, wish: Wish, whom: &[u32], gone: &[u32]) -> Round {
    let began = Instant::now();
    let mut round = Round::begin(view, wish, whom, gone);
    loop {
        let done = round.collect(view);
        let waits = |rank: u32| view.page(rank).call.waiting_since.load(Relaxed) != 0;
        let patience = if round.unanswered().any(waits) { ANSWERS } else { OTHERS };
        if done || began.elapsed() >= patience {
            return round;
        }
        std::thread::sleep(GLANCE);
    }
}

/// Those who are stuck by both answers and have not moved in between.
fn confirmed(first: &[Standing], second: &[Standing], only_polls: impl Fn(u32) -> bool) -> Vec<u32> {
    let stuck = graph::stuck(second);
    let stamp = |ranks: &[Standing], rank: u32| ranks[rank as usize].description().map(|it| it.stamp);
    let still = |&rank: &u32| {
        let polls = second[rank as usize].description().is_some_and(|it| it.polls);
        stamp(first, rank) == stamp(second, rank) && (!polls || only_polls(rank))
    };
    match stuck.iter().all(still) {
        true => stuck,
        false => Vec::new(),
    }
}
