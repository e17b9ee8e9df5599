//! Whether other programs load the cores, learned from what sleeps have cost.
//!
//! On an idle machine a sleeper is back within microseconds of the ring. Where other programs load the cores it gets its
//! core back when their time slices end, milliseconds later; and the sender, who waits for the answer meanwhile, sleeps
//! too. Ranks wait then as in a crowd, although each of them may have a core: a rank whose partner is on another core
//! looks on and keeps its time slice, and exchanges thousands of messages while both have a core; a rank whose partner is
//! on this core offers it at once, and moves if that goes on.
//!
//! One rule finds out: *a sleep that took longer to end than the ring took to come was dearer than looking on would have
//! been*. A few sleeps that were not end it.

use crate::sync::{AtomicU32, Ordering::Relaxed};

/// Sleeps that were not dear, one after the other, until the load is taken to be over.
const SLEEPS: u32 = 16;
/// A sleep of fewer nanoseconds says nothing: something came just before it.
const NO_SLEEP: u64 = 20_000;

/// As a rank feels it.
#[derive(Debug, Default)]
pub struct ForeignLoad {
    /// Sleeps until it is over; 0: none is felt.
    left: AtomicU32,
}

impl ForeignLoad {
    /// Whether sleeps have been dear lately.
    #[inline]
    pub fn is_felt(&self) -> bool {
        self.left.load(Relaxed) != 0
    }

    /// A sleep has ended that began at `slept`; the ring came at `rung`, or in an earlier sleep if nobody has rung.
    /// Nanoseconds of one clock.
    pub fn learn(&self, slept: u64, rung: u64, awake: u64) {
        if awake.saturating_sub(slept) < NO_SLEEP {
            return;
        }
        let missing = rung.checked_sub(slept);
        let was_dear = missing.is_some_and(|missing| awake.saturating_sub(rung) > missing);
        let left = if was_dear { SLEEPS } else { self.left.load(Relaxed).saturating_sub(1) };
        self.left.store(left, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dear_sleep_shows_a_load_and_cheap_ones_end_it() {
        let load = ForeignLoad::default();
        assert!(!load.is_felt());
        // Rung after 20 us, awake 3 ms later.
        load.learn(1_000_000, 1_020_000, 4_020_000);
        assert!(load.is_felt());
        // Rung after 8 ms, awake 50 us later.
        (1..SLEEPS).for_each(|_| load.learn(1_000_000, 9_000_000, 9_050_000));
        assert!(load.is_felt());
        load.learn(1_000_000, 9_000_000, 9_050_000);
        assert!(!load.is_felt());
    }

    #[test]
    fn a_sleep_that_nobody_ended_is_not_dear_and_one_that_has_hardly_begun_says_nothing() {
        let load = ForeignLoad::default();
        load.learn(5_000_000, 1_020_000, 1_005_000_000);
        assert!(!load.is_felt());
        load.learn(1_000_000, 1_000_001, 1_010_000);
        assert!(!load.is_felt());
    }
}
