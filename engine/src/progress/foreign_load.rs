//! Whether other programs load the cores, learned from what sleeps have cost.
//!
//! On an idle machine a sleeper is back within microseconds of the ring. Where other programs load the cores it gets its
//! core back when their time slices end, milliseconds later; and the sender, who waits for the answer meanwhile, sleeps
//! too. Ranks wait then as in a crowd, although each of them may have a core: a rank whose partner is on another core
//! looks on and keeps its time slice, and exchanges thousands of messages while both have a core; a rank whose partner is
//! on this core offers it at once, and moves if that goes on.
//!
//! One rule finds out: *a sleep that took longer to end than the ring took to come was dearer than looking on would have
//! been*. It is believed for a hundred times as long as the sleeper was late. So what it costs to find out again that a load
//! goes on stays below one percent, and a sleeper that was a little late on an idle machine is soon forgotten: one that then
//! waits as in a crowd hardly sleeps, and would learn nothing more from sleeps.

use crate::clock;
use crate::sync::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A dear sleep is believed for so many times as long as it was late.
const BELIEVED: u64 = 100;
/// Looks from one reading of the clock to the next.
const LOOKS: u32 = 64;
/// A sleep of fewer nanoseconds says nothing: something came just before it.
const NO_SLEEP: u64 = 20_000;

/// As a rank feels it.
#[derive(Debug, Default)]
pub struct ForeignLoad {
    /// Until when it is believed; 0: none is felt.
    until: AtomicU64,
    looks: AtomicU32,
}

impl ForeignLoad {
    /// Whether sleeps have been dear lately.
    #[inline]
    pub fn is_felt(&self) -> bool {
        self.until.load(Relaxed) != 0 && self.is_believed()
    }

    /// Whether it still is. The clock is read now and then: where a load is felt, each wait asks several times.
    fn is_believed(&self) -> bool {
        let looks = self.looks.load(Relaxed).wrapping_add(1);
        self.looks.store(looks, Relaxed);
        if looks.is_multiple_of(LOOKS) {
            self.forget_at(clock::nanoseconds());
        }
        self.until.load(Relaxed) != 0
    }

    /// What was learned is believed no more if its time is over.
    fn forget_at(&self, now: u64) {
        if self.until.load(Relaxed) <= now {
            self.until.store(0, Relaxed);
        }
    }

    /// A sleep has ended that began at `slept`; the ring came at `rung`, or in an earlier sleep if nobody has rung.
    /// Nanoseconds of one clock.
    pub fn learn(&self, slept: u64, rung: u64, awake: u64) {
        if awake.saturating_sub(slept) < NO_SLEEP {
            return;
        }
        let Some(missing) = rung.checked_sub(slept) else { return };
        let late = awake.saturating_sub(rung);
        if late > missing {
            self.until.fetch_max(awake + BELIEVED * late, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dear_sleep_shows_a_load_for_a_hundred_times_as_long() {
        let load = ForeignLoad::default();
        assert!(!load.is_felt());
        // Rung after 20 us, awake 3 ms later.
        load.learn(1_000_000, 1_020_000, 4_020_000);
        assert!(load.is_felt());
        load.forget_at(304_019_999);
        assert!(load.is_felt());
        load.forget_at(304_020_000);
        assert!(!load.is_felt());
    }

    #[test]
    fn what_was_learned_long_ago_is_forgotten_without_another_sleep() {
        let load = ForeignLoad::default();
        load.learn(1_000_000, 1_010_000, 1_050_000);
        assert!((0..=LOOKS).any(|_| !load.is_felt()), "it asks no clock");
    }

    #[test]
    fn a_sleep_that_is_worth_it_or_that_nobody_ended_or_that_has_hardly_begun_says_nothing() {
        let load = ForeignLoad::default();
        // Rung after 8 ms, awake 50 us later.
        load.learn(1_000_000, 9_000_000, 9_050_000);
        load.learn(5_000_000, 1_020_000, 1_005_000_000);
        load.learn(1_000_000, 1_000_001, 1_010_000);
        assert!(!load.is_felt());
    }
}
