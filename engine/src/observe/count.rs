//! Counting: by plain stores while one thread counts, and together once several do.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Whether calls are noted at all: a build that does not shows what it costs.
pub const OBSERVED: bool = !cfg!(feature = "unobserved");

/// Several threads of this process may count at once.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// From now on several threads may count at once.
pub fn several_count() {
    SEVERAL.store(true, Relaxed);
}

/// Adds to a counter that nobody else writes now: no locked instruction.
#[inline]
pub fn add(counter: &AtomicU64, amount: u64) {
    if OBSERVED {
        counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
    }
}

/// Adds to a counter to which other threads of this process may add.
#[inline]
pub fn add_together(counter: &AtomicU64, amount: u64) {
    if OBSERVED {
        count(counter, amount);
    }
}

#[inline]
fn count(counter: &AtomicU64, amount: u64) {
    if SEVERAL.load(Relaxed) {
        counter.fetch_add(amount, Relaxed);
    } else {
        counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
    }
}

/// What one of several parts of this rank contributes to a sum on the page.
#[derive(Debug, Default)]
pub struct Share(u64);

impl Share {
    /// It is `now`.
    #[inline]
    pub fn tell(&mut self, sum: &AtomicU64, now: u64) {
        count(sum, now.wrapping_sub(self.0));
        self.0 = now;
    }
}

/// Moves a count that nobody else writes now to a sum to which others add as well.
#[inline]
pub(super) fn move_count(counter: &AtomicU64, sum: &AtomicU64) {
    let amount = counter.load(Relaxed);
    if amount != 0 {
        counter.store(0, Relaxed);
        sum.fetch_add(amount, Relaxed);
    }
}
