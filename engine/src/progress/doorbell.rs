//! The doorbell: one word in shared memory on which a rank sleeps.
//!
//! # Protocol
//! The sleeper stores 1 (SeqCst), looks once more for work, and sleeps in the
//! kernel while the word is 1. A rank that has published work (SeqCst) reads the word
//! and, if it is 1, stores 0 and wakes. Of the two orders one is true: either
//! the sleeper sees the work, or the publisher sees the 1. While nobody sleeps
//! a publisher only reads a word that stays in its cache.
//!
//! A rank that spins long before it sleeps may promise to issue the barriers of
//! both sides itself ([`Doorbell::promise_barriers`]). Publishers that it reaches
//! (`barrier::register`) then publish with a plain release store. The promise is
//! never taken back; a rank that has not seen it yet issues a barrier too many.
//!
//! A doorbell may be counted ([`Doorbell::count_in`]): a counter in the same
//! segment then holds how many ranks of a group are awake. The word says in which group, so
//! each change of the word tells which counter it concerns, and counts stay right while a rank
//! goes from one group to another. A sleeper takes one away; whoever wakes it adds one, so a rank
//! that has been woken counts before it has got a core.
//!
//! A rank that waits for descriptors too (`sleeper`) does not sleep on the word but in a wait for these, of which one
//! is that of a socket; then who rings sends a datagram there as well.

use super::{barrier, clock, knock};
use crate::sync::{fence, AtomicI64, AtomicU32, AtomicU64, Futex, Ordering};

/// Of the word: the rank sleeps. Above it are one and the number of its group, or 0.
const ASLEEP: u32 = 1;

/// One per rank, in its transport area. Zero: awake, and not counted.
#[derive(Debug)]
#[repr(C)]
pub struct Doorbell {
    word: Futex,
    /// 1: the owner issues the barriers of both sides before it sleeps.
    promised: AtomicU32,
    /// Bytes from here to the counter of group 0; 0: there are no counters.
    counters: AtomicI64,
    /// Bytes from the counter of a group to that of the next.
    apart: AtomicI64,
    /// The name of the owner's socket; zero: it waits for no descriptors.
    knocker: [AtomicU64; 2],
    /// When somebody has last woken it, by the clock of the machine in nanoseconds.
    rung: AtomicU64,
}

impl Doorbell {
    /// A doorbell outside shared memory, for tests.
    pub fn new() -> Doorbell {
        let (word, promised) = (Futex::new(), AtomicU32::new(0));
        let (counters, apart) = (AtomicI64::new(0), AtomicI64::new(0));
        let knocker = [AtomicU64::new(0), AtomicU64::new(0)];
        Doorbell { word, promised, counters, apart, knocker, rung: AtomicU64::new(0) }
    }

    /// The owner will wait for a socket of this name when it sleeps. It has not slept so far.
    pub fn knock_at(&self, name: knock::Name) {
        self.knocker.iter().zip(name).for_each(|(place, word)| place.store(word, Ordering::SeqCst));
    }

    /// The owner will issue the barriers of publishers from now on. Only where
    /// [`barrier::everywhere`] works.
    pub fn promise_barriers(&self) {
        self.promised.store(1, Ordering::SeqCst);
    }

    /// Whether a publisher that `barrier::register` has registered may do without
    /// a barrier before [`Doorbell::ring`].
    #[inline]
    pub fn has_promised(&self) -> bool {
        // Acquire: the word is read after this, so it shows a sleep that began before the promise.
        self.promised.load(Ordering::Acquire) != 0
    }

    /// Where ranks are counted: the counter of group 0, and by how many bytes those of two groups
    /// that follow each other are apart.
    ///
    /// # Safety
    /// The counters of all groups that [`Doorbell::count_in`] is given must live as long as the
    /// doorbell and lie at the same distance from it in all processes: in the same segment.
    pub unsafe fn count_at(&self, first: &AtomicU32, apart: usize) {
        let distance = (first as *const AtomicU32 as i64) - (self as *const Doorbell as i64);
        self.apart.store(apart as i64, Ordering::Relaxed);
        self.counters.store(distance, Ordering::Relaxed);
    }

    /// Counts this rank in a group from now on, or in none. It must have been told before where.
    pub fn count_in(&self, group: Option<u32>) {
        let counted = group.map_or(0, |group| (group + 1) << 1);
        let mut word = self.word.word().load(Ordering::Relaxed);
        loop {
            let next = word & ASLEEP | counted;
            match self.word.word().compare_exchange(word, next, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if word & ASLEEP == 0 {
            self.count(word, u32::MAX);
            self.count(counted, 1);
        }
    }

    /// How many ranks of this rank's group are awake.
    #[inline]
    pub fn awake(&self) -> u32 {
        let counter = self.counter(self.word.word().load(Ordering::Relaxed));
        // For a moment a counter may be below what is true, and even below 0.
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed) as i32).max(0) as u32
    }

    /// The counter of the group that a word names.
    #[inline]
    fn counter(&self, word: u32) -> Option<&AtomicU32> {
        let group = i64::from((word >> 1).checked_sub(1)?);
        let distance = self.counters.load(Ordering::Relaxed) + group * self.apart.load(Ordering::Relaxed);
        let place = (self as *const Doorbell).cast::<u8>().wrapping_offset(distance as isize);
        // SAFETY: `count_at` demands that the counters lie there in all processes, and a group is
        // named only after it.
        Some(unsafe { &*place.cast::<AtomicU32>() })
    }

    /// Adds to the counter of the group that a word names.
    fn count(&self, word: u32, amount: u32) {
        if let Some(counter) = self.counter(word) {
            counter.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Wakes all threads that sleep here; costs a system call only if one does.
    #[inline]
    pub fn ring(&self) {
        // doorbell: paired with `sleep_unless`
        if self.word.word().load(Ordering::SeqCst) & ASLEEP != 0 {
            self.rung.store(clock::nanoseconds(), Ordering::Relaxed);
            self.wake();
        }
    }

    /// When somebody has last rung while the owner slept; nanoseconds.
    pub fn rung_at(&self) -> u64 {
        self.rung.load(Ordering::Relaxed)
    }

    #[cold]
    fn wake(&self) {
        if self.wake_at_word() {
            let name = [0, 1].map(|index: usize| self.knocker[index].load(Ordering::Relaxed));
            if name != [0; 2] {
                knock::knock(name);
            }
        }
    }

    /// Wakes the threads that sleep on the word; whether any thread slept, there or beside descriptors.
    #[cold]
    pub(super) fn wake_at_word(&self) -> bool {
        let word = self.word.word().fetch_and(!ASLEEP, Ordering::SeqCst);
        if word & ASLEEP != 0 {
            self.count(word, 1);
            self.word.wake_all();
        }
        word & ASLEEP != 0
    }

    /// Sleeps until rung, unless `work` says that there is something to do.
    /// May return early; the caller looks again in any case. `limit` in
    /// nanoseconds bounds the sleep.
    pub fn sleep_unless(&self, work: impl FnOnce() -> bool, limit: Option<u64>) {
        self.sleep(work, |word, asleep| word.sleep_while(asleep, limit), Doorbell::wake);
    }

    /// The same for a thread that is the only one to sleep here: it has nobody to wake when it wakes by itself.
    pub fn nap_unless(&self, work: impl FnOnce() -> bool, limit: u64) {
        self.sleep(work, |word, asleep| word.sleep_while(asleep, Some(limit)), |_| ());
    }

    /// The same for the thread that waits for the socket: it sleeps in `rest`. The others stay asleep: the caller wakes
    /// them with [`Doorbell::wake_at_word`]. It does not knock, for the knock would end its own next sleep, and so on
    /// for ever.
    pub fn rest_unless(&self, work: impl FnOnce() -> bool, rest: impl FnOnce()) {
        self.sleep(work, |_, _| rest(), |_| ());
    }

    /// Sleeps in `rest`, which gets the word and what it is while nobody has rung. `wake` wakes all others that sleep.
    fn sleep(
        &self,
        work: impl FnOnce() -> bool,
        rest: impl FnOnce(&Futex, u32),
        wake: impl FnOnce(&Doorbell),
    ) {
        // doorbell: paired with `ring`
        let word = self.word.word().fetch_or(ASLEEP, Ordering::SeqCst);
        if word & ASLEEP == 0 {
            self.count(word, u32::MAX);
        }
        fence(Ordering::SeqCst);
        if self.has_promised() && !barrier::everywhere() {
            // It worked when it was promised: a sandbox entered since. Without
            // the barrier a ring may be missed, so this is no sleep but a nap.
            std::thread::sleep(std::time::Duration::from_micros(50));
            return wake(self);
        }
        if work() {
            // Other threads of this process may sleep here as well: wake them,
            // for the word no longer says so.
            return wake(self);
        }
        rest(&self.word, word | ASLEEP);
        if self.word.word().load(Ordering::Relaxed) & ASLEEP != 0 {
            // Nobody has rung. Other threads that sleep here are woken with this one.
            wake(self);
        }
    }
}

impl Default for Doorbell {
    fn default() -> Self {
        Doorbell::new()
    }
}

#[cfg(test)]
impl Doorbell {
    /// Whether a thread sleeps here, or is about to.
    pub(super) fn has_sleepers(&self) -> bool {
        self.word.word().load(Ordering::SeqCst) & ASLEEP != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_sleeps_is_not_counted_and_one_that_was_rung_is() {
        let (counters, bell) = ([AtomicU32::new(0), AtomicU32::new(0)], Doorbell::new());
        // SAFETY: all live until the end of this test, in one process.
        unsafe { bell.count_at(&counters[0], size_of::<AtomicU32>()) };
        bell.count_in(Some(1));
        let seen = || [0, 1].map(|group: usize| counters[group].load(Ordering::Relaxed));
        let work = || {
            assert_eq!(seen(), [0, 0]);
            bell.ring();
            assert_eq!((seen(), bell.awake()), ([0, 1], 1));
            true
        };
        bell.sleep_unless(work, None);
        bell.sleep_unless(|| false, Some(1000));
        assert_eq!(seen(), [0, 1]);
        bell.count_in(Some(0));
        assert_eq!(seen(), [1, 0]);
        let changes_group = || {
            bell.count_in(Some(1));
            assert_eq!(seen(), [0, 0]);
            true
        };
        bell.sleep_unless(changes_group, None);
        assert_eq!(seen(), [0, 1]);
        bell.count_in(None);
        assert_eq!(seen(), [0, 0]);
    }

    use std::sync::atomic::AtomicU64;
    use std::sync::Arc;

    #[test]
    fn no_ring_is_lost_between_two_threads() {
        ring_to_and_fro(Ordering::SeqCst, |_| ());
    }

    #[test]
    fn no_ring_is_lost_when_the_sleeper_issues_the_barriers() {
        if barrier::register() {
            ring_to_and_fro(Ordering::Release, Doorbell::promise_barriers);
        }
    }

    fn ring_to_and_fro(publish: Ordering, prepare: impl Fn(&Doorbell)) {
        let shared = Arc::new((Doorbell::new(), AtomicU64::new(0), Doorbell::new(), AtomicU64::new(0)));
        prepare(&shared.0);
        prepare(&shared.2);
        let other = Arc::clone(&shared);
        let rounds = 20_000;
        let thread = std::thread::spawn(move || {
            for round in 1..=rounds {
                while other.1.load(Ordering::SeqCst) < round {
                    other.0.sleep_unless(|| other.1.load(Ordering::SeqCst) >= round, None);
                }
                other.3.store(round, publish);
                barrier::counterpart();
                other.2.ring();
            }
        });
        for round in 1..=rounds {
            shared.1.store(round, publish);
            barrier::counterpart();
            shared.0.ring();
            while shared.3.load(Ordering::SeqCst) < round {
                shared.2.sleep_unless(|| shared.3.load(Ordering::SeqCst) >= round, None);
            }
        }
        thread.join().unwrap();
    }
}
