//! The pace of a wait: how long to spin before sleeping.

use super::clock;
use crate::observe::{page::add, Page};
use crate::transport::Arrivals;
use std::sync::atomic::Ordering::Relaxed;

/// Looks at the mailbox before sleeping, a core to itself: some tens of
/// microseconds, more than a message takes and less than anyone notices.
const SPINS: u32 = 2000;
/// The same with more ranks than cores: hand the core over at once.
const SPINS_SHARED: u32 = 4;

/// One wait.
#[derive(Debug)]
pub struct Pace {
    spins: u32,
    since: u64,
}

impl Pace {
    /// A sleep ends after this many nanoseconds at the latest. Nothing depends
    /// on it but a peer that was killed between its message and its ring.
    pub const LONGEST_SLEEP: u64 = 1_000_000_000;

    /// How often a wait looks before it sleeps.
    #[inline]
    pub fn spins(oversubscribed: bool) -> u32 {
        if oversubscribed {
            SPINS_SHARED
        } else {
            SPINS
        }
    }

    /// A wait that has just begun.
    #[inline]
    pub fn new(oversubscribed: bool) -> Pace {
        Pace { spins: Pace::spins(oversubscribed), since: 0 }
    }

    /// Spins until something arrives (`true`) or it is time to sleep.
    #[inline]
    pub fn spin(&mut self, arrivals: &Arrivals) -> bool {
        for _ in 0..self.spins {
            if arrivals.any() {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Notes on the page that this wait has become a sleep.
    #[cold]
    pub fn begin_sleep(&mut self, page: &Page) {
        if self.since == 0 {
            self.since = clock::nanoseconds();
            page.call.waiting_since.store(self.since, Relaxed);
        }
        add(&page.counters.sleeps, 1);
    }

    /// The wait is over.
    #[inline]
    pub fn end(&self, page: &Page) {
        if self.since != 0 {
            page.call.waiting_since.store(0, Relaxed);
            add(&page.counters.waiting_nanoseconds, clock::nanoseconds() - self.since);
        }
    }
}
