//! The calls of a rank, or of one of its threads, as its page tells them.
//!
//! # What a call costs
//! Between the arrival of a message and the answer to it stand the end of a receive
//! and the beginning of a send: for each a comparison and a store. That of the beginning
//! is the one by which the entry knows that MPI runs. The rest is written when the
//! message is on its way, or before its coming is waited for: there a rank has time.
//!
//! Everything that a usual call need not know is looked at where a call is not usual: before MPI
//! and after it, within another call, with somebody who listens, with several threads.

use super::recorder::{Entry, Recorded, Recorder, ENTRY};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// In `Record::now`: the name; the call has not begun as usual; it shall not end as
/// usual; outside of any call, and the next is usual; each thread has a record of its
/// own, and this one is at rest; inside a call; its entry is the recorder's last; a tool
/// listens.
const NAME: u32 = 0xffff;
const UNUSUAL: u32 = 1 << 25;
const HELD: u32 = 1 << 26;
const READY: u32 = 1 << 27;
pub(super) const ELSEWHERE: u32 = 1 << 28;
const INSIDE: u32 = 1 << 29;
const RECORDED: u32 = 1 << 30;
const LISTENED: u32 = 1 << 31;

/// Records for threads.
pub(super) const THREADS: usize = 7;

/// How deep calls within calls are told rightly.
const DEPTH: usize = 8;

/// The call that a rank is in, or was in last, and those before. Several threads have a
/// record each (see `observe::threads`).
#[repr(C, align(64))]
pub struct Record {
    /// Bytes that the recorder has been given: [`ENTRY`] for each call.
    recorded: AtomicU64,
    /// 0 or [`READY`] outside of any call, else [`INSIDE`], the name of the call, and
    /// whether it is the recorder's last ([`RECORDED`]). A call that nobody has said
    /// anything about is recorded when it ends.
    pub(super) now: AtomicU32,
    /// How many calls are under way that have not begun as usual.
    depth: AtomicU32,
    /// Calls that asked for something (`MPI_Test`, `MPI_Iprobe` …) which was not
    /// there, and those that look at a status only.
    pub idle_polls: AtomicU64,
    /// Looks at the clock (`MPI_Wtime`): a loop that polls until some time is over
    /// ends by itself.
    pub clock_reads: AtomicU64,
    /// What was said before each call that has not begun as usual.
    around: [AtomicU32; DEPTH],
    /// What the calls were about.
    recorder: Recorder,
}

/// How the calls of a rank go on.
#[repr(C, align(64))]
pub struct Call {
    /// 1 while it copies a message that is longer than a packet.
    pub copying: AtomicU32,
    /// `CLOCK_MONOTONIC` nanoseconds since when it waits in this call; 0 while
    /// it does not wait. Written only when a wait outlasts its first spin.
    pub waiting_since: AtomicU64,
    /// Threads whose wait has outlasted its first spin; all of them write it.
    pub waiters: AtomicU32,
    /// 1 while it waits, from the first look on. With several threads it may be wrong.
    is_in_wait: AtomicU32,
}

/// As long as it lives, its rank is in a wait.
pub struct InWait<'a>(&'a Call);

impl Call {
    /// Whether the rank does nothing but wait, and so makes progress.
    pub fn is_in_wait(&self) -> bool {
        self.is_in_wait.load(Relaxed) != 0
    }

    /// A wait begins.
    #[inline]
    pub fn begin_wait(&self) -> InWait<'_> {
        self.is_in_wait.store(1, Relaxed);
        InWait(self)
    }
}

impl Drop for InWait<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_in_wait.store(0, Relaxed);
    }
}

impl Record {
    /// Counts calls by twos; odd inside of one.
    pub fn sequence(&self) -> u64 {
        let (mut recorded, mut now);
        loop {
            recorded = self.recorded.load(Acquire);
            now = self.now();
            if self.recorded.load(Relaxed) == recorded {
                break;
            }
        }
        let calls = recorded / ENTRY;
        match now {
            0 => calls * 2,
            now if now & RECORDED != 0 => (calls * 2).saturating_sub(1),
            _ => calls * 2 + 1,
        }
    }

    /// The call that the thread is in, 0 if it is in none.
    fn now(&self) -> u32 {
        match self.now.load(Acquire) {
            now if now & INSIDE != 0 => now,
            _ => 0,
        }
    }

    /// Marks the beginning of a usual call; `false`, and nothing is marked, if it is not.
    #[inline(always)]
    pub(super) fn enter_usual(&self, name: u32) -> bool {
        let usual = self.now.load(Acquire) == READY;
        if usual {
            self.now.store(INSIDE | name, Relaxed);
        }
        usual
    }

    /// Marks the beginning of any call; whether it is within another one, of this thread,
    /// whose code MPI has called, or of a thread that shares the record.
    pub(super) fn enter(&self, name: u32) -> bool {
        let around = self.now();
        let depth = if around == 0 { 0 } else { self.depth.load(Relaxed) };
        self.around[depth as usize % DEPTH].store(around, Relaxed);
        self.depth.store(depth + 1, Relaxed);
        self.now.store(INSIDE | UNUSUAL | name, Relaxed);
        around != 0
    }

    /// [`Record::leave`] shall say that this call was listened to.
    pub(super) fn listen(&self) {
        self.now.store(self.now.load(Relaxed) | LISTENED, Relaxed);
    }

    /// Calls are not usual from now on, until one is left where they may be.
    pub(super) fn hold_up(&self) {
        let now = self.now();
        self.now.store(if now == 0 { 0 } else { now | HELD }, Relaxed);
    }

    /// Marks the end of a call with this name, if it is usual and recorded; else `false`,
    /// and nothing is marked.
    #[inline(always)]
    pub(super) fn leave_usual(&self, name: u32) -> bool {
        let usual = self.now.load(Relaxed) == INSIDE | RECORDED | name;
        if usual {
            self.now.store(READY, Relaxed);
        }
        usual
    }

    /// The same of one that nobody has said anything about: it is recorded now.
    #[inline(always)]
    pub(super) fn leave_unrecorded(&self, name: u32) -> bool {
        let usual = self.now.load(Relaxed) == INSIDE | name;
        if usual {
            self.next().name(name);
            self.now.store(READY, Relaxed);
        }
        usual
    }

    /// Marks the end of any call; whether it was listened to. `ready`: where it was within
    /// no other, the next one may be usual.
    pub(super) fn leave(&self, ready: bool) -> bool {
        let now = self.now();
        // The call of a thread that shares the record has ended before and taken the
        // mark with it.
        if now == 0 {
            return false;
        }
        if now & RECORDED == 0 {
            self.next().name(now);
        }
        let mut around = 0;
        if now & UNUSUAL != 0 {
            let depth = self.depth.load(Relaxed).saturating_sub(1);
            self.depth.store(depth, Relaxed);
            around = self.around[depth as usize % DEPTH].load(Relaxed);
        }
        self.now.store(if around == 0 && ready { READY } else { around }, Relaxed);
        now & LISTENED != 0
    }

    /// The entry for the call that the thread is in.
    #[inline(always)]
    fn next(&self) -> &Entry {
        let recorded = self.recorded.load(Relaxed);
        self.recorded.store(recorded.wrapping_add(ENTRY), Relaxed);
        self.recorder.at(recorded)
    }

    /// Says whom the call is about, and how many bytes it moves; `communicator` is a
    /// context id. Whether it could: not where it is marked [`ELSEWHERE`].
    #[inline(always)]
    pub(super) fn about(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) -> bool {
        let now = self.now.load(Relaxed);
        if now & RECORDED == 0 {
            return self.about_first(communicator, peer, tag, bytes);
        }
        let last = self.recorder.at(self.recorded.load(Relaxed).wrapping_sub(ENTRY));
        last.about(now, communicator, peer, tag, bytes);
        true
    }

    /// As [`Record::about`], for who knows that nobody has said anything of this call.
    #[inline(always)]
    pub(super) fn about_first(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) -> bool {
        let now = self.now.load(Relaxed);
        if now & ELSEWHERE != 0 {
            return false;
        }
        self.now.store(now | RECORDED, Relaxed);
        self.next().about(now, communicator, peer, tag, bytes);
        true
    }

    /// A copy, for [`Record::take_over`].
    pub fn copy(&self) -> Record {
        // SAFETY: a record is made of atomics, for which zeros are a value.
        let copy: Record = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };
        copy.take_over(self);
        copy
    }

    /// Goes on with the calls of another record.
    pub fn take_over(&self, other: &Record) {
        self.recorder.take_over(&other.recorder);
        self.recorded.store(other.recorded.load(Relaxed), Relaxed);
        for (around, other) in self.around.iter().zip(&other.around) {
            around.store(other.load(Relaxed), Relaxed);
        }
        self.depth.store(other.depth.load(Relaxed), Relaxed);
        self.now.store(other.now.load(Relaxed), Relaxed);
    }

    /// What grows whenever the thread does anything but waiting, or calling what
    /// fails; it may be one less for a moment.
    pub fn moves(&self) -> u64 {
        let calls = (self.sequence() >> 1).wrapping_sub(self.idle_polls.load(Relaxed));
        calls.wrapping_add(self.clock_reads.load(Relaxed).wrapping_mul(2))
    }

    /// Calls are noted elsewhere from now on, beginning with the one that is under way.
    pub(super) fn move_to(&self, other: &Record) {
        if self.inside() {
            other.enter(self.name());
        }
        self.now.store(ELSEWHERE, Release); // threads: paired with `Page::records`
    }

    /// The name of the call that the thread is in.
    #[inline]
    pub fn name(&self) -> u32 {
        self.now() & NAME
    }

    /// The call that the thread is in, or was in last; `None` before the first.
    pub fn current(&self) -> Option<Recorded> {
        let now = self.now();
        let last = self.recorded.load(Acquire).checked_sub(ENTRY).map(|last| self.recorder.read(last));
        match now & NAME {
            _ if now == 0 => last,
            // After a call within this one its entry is not the last any more.
            name => {
                last.filter(|last| now & RECORDED != 0 && last.name == name).or(Some(Recorded::of_name(name)))
            }
        }
    }

    /// The last calls, oldest first, with the one that the thread is in.
    pub fn last_calls(&self) -> Vec<Recorded> {
        let now = self.now();
        let mut calls = self.recorder.last(self.recorded.load(Acquire));
        if now != 0 && now & RECORDED == 0 {
            calls.push(Recorded::of_name(now & NAME));
        }
        calls
    }

    /// Whether the thread is inside a call.
    pub fn inside(&self) -> bool {
        self.now() != 0
    }
}
