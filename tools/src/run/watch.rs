//! Watching the job for ranks that cannot go on.
//!
//! Twice a second the launcher looks at the ranks' pages. Ranks that have waited for
//! a second in one call are asked what they wait for; if some of them are stuck by
//! the graph of all waits, they are asked once more a moment later, and nothing may
//! have moved in between. Whoever had finalized is taken from before the first
//! question, so that what it had sent before has been seen by the second.

use super::options::OnDeadlock;
use crate::why::ask::Round;
use crate::why::explain::{self, Job};
use crate::why::graph::{self, Standing};
use crate::why::sources::Sources;
use serried_engine::job::{NodeSegment, NodeView};
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
/// Such calls between two looks; fewer may be a program that computes as well.
const POLLS: u64 = 1000;
/// How long to wait for answers.
const ANSWERS: Duration = Duration::from_secs(1);
/// How often to look for answers.
const GLANCE: Duration = Duration::from_millis(10);
/// Between two questions, nothing may move.
const PAUSE: Duration = Duration::from_millis(300);
/// When to ask again although nothing has changed: at first, and at most.
const AGAIN: Duration = Duration::from_secs(2);
const AGAIN_AT_MOST: Duration = Duration::from_secs(32);
/// How long a verdict has to stand before a job with ranks that poll is ended.
const DOUBT: Duration = Duration::from_secs(10);

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
    seen: Vec<Seen>,
    stage: Stage,
    /// Ranks that had been waiting when the ranks were asked last.
    asked_for: Vec<(u32, u64)>,
    ask_again: Instant,
    patience: Duration,
    told: Option<Told>,
}

/// What was seen of a rank.
#[derive(Clone, Copy)]
struct Seen {
    calls: u64,
    polls: u64,
    since: Instant,
    polling: bool,
}

/// Who is suspected, by the first answers.
struct Suspicion {
    gone: Vec<u32>,
    stuck: Vec<(u32, [u64; 4])>,
}

enum Stage {
    Looking,
    First { gone: Vec<u32>, round: Round, until: Instant },
    Pausing(Suspicion),
    Second { suspicion: Suspicion, round: Round, until: Instant },
    Stacks { ranks: Vec<Standing>, stuck: Vec<u32>, round: Round, until: Instant },
}

/// A verdict that was told.
struct Told {
    /// The ranks, and the number of the call that each was in.
    ranks: Vec<(u32, u64)>,
    end_at: Option<Instant>,
}

impl Watch {
    /// A watch over the job in `node`; `None` if it is not wanted or not possible.
    pub fn new(node: &NodeSegment, mode: OnDeadlock, now: Instant) -> Option<Watch> {
        if mode == OnDeadlock::Off {
            return None;
        }
        let view = NodeView::open(node.descriptor().as_fd(), true).ok()?;
        let fresh = Seen { calls: 0, polls: 0, since: now, polling: false };
        let seen = vec![fresh; view.local_ranks() as usize];
        let (next, stage) = (now + LOOK, Stage::Looking);
        Some(Watch {
            view,
            mode,
            next,
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
                    self.suspect(gone, &round.ranks, now);
                }
            }
            Stage::Pausing(suspicion) => {
                let round =
                    Round::begin(&self.view, false, &self.candidates(now_nanoseconds), &suspicion.gone);
                self.stage = Stage::Second { suspicion, round, until: now + 2 * ANSWERS };
                self.next = now + GLANCE;
            }
            Stage::Second { suspicion, mut round, until } => {
                if !round.collect(&self.view) && now < until {
                    self.stage = Stage::Second { suspicion, round, until };
                    self.next = now + GLANCE;
                    return None;
                }
                self.next = now + LOOK;
                let stuck = confirmed(&suspicion, &round.ranks);
                if stuck.iter().any(|&rank| !self.is_told(rank)) {
                    let ranks = round.ranks;
                    let round = Round::begin(&self.view, true, &stuck, &suspicion.gone);
                    self.stage = Stage::Stacks { ranks, stuck, round, until: now + ANSWERS };
                    self.next = now + GLANCE;
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
        let candidates = self.candidates(now_nanoseconds);
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
        let round = Round::begin(&self.view, false, &candidates, &gone);
        self.stage = Stage::First { gone, round, until: now + ANSWERS };
        self.next = now + GLANCE;
        None
    }

    /// Notes who calls nothing but what finds nothing.
    fn see(&mut self, now: Instant) {
        for (rank, seen) in self.seen.iter_mut().enumerate() {
            let page = self.view.page(rank as u32);
            let (calls, polls) = (page.moves(), page.idle_polls());
            let polled = polls.wrapping_sub(seen.polls);
            // A poll under way is counted when it ends.
            let same = calls.abs_diff(seen.calls) <= 1;
            *seen = match same && polled >= POLLS {
                true => Seen { polls, polling: true, ..*seen },
                false => {
                    Seen { calls: if same { seen.calls } else { calls }, polls, since: now, polling: false }
                }
            };
        }
    }

    /// The ranks that have done nothing but waiting or polling for long.
    fn candidates(&self, now_nanoseconds: u64) -> Vec<u32> {
        let waits = |rank: u32| {
            let page = self.view.page(rank);
            let since = page.call.waiting_since.load(Relaxed);
            since != 0 && u128::from(now_nanoseconds.saturating_sub(since)) >= WAIT.as_nanos()
        };
        let polls = |rank: u32| {
            let seen = &self.seen[rank as usize];
            seen.polling && seen.since.elapsed() >= POLLING
        };
        let running = |rank: &u32| self.view.page(*rank).state() == State::Running;
        (0..self.view.local_ranks()).filter(running).filter(|&rank| waits(rank) || polls(rank)).collect()
    }

    fn suspect(&mut self, gone: Vec<u32>, ranks: &[Standing], now: Instant) {
        let stamp = |rank: u32| ranks[rank as usize].description().map(|described| (rank, described.stamp));
        let stuck: Vec<_> = graph::stuck(ranks).into_iter().filter_map(stamp).collect();
        self.next = now + LOOK;
        if stuck.iter().any(|&(rank, _)| !self.is_told(rank)) {
            self.stage = Stage::Pausing(Suspicion { gone, stuck });
            self.next = now + PAUSE;
        }
    }

    fn is_told(&self, rank: u32) -> bool {
        self.told.as_ref().is_some_and(|told| told.ranks.iter().any(|&(known, _)| known == rank))
    }

    fn judge(&mut self, job: &Job, stuck: &[u32], now: Instant) -> Option<Finding> {
        let new: Vec<u32> = stuck.iter().copied().filter(|&rank| !self.is_told(rank)).collect();
        if new.is_empty() {
            return None;
        }
        let polls =
            stuck.iter().any(|&rank| job.ranks[rank as usize].description().is_some_and(|it| it.polls));
        let end_at = match self.mode {
            OnDeadlock::Abort if polls => Some(now + DOUBT),
            OnDeadlock::Abort => Some(now),
            _ => None,
        };
        let mut text = match &self.told {
            None => explain::verdict(job, &new),
            Some(_) => explain::more(job, &new),
        };
        text += match (end_at, &self.told) {
            (Some(at), _) if at == now => "  The job is ended (--on-deadlock=abort).\n",
            (Some(_), _) => "  The job is ended if nothing moves within 10 s (--on-deadlock=abort).\n",
            (None, None) => "  The job goes on; --on-deadlock=abort would end it.\n",
            (None, Some(_)) => "",
        };
        let number = |rank: u32| (rank, self.view.page(rank).sequence() >> 1);
        let numbered = |rank: u32| match job.ranks[rank as usize].description() {
            Some(description) if description.polls => (rank, u64::MAX),
            _ => number(rank),
        };
        let told = self.told.get_or_insert(Told { ranks: Vec::new(), end_at });
        told.ranks.extend(new.into_iter().map(numbered));
        Some(Finding::Tell(text))
    }

    /// Whether somebody whom a verdict named has moved after all, or it is time to end the job.
    fn look_at_told(&mut self, now: Instant) -> Option<Finding> {
        let told = self.told.as_ref()?;
        let moved = |&&(rank, number): &&(u32, u64)| match number {
            u64::MAX => !self.seen[rank as usize].polling,
            number => self.view.page(rank).sequence() >> 1 != number,
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

/// Those who were stuck before, are still, and have not moved.
fn confirmed(suspicion: &Suspicion, ranks: &[Standing]) -> Vec<u32> {
    let stuck = graph::stuck(ranks);
    let still = |rank: &u32| {
        let stamp = ranks[*rank as usize].description().map(|described| described.stamp);
        suspicion.stuck.iter().any(|(known, before)| known == rank && Some(*before) == stamp)
    };
    // Who waits for one that has moved may be free now: then nobody is judged.
    match stuck.iter().all(still) {
        true => stuck,
        false => Vec::new(),
    }
}

/// Puts descriptions with stacks in the place of those without; `false` if one of
/// these ranks has moved. Who has not answered in time is told without.
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
