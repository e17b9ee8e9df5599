//! Watching the job for ranks that cannot go on.
//!
//! Twice a second the launcher looks at the ranks' pages. Ranks that have waited for a second in
//! one call are asked what they wait for; if some of them are stuck by the graph of all waits, they
//! are asked once more a moment later, and nothing may have moved in between. The ranks that have
//! finalized are taken from before the first question, so the second one has seen all that they had
//! sent.
//!
//! A rank that calls what finds nothing, and sleeps in between, is a suspect only after long, and
//! if its thread is seen to do nothing else (`naps`).

use super::naps::Naps;
use super::options::OnDeadlock;
use super::seen::{self, Seen};
use crate::system::process_numbers;
use crate::why::ask::Round;
use crate::why::explain::{self, Job};
use crate::why::graph::{self, Standing};
use crate::why::sources::Sources;
use serried_engine::job::{NodeSegment, NodeView};
use serried_engine::observe::inquiry::Wish;
use serried_engine::observe::State;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How often to look at the pages.
const LOOK: Duration = Duration::from_millis(500);
/// Waits shorter than this are none of our business.
const WAIT: Duration = Duration::from_secs(1);
/// The same for calls that find nothing, again and again.
const POLLING: Duration = Duration::from_secs(2);
/// The same where all of them sleep between such calls, and where others wait for those that do.
const NAPPING: Duration = Duration::from_secs(20);
const NAPPING_ALONE: Duration = Duration::from_secs(120);
/// How long to wait for answers.
const ANSWERS: Duration = Duration::from_secs(1);
/// The same of ranks that nap: they take some seconds.
const LATE_ANSWERS: Duration = Duration::from_secs(6);
/// How often to look for answers.
const GLANCE: Duration = Duration::from_millis(10);
/// How often to look at threads that nap.
const PEEP: Duration = Duration::from_millis(70);
/// Between two questions, nothing may move.
const PAUSE: Duration = Duration::from_millis(300);
/// When to ask again although nothing has changed: at first, and at most.
const AGAIN: Duration = Duration::from_secs(2);
const AGAIN_AT_MOST: Duration = Duration::from_secs(32);
/// How long a verdict has to stand before a job with ranks that poll is ended; and with ranks that
/// nap.
const DOUBT: Duration = Duration::from_secs(10);
const LONG_DOUBT: Duration = Duration::from_secs(60);

/// What the launcher has to do.
#[derive(Debug, PartialEq)]
pub enum Finding {
    /// Say this.
    Tell(String),
    /// End the job: it is stuck, and that has been told.
    End,
}

/// The watch over a job.
pub struct Watch {
    view: NodeView,
    mode: OnDeadlock,
    next: Instant,
    /// When the pages were looked at last.
    looked: Instant,
    seen: Vec<Seen>,
    stage: Stage,
    /// Ranks that had been waiting when the ranks were asked last.
    asked_for: Vec<(u32, u64)>,
    ask_again: Instant,
    patience: Duration,
    told: Option<Told>,
}

/// Who is suspected, by the first answers.
struct Suspicion {
    gone: Vec<u32>,
    stuck: Vec<(u32, [u64; 4])>,
    /// Only together with those that nap.
    naps: bool,
    /// Those that nap, if they may go on.
    awake: Vec<u32>,
}

enum Stage {
    Looking,
    First {
        gone: Vec<u32>,
        round: Round,
        until: Instant,
    },
    /// Are they asleep between their calls?
    Peeping(Suspicion, Naps),
    Pausing(Suspicion),
    Second {
        suspicion: Suspicion,
        round: Round,
        until: Instant,
    },
    Stacks {
        ranks: Vec<Standing>,
        stuck: Vec<u32>,
        round: Round,
        until: Instant,
    },
}

/// A verdict that was told.
struct Told {
    /// The ranks, and what each did.
    ranks: Vec<(u32, Did)>,
    end_at: Option<Instant>,
}

/// What a rank did when it was said to be stuck.
#[derive(Clone, Copy)]
enum Did {
    /// It was in the call with this number.
    Wait(u64),
    /// It polled.
    Poll,
    /// It napped, after so many calls.
    Nap(u64),
}

impl Watch {
    /// A watch over the job in `node`; `None` if it is not wanted or not possible.
    pub fn new(node: &NodeSegment, mode: OnDeadlock, now: Instant) -> Option<Watch> {
        if mode == OnDeadlock::Off {
            return None;
        }
        let view = NodeView::open(node.descriptor().as_fd(), true).ok()?;
        let seen = vec![Seen::new(now); view.local_ranks() as usize];
        let (next, stage) = (now + LOOK, Stage::Looking);
        Some(Watch {
            view,
            mode,
            next,
            looked: now,
            seen,
            stage,
            asked_for: Vec::new(),
            ask_again: now,
            patience: AGAIN,
            told: None,
        })
    }

    /// When something is due next.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// Does what is due. `ended` says whether a rank's process has ended, `who` is a
    /// rank in words, `now_nanoseconds` is the clock of the pages.
    pub fn tick(
        &mut self,
        now: Instant,
        now_nanoseconds: u64,
        ended: &dyn Fn(u32) -> bool,
        who: &dyn Fn(u32) -> String,
    ) -> Option<Finding> {
        if now < self.next {
            return None;
        }
        match std::mem::replace(&mut self.stage, Stage::Looking) {
            Stage::Looking => return self.look(now, now_nanoseconds, ended),
            Stage::First { gone, mut round, until } => {
                if !round.collect(&self.view) && now < until {
                    self.stage = Stage::First { gone, round, until };
                    self.next = now + GLANCE;
                } else {
                    if now >= until && self.patience == AGAIN {
                        // The machine is slow, or somebody has gone on: soon once more.
                        self.ask_again = now + LOOK;
                    }
                    self.suspect(gone, round.ranks, now);
                }
            }
            Stage::Peeping(suspicion, mut naps) => match naps.look() {
                None => {
                    self.stage = Stage::Peeping(suspicion, naps);
                    self.next = now + PEEP;
                }
                Some(true) => self.stage = Stage::Pausing(suspicion),
                Some(false) => self.next = now + LOOK,
            },
            Stage::Pausing(suspicion) => self.ask_once_more(suspicion, now, now_nanoseconds),
            Stage::Second { suspicion, mut round, until } => {
                if !round.collect(&self.view) && now < until {
                    self.stage = Stage::Second { suspicion, round, until };
                    self.next = now + GLANCE;
                } else {
                    self.next = now + LOOK;
                    self.ask_for_stacks(&suspicion, round.ranks, now);
                }
            }
            Stage::Stacks { mut ranks, stuck, mut round, until } => {
                if !round.collect(&self.view) && now < until {
                    self.stage = Stage::Stacks { ranks, stuck, round, until };
                    self.next = now + GLANCE;
                    return None;
                }
                self.next = now + LOOK;
                round.find_sources(&self.view, &mut Sources::default());
                if !take_stacks(&mut ranks, round.ranks) {
                    return None;
                }
                let job = Job { ranks: &ranks, who, now: now_nanoseconds };
                return self.judge(&job, &stuck, now);
            }
        }
        None
    }

    /// Looks at the pages, and asks those who wait if there is reason to.
    fn look(&mut self, now: Instant, now_nanoseconds: u64, ended: &dyn Fn(u32) -> bool) -> Option<Finding> {
        self.next = now + LOOK;
        self.see(now);
        if let Some(finding) = self.look_at_told(now) {
            return Some(finding);
        }
        let candidates = self.candidates(now, now_nanoseconds);
        let is_gone = |&rank: &u32| ended(rank) || self.view.page(rank).state() == State::Finalized;
        let gone: Vec<u32> = (0..self.view.local_ranks()).filter(is_gone).collect();
        let calls = |&rank: &u32| (rank, self.seen[rank as usize].calls);
        let asked_for: Vec<(u32, u64)> =
            candidates.iter().map(calls).chain(gone.iter().map(|&rank| (rank, 0))).collect();
        let known = asked_for == self.asked_for;
        if candidates.is_empty() || (known && now < self.ask_again) {
            return None;
        }
        self.patience = if known { (self.patience * 2).min(AGAIN_AT_MOST) } else { AGAIN };
        self.ask_again = now + self.patience;
        self.asked_for = asked_for;
        let naps = candidates.iter().any(|&rank| self.idles(rank, now));
        let (wish, answers) = if naps { (Wish::PATIENCE, LATE_ANSWERS) } else { (Wish::default(), ANSWERS) };
        let round = Round::begin(&self.view, wish, &candidates, &gone);
        self.stage = Stage::First { gone, round, until: now + answers };
        self.next = now + GLANCE;
        None
    }

    /// Notes who calls nothing but what finds nothing.
    fn see(&mut self, now: Instant) {
        if now.saturating_duration_since(self.looked) >= LOOK {
            self.looked = now;
            seen::look(&self.view, &mut self.seen, now);
        }
    }

    fn idles(&self, rank: u32, now: Instant) -> bool {
        self.seen[rank as usize].idles(now).is_some_and(|long| long >= NAPPING)
    }

    /// The ranks that have done nothing but waiting, polling or napping for long.
    fn candidates(&self, now: Instant, now_nanoseconds: u64) -> Vec<u32> {
        let waits = |rank: u32| {
            let page = self.view.page(rank);
            let since = page.call.waiting_since.load(Relaxed);
            since != 0 && u128::from(now_nanoseconds.saturating_sub(since)) >= WAIT.as_nanos()
        };
        let polls = |rank: u32| self.seen[rank as usize].polls(now).is_some_and(|long| long >= POLLING);
        let running = |rank: &u32| self.view.page(*rank).state() == State::Running;
        let idle = |&rank: &u32| waits(rank) || polls(rank) || self.idles(rank, now);
        (0..self.view.local_ranks()).filter(running).filter(idle).collect()
    }

    /// Looks whether some seem to be stuck by the first answers: without those that nap, who may go
    /// on; else with them, if it has been long enough.
    fn suspect(&mut self, gone: Vec<u32>, mut ranks: Vec<Standing>, now: Instant) {
        self.next = now + LOOK;
        let naps = |standing: &Standing| standing.description().is_some_and(|described| described.naps);
        let nappers: Vec<u32> = (0..ranks.len() as u32).filter(|&rank| naps(&ranks[rank as usize])).collect();
        let asleep: Vec<Standing> = nappers
            .iter()
            .map(|&rank| std::mem::replace(&mut ranks[rank as usize], Standing::Free))
            .collect();
        let stuck = stamps(&ranks);
        if stuck.iter().any(|&(rank, _)| !self.is_told(rank)) {
            self.stage = Stage::Pausing(Suspicion { gone, stuck, naps: false, awake: nappers });
            self.next = now + PAUSE;
            return;
        }
        for (&rank, standing) in nappers.iter().zip(asleep) {
            ranks[rank as usize] = standing;
        }
        let stuck = stamps(&ranks);
        if let Some(naps) = self.naps_of(&stuck, &ranks, now) {
            self.stage = Stage::Peeping(Suspicion { gone, stuck, naps: true, awake: Vec::new() }, naps);
            self.next = now + PEEP;
        }
    }

    /// The threads of those ranks among the stuck that nap, if there are new ones, and it has been
    /// long enough.
    fn naps_of(&self, stuck: &[(u32, [u64; 4])], ranks: &[Standing], now: Instant) -> Option<Naps> {
        let new = || {
            let new = stuck.iter().filter(|&&(rank, _)| !self.is_told(rank));
            new.filter_map(|&(rank, _)| Some((rank, ranks[rank as usize].description()?)))
        };
        let limit = if new().all(|(_, described)| described.polls) { NAPPING } else { NAPPING_ALONE };
        let mut threads = Vec::new();
        // Of processes that we do not see nobody can say whether they sleep: those of other hosts, and of some containers.
        if new().any(|(rank, described)| described.naps && self.view.page(rank).is_mirror()) {
            return None;
        }
        for (rank, described) in new().filter(|(_, described)| described.naps) {
            self.seen[rank as usize].idles(now).filter(|&long| long >= limit)?;
            threads.push(process_numbers::thread(self.view.page(rank), described.threads.first()?.number)?);
        }
        (!threads.is_empty()).then(|| Naps::new(threads.into_iter()))
    }

    fn ask_once_more(&mut self, suspicion: Suspicion, now: Instant, now_nanoseconds: u64) {
        self.see(now);
        let mut whom = self.candidates(now, now_nanoseconds);
        let (wish, answers) = match suspicion.naps {
            true => (Wish::PATIENCE, LATE_ANSWERS),
            false => {
                whom.retain(|rank| !suspicion.awake.contains(rank));
                (Wish::default(), 2 * ANSWERS)
            }
        };
        let round = Round::begin(&self.view, wish, &whom, &suspicion.gone);
        self.stage = Stage::Second { suspicion, round, until: now + answers };
        self.next = now + GLANCE;
    }

    fn ask_for_stacks(&mut self, suspicion: &Suspicion, ranks: Vec<Standing>, now: Instant) {
        let stuck = confirmed(suspicion, &ranks);
        if stuck.iter().all(|&rank| self.is_told(rank)) {
            return;
        }
        let (wish, answers) = match suspicion.naps {
            true => (Wish::STACK.and(Wish::PATIENCE), LATE_ANSWERS),
            false => (Wish::STACK, ANSWERS),
        };
        let round = Round::begin(&self.view, wish, &stuck, &suspicion.gone);
        self.stage = Stage::Stacks { ranks, stuck, round, until: now + answers };
        self.next = now + GLANCE;
    }

    fn is_told(&self, rank: u32) -> bool {
        self.told.as_ref().is_some_and(|told| told.ranks.iter().any(|&(known, _)| known == rank))
    }

    fn judge(&mut self, job: &Job, stuck: &[u32], now: Instant) -> Option<Finding> {
        let new: Vec<u32> = stuck.iter().copied().filter(|&rank| !self.is_told(rank)).collect();
        if new.is_empty() {
            return None;
        }
        let described = || stuck.iter().filter_map(|&rank| job.ranks[rank as usize].description());
        let doubt = match (described().any(|it| it.polls), described().any(|it| it.naps)) {
            (false, _) => Duration::ZERO,
            (true, false) => DOUBT,
            (true, true) => LONG_DOUBT,
        };
        let end_at = (self.mode == OnDeadlock::Abort).then(|| now + doubt);
        let mut text = match &self.told {
            None => explain::verdict(job, &new),
            Some(_) => explain::more(job, &new),
        };
        match (end_at, &self.told) {
            (Some(at), _) if at == now => text += "  The job is ended (--on-deadlock=abort).\n",
            (Some(_), _) => {
                let seconds = doubt.as_secs();
                text += &format!(
                    "  The job is ended if nothing moves within {seconds} s (--on-deadlock=abort).\n"
                );
            }
            (None, None) => text += "  The job goes on; --on-deadlock=abort would end it.\n",
            (None, Some(_)) => {}
        }
        let did = |rank: u32| match job.ranks[rank as usize].description() {
            Some(description) if description.naps => Did::Nap(self.seen[rank as usize].calls),
            Some(description) if description.polls => Did::Poll,
            _ => Did::Wait(self.view.page(rank).sequence() >> 1),
        };
        let did: Vec<(u32, Did)> = new.into_iter().map(|rank| (rank, did(rank))).collect();
        self.told.get_or_insert(Told { ranks: Vec::new(), end_at }).ranks.extend(did);
        Some(Finding::Tell(text))
    }

    /// Whether somebody whom a verdict named has moved after all, or it is time to end the job.
    fn look_at_told(&mut self, now: Instant) -> Option<Finding> {
        let told = self.told.as_ref()?;
        let moved = |&&(rank, did): &&(u32, Did)| {
            let seen = &self.seen[rank as usize];
            match did {
                Did::Wait(number) => self.view.page(rank).sequence() >> 1 != number,
                Did::Poll => seen.polls(now).is_none(),
                Did::Nap(calls) => seen.calls != calls || seen.idles(now).is_none(),
            }
        };
        if let Some(&(rank, _)) = told.ranks.iter().find(moved) {
            self.told = None;
            self.asked_for.clear();
            return Some(Finding::Tell(format!(
                "serried: rank {rank} has moved after all; the verdict above is void\n"
            )));
        }
        told.end_at.filter(|&at| now >= at).map(|_| Finding::End)
    }
}

/// Those who seem to be stuck, and what moves when they do.
fn stamps(ranks: &[Standing]) -> Vec<(u32, [u64; 4])> {
    let stamp = |rank: u32| ranks[rank as usize].description().map(|described| (rank, described.stamp));
    graph::stuck(ranks).into_iter().filter_map(stamp).collect()
}

/// Those who were stuck before, are still, and have not moved.
fn confirmed(suspicion: &Suspicion, ranks: &[Standing]) -> Vec<u32> {
    let stuck = graph::stuck(ranks);
    let still = |rank: &u32| {
        let stamp = ranks[*rank as usize].description().map(|described| described.stamp);
        suspicion.stuck.iter().any(|(known, before)| known == rank && Some(*before) == stamp)
    };
    // A rank that waits for one that has moved may be free now: then nobody is judged.
    match stuck.iter().all(still) {
        true => stuck,
        false => Vec::new(),
    }
}

/// Puts descriptions with stacks in the place of those without; `false` if one of these ranks has
/// moved. A rank that has not answered in time is told without.
fn take_stacks(ranks: &mut [Standing], with_stacks: Vec<Standing>) -> bool {
    for (rank, standing) in with_stacks.into_iter().enumerate() {
        let Some(stamp) = standing.description().map(|described| described.stamp) else { continue };
        if ranks[rank].description().is_some_and(|before| before.stamp != stamp) {
            return false;
        }
        ranks[rank] = standing;
    }
    true
}
