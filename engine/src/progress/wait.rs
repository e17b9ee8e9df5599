//! The pace of a wait: how long to spin before sleeping.

use super::partner::Place;
use super::{clock, Crowd};
use crate::observe::events::{self, Kind};
use crate::observe::{page::add_together, Page};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Looks with which a wait begins where every rank has a core: some microseconds, as long as a short message takes.
const FIRST_LOOKS: u32 = 64;
/// Looks between two readings of the clock. What a look takes differs fourfold between processors.
const LOOKS_BY_THE_CLOCK: u32 = 64;
/// Nanoseconds of looking before sleeping where every rank has a core: more than waking takes, and less than anyone notices.
const PATIENCE: u64 = 100_000;
/// Where ranks may have to share cores a wait consists of turns: some looks, then
/// the core is offered to others (`sched_yield`). Whoever takes it may be the one
/// that is waited for, and a sleep and a wake are saved; nothing depends on it.
/// Looks of a turn while nobody needs the core: about a microsecond.
const LOOKS_OF_A_TURN: u32 = 20;
/// The same while others need it.
const LOOKS_IN_A_CROWD: u32 = 4;
/// The same while the one that is waited for is at work on another core: some microseconds, longer than a short message
/// takes there and back. Two ranks that answer each other keep both of their cores so until their time is up; if one of them
/// gives its core up, the other one waits for all who share it.
const LOOKS_FOR_A_PARTNER: u32 = 400;
/// The same while all of those that are waited for are on other cores, and one of them at work.
const LOOKS_FOR_OTHER_CORES: u32 = 200;
/// Turns before sleeping while nobody needs the core, some tens of microseconds.
const TURNS: u32 = 100;
/// The same while others need it.
const TURNS_IN_A_CROWD: u32 = 30;
/// Nanoseconds of a turn after which no other is worth it: whoever has taken the
/// core computes, and a sleeper gets it back sooner when it is woken.
const LONG_TURN: u64 = 1_000_000;

/// A wait of this many nanoseconds is long.
const LONG_WAIT: u64 = 100_000_000;

/// Whether a rank has been waiting for long, in the call that it is in.
pub fn waits_long(page: &Page) -> bool {
    let since = page.call.waiting_since.load(Relaxed);
    since != 0 && clock::nanoseconds().saturating_sub(since) > LONG_WAIT
}

/// One wait.
#[derive(Debug, Default)]
pub struct Pace {
    /// Since when it has outlasted its first looks, where every rank has a core.
    began: u64,
    /// Since when it has outlasted its first spin.
    since: u64,
}

impl Pace {
    /// A sleep ends after this many nanoseconds at the latest. Nothing depends
    /// on it but a peer that was killed between its message and its ring.
    pub const LONGEST_SLEEP: u64 = 1_000_000_000;

    /// How often a receive may look for its message before it begins to wait.
    #[inline]
    pub fn looks(crowd: &Crowd) -> u32 {
        match crowd.can_be() {
            false => LOOKS_FOR_A_PARTNER,
            true if crowd.is_here() => match crowd.partner().place() {
                // Nobody in particular: it may be a rank that needs this core, if ranks share it.
                None if crowd.shares() => LOOKS_IN_A_CROWD,
                None => LOOKS_FOR_A_PARTNER,
                Some(Place::AtWork) => LOOKS_FOR_A_PARTNER,
                // Rather soon, as the third rank may wait for one that is here.
                Some(Place::Behind) => LOOKS_IN_A_CROWD,
                Some(Place::Here) => 1,
            },
            true => LOOKS_OF_A_TURN,
        }
    }

    /// A wait that has just begun.
    #[inline]
    pub fn new() -> Pace {
        Pace::default()
    }

    /// The same for a wait for several ranks. If one of them is `here`, it needs this core; if all are on others,
    /// looking on is worth while as long as one of them is `at_work`.
    #[inline]
    pub fn looks_for_many(crowd: &Crowd, here: impl FnOnce() -> bool, at_work: impl FnOnce() -> bool) -> u32 {
        match crowd.is_here() {
            false => LOOKS_OF_A_TURN,
            true if here() => 1,
            true if at_work() => LOOKS_FOR_OTHER_CORES,
            true => LOOKS_IN_A_CROWD,
        }
    }

    /// Looks until something has come (`true`) or it is time to sleep. Where ranks
    /// may share cores, `looks` says how often before the core is offered to others.
    #[inline]
    pub fn spin(&mut self, crowd: &Crowd, looks: impl Fn(&Crowd) -> u32, come: impl Fn() -> bool) -> bool {
        if crowd.can_be() {
            return self.take_turns(crowd, looks, come);
        }
        look(FIRST_LOOKS, &come) || self.look_on(crowd, come)
    }

    /// The same with a core for each rank, after the first looks: not at all where such waits have been long lately, and are
    /// better slept through.
    #[inline(never)]
    fn look_on(&mut self, crowd: &Crowd, come: impl Fn() -> bool) -> bool {
        let now = clock::nanoseconds();
        if self.began == 0 {
            self.began = now;
        }
        if crowd.slowdown().expects_sleep(now) {
            return false;
        }
        while clock::nanoseconds() - now < PATIENCE {
            if look(LOOKS_BY_THE_CLOCK, &come) {
                return true;
            }
        }
        false
    }

    fn take_turns(&mut self, crowd: &Crowd, looks: impl Fn(&Crowd) -> u32, come: impl Fn() -> bool) -> bool {
        let mut began = clock::nanoseconds();
        crowd.look_again_at(began);
        let turns = if crowd.is_here() { TURNS_IN_A_CROWD } else { TURNS };
        for _ in 0..turns {
            if look(looks(crowd), &come) {
                return true;
            }
            crowd.in_vain();
            // SAFETY: no memory is involved.
            unsafe { libc::sched_yield() };
            let now = clock::nanoseconds();
            if now - began > LONG_TURN {
                break;
            }
            began = now;
        }
        come()
    }

    /// Notes on the page that this wait has outlasted its first spin.
    #[cold]
    pub fn has_spun(&mut self, crowd: &Crowd, page: &Page) {
        let now = clock::nanoseconds();
        crowd.look_again_at(now);
        if self.since == 0 {
            self.since = now;
            self.began = if self.began == 0 { now } else { self.began };
            page.call.waiting_since.store(self.since, Relaxed);
            page.call.waiters.fetch_add(1, SeqCst);
        }
    }

    /// Notes on the page that this wait becomes a sleep; `false` if it shall not, since sleeping is bounded.
    #[cold]
    pub fn begin_sleep(&self, crowd: &Crowd, page: &Page) -> bool {
        if !crowd.slowdown().may_sleep(self.began, clock::nanoseconds()) {
            return false;
        }
        add_together(&page.counters.sleeps, 1);
        events::raise(Kind::Sleep, [page.counters.sleeps.load(Relaxed), 0, 0, 0]);
        events::tell();
        true
    }

    /// Since when it has outlasted its first spin, as on the page.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// The wait is over.
    #[inline]
    pub fn end(&self, crowd: &Crowd, page: &Page) {
        if self.began != 0 {
            self.end_long(crowd, page);
        }
    }

    #[cold]
    fn end_long(&self, crowd: &Crowd, page: &Page) {
        let now = clock::nanoseconds();
        crowd.slowdown().has_waited(now - self.began);
        if self.since != 0 {
            if page.call.waiters.fetch_sub(1, SeqCst) == 1 {
                page.call.waiting_since.store(0, Relaxed);
            }
            let waited = now - self.since;
            add_together(&page.counters.waiting_nanoseconds, waited);
            events::raise(Kind::Wake, [waited, 0, 0, 0]);
        }
    }
}

#[inline]
fn look(times: u32, come: &impl Fn() -> bool) -> bool {
    for _ in 0..times {
        if come() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}
