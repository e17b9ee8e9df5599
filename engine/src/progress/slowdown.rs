//! What sleeping costs, and whether a wait is worth it; a bound on it (`serried run --max-slowdown P`).
//!
//! A rank that sleeps takes no CPU time, but is late when it is rung: it has to wake first. A wait is worth a sleep if it is
//! longer than waking by far. That is known from the last waits of the same call that have outlasted their first looks; or
//! from this one, once it has lasted so long.
//!
//! With a bound of P percent, the ranks of a node are late for P percent of the time at most, all together: the [`Account`] of
//! the node says what is left. While much is left, sleeps are cheap, and waits of little more than waking are worth one. As
//! less is left, their price rises, up to that of a wait that keeps the bound by itself. If nothing is left, ranks spin.

use crate::observe::delays::Account;
use crate::observe::Page;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds that waking is taken to need before one has been measured.
const WAKING: u64 = 50_000;
/// Nobody wakes in less.
const LEAST_WAKING: u64 = 1000;
/// Of the values that are averaged, this many of the last count.
const LAST: u64 = 4;
/// With a bound of which nothing is used.
const CHEAP: f64 = 2.0;
/// Kinds of waits that are told apart: by the call that waits.
const KINDS: usize = 64;

/// What a rank knows of its waits, and the bound that it keeps.
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

    /// Whether this rank, whose wait has outlasted its first looks, had better sleep at once. Without a bound it spins first:
    /// nothing would bound what wrong expectations cost.
    pub fn expects_sleep(&self, now: u64) -> bool {
        self.percent.is_some_and(|percent| self.is_worth_it(percent, self.kind().load(Relaxed), now))
    }

    /// Whether this rank, which has waited since `began` and has looked for long enough, may sleep now.
    pub fn may_sleep(&self, began: u64, now: u64) -> bool {
        let wait = self.kind().load(Relaxed).max(now.saturating_sub(began));
        self.percent.is_none_or(|percent| self.is_worth_it(percent, wait, now))
    }

    /// Whether a wait of so many nanoseconds is worth a sleep at this time.
    fn is_worth_it(&self, percent: f64, wait: u64, now: u64) -> bool {
        let waking = self.waking.load(Relaxed);
        let used = self.account.used(percent, now, waking);
        let price = CHEAP.max(used * used * 100.0 / percent);
        used <= 1.0 && wait as f64 >= price * waking as f64
    }

    /// The wait that this rank is in has outlasted its first looks, and has taken so many nanoseconds.
    pub fn has_waited(&self, nanoseconds: u64) {
        average(self.kind(), nanoseconds);
    }

    /// This rank slept when it was rung at `rung`, and was late until `awake`.
    pub fn was_late(&self, rung: u64, awake: u64) {
        // A rank that was late for once, and believes it, would not sleep any more and so not learn better.
        let most = 2 * self.waking.load(Relaxed);
        average(&self.waking, (awake - rung).clamp(LEAST_WAKING, most));
        if self.percent.is_some() {
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

    fn slowdown(percent: Option<f64>) -> Slowdown {
        // SAFETY: a page is made of atomic integers, for which zero is a value.
        let page: &'static Page = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
        Slowdown::new(percent, Box::leak(Box::default()), page)
    }

    /// Whoever asks for sleep at the worst times: each wait ends just after the sleep has begun.
    #[test]
    fn an_adversary_cannot_exceed_the_bound() {
        for percent in [0.5, 5.0, 20.0] {
            let (rank, mut now, mut late) = (slowdown(Some(percent)), 5_000_000_000, 0);
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
        let (rank, now) = (slowdown(Some(5.0)), SECOND / 2);
        assert!(!rank.may_sleep(now, now));
        assert!(
            rank.may_sleep(now - 2 * WAKING, now),
            "of what is allowed nothing is used: sleeps are cheap"
        );
        (0..20).for_each(|_| rank.has_waited(10_000_000));
        assert!(rank.may_sleep(now, now) && rank.expects_sleep(now));
        (0..20).for_each(|_| rank.has_waited(20_000));
        assert!(!rank.may_sleep(now, now));
    }

    #[test]
    fn a_sleep_is_the_dearer_the_less_is_left() {
        let (rank, now) = (slowdown(Some(5.0)), SECOND / 2);
        let longest = |rank: &Slowdown| (1..=20).find(|times| rank.may_sleep(now - times * WAKING, now));
        assert_eq!(longest(&rank), Some(2));
        rank.account.lose(0, SECOND / 80);
        assert_eq!(longest(&rank), Some(6), "half of 25 ms is used");
        rank.account.lose(SECOND / 80, SECOND / 40);
        assert_eq!(longest(&rank), None);
    }

    #[test]
    fn without_a_bound_a_rank_sleeps_when_it_has_spun() {
        let rank = slowdown(None);
        (0..20).for_each(|_| rank.has_waited(SECOND));
        assert!(rank.may_sleep(7, 7) && !rank.expects_sleep(7));
    }

    #[test]
    fn to_be_late_once_is_no_rule() {
        let (rank, now) = (slowdown(Some(5.0)), SECOND / 2);
        (0..20).for_each(|_| rank.has_waited(3 * WAKING));
        rank.was_late(0, 100);
        assert!(rank.expects_sleep(now));
        average(&rank.waking, WAKING);
        let before = rank.waking.load(Relaxed);
        rank.was_late(now, now + SECOND / 100);
        assert!(rank.waking.load(Relaxed) <= before * 5 / 4);
    }

    #[test]
    fn with_no_percent_a_rank_never_sleeps() {
        let never = slowdown(Some(0.0));
        assert!(!(1..100).any(|part| never.may_sleep(0, part * SECOND / 10)));
    }
}
