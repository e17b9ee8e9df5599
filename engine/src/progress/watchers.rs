//! Waiting until another rank changes one's memory.
//!
//! # Protocol
//! A rank that waits counts itself in, looks once more, and sleeps at its doorbell. A rank that changes memory looks whether
//! somebody waits there, and rings then. Each needs a barrier between its store and its look. The one who waits issues
//! it for both ([`barrier::everywhere`]), so that a change costs no barrier where the system has that; else each issues
//! its own. Stores that ring no bell (of others, through an address that they were given; of threads of the same process) are
//! seen after a nap: see [`nap_after`].

use super::{barrier, Doorbell};
use crate::sync::{fence, AtomicU32, Ordering};

/// Nanoseconds of the shortest nap, and what part of a wait a nap lasts.
const SHORTEST_NAP: u64 = 1_000_000;
const PART_OF_A_WAIT: u64 = 16;

/// Nanoseconds after which memory is looked at again where a change may come without a bell, after a wait of so many. So
/// a change is seen late by a small part of the wait, and who waits for long hardly wakes.
pub fn nap_after(waited: u64) -> u64 {
    (waited / PART_OF_A_WAIT).max(SHORTEST_NAP)
}

/// What a rank has for it in shared memory. Zero: nobody waits.
#[derive(Debug)]
#[repr(C)]
pub struct Watchers {
    /// How many of its threads sleep until its memory changes.
    asleep: AtomicU32,
    /// Not 0: another rank has been given an address by which it stores there.
    pointed: AtomicU32,
}

impl Watchers {
    /// Nobody waits.
    #[cfg(any(test, loom))]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Watchers {
        Watchers { asleep: AtomicU32::new(0), pointed: AtomicU32::new(0) }
    }

    /// Is about to sleep; looks once more after this. `false`: a change may come without a bell.
    pub fn lie_down(&self) -> bool {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst); // watched-or-not: paired with `Bell::changed`
        barrier::everywhere() && self.pointed.load(Ordering::Relaxed) == 0
    }

    /// Sleeps no more.
    pub fn get_up(&self) {
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// From now on another rank may store there without a bell.
    pub fn point(&self) {
        self.pointed.store(1, Ordering::Relaxed);
    }
}

/// How this rank tells another that its memory has changed.
#[derive(Clone, Copy, Debug)]
pub struct Bell {
    /// Of the one whose memory changes.
    pub watchers: &'static Watchers,
    /// The same.
    pub doorbell: &'static Doorbell,
    /// Barriers of other ranks reach this process.
    pub spared: bool,
}

impl Bell {
    /// Memory has been changed.
    #[inline]
    pub fn changed(&self) {
        match self.spared {
            true => barrier::counterpart(),
            false => fence(Ordering::SeqCst), // watched-or-not: paired with `Watchers::lie_down`
        }
        if self.watchers.asleep.load(Ordering::Acquire) != 0 {
            self.doorbell.ring();
        }
    }
}
