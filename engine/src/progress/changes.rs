//! Changing the memory of a rank by atomic instructions, one word at a time, or many words alone and so by vectors.
//!
//! # Protocol
//! A rank that changes words of a rank says so in a word of its own, looks whether somebody changes many alone, and waits if so.
//! One that wants to be alone takes the rank's lock, says so, and waits until nobody changes words there. Each needs a barrier
//! between its store and its look. Who is alone issues it for both (`progress::barrier`), so words cost no barrier, where
//! the system has that; else each issues its own. If somebody changes words for long (it has lost its core, perhaps),
//! nobody is alone: words are changed one at a time then.
//!
//! What was said stays said: whoever is alone next needs the lock and nothing else. It ends when a rank wants to change a word;
//! that one takes the lock for it.
//!
//! A rank that fails meanwhile is succeeded by whoever waits for it.
//!
//! # Ownership
//! `changing` is written by its rank only: by one thread at a time, for its threads take `threads` before. `alone` is
//! written under `lock`.

use super::barrier;
use super::sleeping_lock::{Held, SleepingLock};
use crate::sync::{fence, AtomicU32, Ordering};

/// Looks until nobody changes words, and then turns of other processes.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 2000 };
const TURNS: u32 = if cfg!(loom) { 1 } else { 20 };

/// What a rank has for it in shared memory. Zero: nobody changes anything.
#[derive(Debug)]
#[repr(C)]
pub struct Words {
    /// 1 + number of the rank whose words this one changes, or 0.
    changing: AtomicU32,
    /// Not 0: who has the lock changes this rank's memory alone. While nobody has it: no word is being changed.
    alone: AtomicU32,
    /// Held by who does, and by who changes elements that are no words.
    lock: SleepingLock,
    /// Of the threads of this rank, the one that changes words.
    threads: SleepingLock,
    /// Not 0: this rank has failed, and changes nothing any more.
    failed: AtomicU32,
    /// Words in rows that this rank has changed since it last wanted to be alone.
    in_rows: AtomicU32,
    /// How many pieces of this rank's memory are changed by instructions although their address does not tell.
    hidden: AtomicU32,
}

impl Words {
    /// Says that the rank has failed: its process has ended.
    pub fn note_failure(&self) {
        self.failed.store(1, Ordering::Release); // failed: paired with `has_failed`
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire) != 0 // failed: paired with `note_failure`
    }
}

#[cfg(any(test, loom))]
impl Words {
    /// Nobody changes anything.
    pub fn new() -> Words {
        Words {
            changing: AtomicU32::new(0),
            alone: AtomicU32::new(0),
            lock: SleepingLock::new(),
            threads: SleepingLock::new(),
            failed: AtomicU32::new(0),
            in_rows: AtomicU32::new(0),
            hidden: AtomicU32::new(0),
        }
    }
}

#[cfg(any(test, loom))]
impl Default for Words {
    fn default() -> Words {
        Words::new()
    }
}

/// How this rank changes the memory of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Changes {
    /// The number of this rank.
    pub me: u32,
    /// Of this rank.
    pub own: &'static Words,
    /// Of the one whose memory is changed.
    pub target: &'static Words,
    /// Its number.
    pub number: u32,
    /// Of all ranks that may change it.
    pub all: &'static [&'static Words],
    /// Barriers of other ranks reach this process.
    pub spared: bool,
}

/// This process alone changes memory of a rank until it is dropped: all elements, words or not.
#[derive(Debug)]
pub struct Alone {
    _held: Held<'static>,
}

impl Changes {
    /// Takes the lock for elements that are no words.
    pub fn lock(&self) -> Held<'static> {
        let held = self.target.lock.lock(self.me, |rank| self.all[rank as usize].has_failed());
        if held.succeeds {
            self.target.alone.store(0, Ordering::Release); // was-alone: paired with `begin`
        }
        held
    }

    /// From now on words may be changed by instructions in memory of the rank of which nobody knows that by its address.
    pub fn hide_words(&self) {
        self.target.hidden.fetch_add(1, Ordering::SeqCst); // hidden: paired with `hides_words`
                                                           // Who has looked before has the lock, or will look again when it has.
        drop(self.lock());
    }

    /// No more.
    pub fn hide_no_words(&self) {
        self.target.hidden.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether there is such memory. Who has the lock, and has seen that there is none, need not be alone.
    pub fn hides_words(&self) -> bool {
        self.target.hidden.load(Ordering::SeqCst) != 0 // hidden: paired with `hide_words`
    }

    /// Changes words. `threaded`: several threads of this rank may do so.
    #[inline]
    pub fn words<T>(&self, threaded: bool, work: impl FnOnce() -> T) -> T {
        let _alone = threaded.then(|| self.own.threads.lock(self.me, |_| false));
        while !self.begin() {
            self.wait();
        }
        let done = work();
        self.own.changing.store(0, Ordering::Release); // changed: paired with `alone`
        done
    }

    /// Says that words are changed; `false` if somebody is alone there.
    #[inline]
    fn begin(&self) -> bool {
        self.own.changing.store(1 + self.number, Ordering::Relaxed);
        match self.spared {
            true => barrier::counterpart(),
            false => fence(Ordering::SeqCst), // alone-or-not: paired with `alone`
        }
        self.target.alone.load(Ordering::Acquire) == 0 // was-alone: paired with `alone`
    }

    /// Waits until nobody is alone, and says so.
    #[cold]
    fn wait(&self) {
        self.own.changing.store(0, Ordering::Release);
        // It sleeps behind who is alone.
        let _held = self.lock();
        self.target.alone.store(0, Ordering::Release); // was-alone: paired with `begin`
    }

    /// Whether so many words in a row had better be changed alone: they are `many` together with those of the last calls, or
    /// nobody changes words there anyway.
    #[inline]
    pub fn is_worth_being_alone(&self, count: usize, many: usize) -> bool {
        if self.target.alone.load(Ordering::Relaxed) != 0 {
            return true;
        }
        let in_rows = self.own.in_rows.load(Ordering::Relaxed).saturating_add(count as u32);
        let is_worth_it = in_rows as usize >= many;
        self.own.in_rows.store(if is_worth_it { 0 } else { in_rows }, Ordering::Relaxed);
        is_worth_it
    }

    /// Changes many words while nobody else changes any; `None`, and nothing is done, if that cannot be had soon.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        self.be_alone().map(|_alone| work())
    }

    /// From now on nobody else changes anything there, until the answer is dropped; `None` if that cannot be had soon.
    pub fn be_alone(&self) -> Option<Alone> {
        let alone = Alone { _held: self.lock() };
        if self.target.alone.load(Ordering::Relaxed) != 0 {
            return Some(alone);
        }
        self.target.alone.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // alone-or-not: paired with `begin`
        let all_see = !self.spared || barrier::everywhere();
        if all_see && self.all.iter().all(|rank| self.is_over(rank)) {
            return Some(alone);
        }
        self.target.alone.store(0, Ordering::Release); // was-alone: paired with `begin`
        None
    }

    /// Waits until a rank changes no words there; `false`: too long.
    fn is_over(&self, rank: &Words) -> bool {
        // changed: paired with `words`
        let is_over = || rank.changing.load(Ordering::Acquire) != 1 + self.number || rank.has_failed();
        for _ in 0..LOOKS {
            if is_over() {
                return true;
            }
            std::hint::spin_loop();
        }
        (0..TURNS).any(|_| {
            offer_core();
            is_over()
        })
    }
}

#[cfg(not(loom))]
fn offer_core() {
    std::thread::yield_now();
}

#[cfg(loom)]
fn offer_core() {
    loom::thread::yield_now();
}
