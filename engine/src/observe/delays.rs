//! How long ranks of a node were late because they had slept.
//!
//! At each moment a job is delayed by one rank. So the time in which *any* rank of the node was late is an upper bound for what
//! the job has lost there: times that overlap count once. The account is closed
//! every second, so a long time without waits gives nothing away to what comes after.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds that an account is open.
const ACCOUNT: u64 = 1_000_000_000;

/// The account of a node, in shared memory. Zero: nothing has been lost.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Account {
    /// When it was opened.
    opened: AtomicU64,
    /// Nanoseconds in which a rank was late, since then.
    lost: AtomicU64,
    /// Up to when such times have been counted.
    counted: AtomicU64,
}

impl Account {
    /// A rank was late from `rung` to `awake`.
    pub fn lose(&self, rung: u64, awake: u64) {
        let counted = self.counted.fetch_max(awake, Relaxed);
        self.lost.fetch_add(awake.saturating_sub(rung.max(counted)), Relaxed);
    }

    /// What part of `percent` of the time that it has been open, up to `now`, is used if `more` is lost: 1 is all of it.
    pub fn used(&self, percent: f64, now: u64, more: u64) -> f64 {
        let opened = self.opened.load(Relaxed);
        let open = now.saturating_sub(opened);
        if open > ACCOUNT && self.opened.compare_exchange(opened, now, Relaxed, Relaxed).is_ok() {
            self.lost.store(0, Relaxed);
            return f64::INFINITY;
        }
        (self.lost.load(Relaxed) + more) as f64 / (open as f64 * percent / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_overlap_count_once() {
        let account = Account::default();
        account.lose(100, 150);
        account.lose(120, 160);
        account.lose(130, 140);
        account.lose(1000, 1010);
        assert_eq!(account.lost.load(Relaxed), 70);
    }
}
