//! A bound on what sleeping may cost a job (`serried run --max-slowdown P`).
//!
//! A rank that sleeps takes no CPU time, but is late when it is rung: it has to wake first. With a bound of P percent, the
//! ranks of a node are late for P percent of the time at most, all together.
//!
//! A wait is worth a sleep if being late for it keeps the bound by itself: with 5 percent, if it is twenty times as long as
//! waking. It is taken to be so if waits of its kind have been so long lately, and once it has lasted so long. Until then a
//! rank spins. Whatever it expects, it sleeps only if the [`Account`] of its node allows one more time of being late.

use crate::observe::delays::Account;
use crate::observe::Page;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds that waking is taken to need before one has been measured.
const WAKING: u64 = 50_000;
/// Of the waits of a kind, this many of the last count.
const LAST: u64 = 4;
/// Kinds of waits that are told apart: by the call that waits.
const KINDS: usize = 64;

/// The bound, as a rank keeps it.
pub struct Slowdown {
    /// None: there is no bound.
    percent: Option<f64>,
    account: &'static Account,
    page: &'static Page,
    /// What waking has taken lately.
    waking: AtomicU64,
    /// How long the waits of each kind have been lately.
    waits: [AtomicU64; KINDS],
}

impl std::fmt::Debug for Slowdown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slowdown").field("percent", &self.percent).finish_non_exhaustive()
    }
}

impl Slowdown {
    /// A bound of so many percent for a rank, or none.
    pub fn new(percent: Option<f64>, account: &'static Account, page: &'static Page) -> Slowdown {
        let waits = std::array::from_fn(|_| AtomicU64::new(0));
        Slowdown { percent, account, page, waking: AtomicU64::new(WAKING), waits }
    }

    /// Whether there is one.
    #[inline]
    fn is_bounded(&self) -> bool {
        self.percent.is_some()
    }

    /// Whether this rank, which has waited since `began`, may sleep now.
    pub fn may_sleep(&self, began: u64, now: u64) -> bool {
        let Some(percent) = self.percent else { return true };
        let waking = self.waking.load(Relaxed);
        let wait = self.kind().load(Relaxed).max(now.saturating_sub(began));
        let is_worth_it = wait as f64 * percent / 100.0 >= waking as f64;
        is_worth_it && self.account.allows(percent, now, waking)
    }

    /// The wait that this rank is in has taken so many nanoseconds.
    pub fn has_waited(&self, nanoseconds: u64) {
        if self.is_bounded() {
            average(self.kind(), nanoseconds);
        }
    }

    /// This rank slept when it was rung at `rung`, and was late until `awake`.
    pub fn was_late(&self, rung: u64, awake: u64) {
        if self.is_bounded() {
            average(&self.waking, awake - rung);
            self.account.lose(rung, awake);
        }
    }

    fn kind(&self) -> &AtomicU64 {
        &self.waits[self.page.own().name() as usize % KINDS]
    }
}

/// The average of the last values.
fn average(of: &AtomicU64, value: u64) {
    of.store(((LAST - 1) * of.load(Relaxed) + value) / LAST, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn slowdown(percent: f64) -> Slowdown {
        // SAFETY: a page is made of atomic integers, for which zero is a value.
        let page: &'static Page = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
        Slowdown::new(Some(percent), Box::leak(Box::default()), page)
    }

    /// Whoever asks for sleep at the worst times: each wait ends just after the sleep has begun.
    #[test]
    fn an_adversary_cannot_exceed_the_bound() {
        for percent in [0.5, 5.0, 20.0] {
            let (rank, mut now, mut late) = (slowdown(percent), 5_000_000_000, 0);
            let began = now;
            let mut state = 12345u64;
            while now < began + 20 * SECOND {
                now += 3_000; // what the wait looks in any case
                rank.has_waited(1_000_000_000);
                if !rank.may_sleep(now - 3_000, now) {
                    continue;
                }
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let waking = 5_000 + (state >> 33) % 90_000;
                rank.was_late(now, now + waking);
                (now, late) = (now + waking, late + waking);
            }
            let share = 100.0 * late as f64 / (now - began) as f64;
            assert!(share <= percent * 1.02 && share > percent / 2.0, "{share} of {percent} percent");
        }
    }

    #[test]
    fn long_waits_are_known_by_those_before_them_or_by_their_length() {
        let (rank, now) = (slowdown(5.0), SECOND / 2);
        assert!(!rank.may_sleep(now, now));
        assert!(rank.may_sleep(now - 20 * WAKING, now), "it has lasted twenty times as long as waking takes");
        (0..20).for_each(|_| rank.has_waited(10_000_000));
        assert!(rank.may_sleep(now, now));
        (0..20).for_each(|_| rank.has_waited(20_000));
        assert!(!rank.may_sleep(now, now));
    }

    #[test]
    fn without_a_bound_a_rank_may_sleep_and_with_none_percent_it_never_does() {
        let page = slowdown(1.0).page;
        assert!(Slowdown::new(None, Box::leak(Box::default()), page).may_sleep(7, 7));
        let never = slowdown(0.0);
        assert!(!(1..100).any(|part| never.may_sleep(0, part * SECOND / 10)));
    }
}
