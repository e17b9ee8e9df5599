//! The calls of a rank, or of one of its threads, as its page tells them.
//!
//! # What a call costs
//! Between the arrival of a message and the answer to it stand the end of a receive
//! and the beginning of a send: one store each. The rest is written when the message
//! is on its way, or before its coming is waited for: there a rank has time.

use super::recorder::{Entry, Recorded, Recorder};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// In `Record::now`: the name; each thread has a record of its own, and this one is at
/// rest; inside a call; its entry is the recorder's last; a tool listens.
const NAME: u32 = 0xffff;
pub(super) const ELSEWHERE: u32 = 1 << 28;
const INSIDE: u32 = 1 << 29;
const RECORDED: u32 = 1 << 30;
const LISTENED: u32 = 1 << 31;

/// The call that a rank is in, or was in last, and those before. Several threads have a
/// record each (see `observe::threads`).
#[repr(C, align(64))]
pub struct Record {
    /// Calls that the recorder has: the one with number `n` is its `n`th.
    recorded: AtomicU64,
    /// 0 outside of any call, else [`INSIDE`], the name of the call, and whether it is
    /// the recorder's last ([`RECORDED`]). A call that nobody has said anything about
    /// is recorded when it ends.
    pub(super) now: AtomicU32,
    /// Calls that asked for something (`MPI_Test`, `MPI_Iprobe` …) which was not
    /// there.
    pub idle_polls: AtomicU64,
    /// Looks at the clock (`MPI_Wtime`): a loop that polls until some time is over
    /// ends by itself.
    pub clock_reads: AtomicU64,
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
        match now {
            0 => recorded * 2,
            now if now & RECORDED != 0 => (recorded * 2).saturating_sub(1),
            _ => recorded * 2 + 1,
        }
    }

    fn now(&self) -> u32 {
        self.now.load(Acquire) & !ELSEWHERE
    }

    /// Marks the beginning of a call. Gives what [`Record::leave`] needs: the call around
    /// it, of this thread, whose code MPI has called, or of another; 0 if none is. If it
    /// has [`ELSEWHERE`], nothing is marked.
    #[inline(always)]
    pub(super) fn enter(&self, name: u32) -> u32 {
        let around = self.now.load(Relaxed);
        if around & ELSEWHERE == 0 {
            self.now.store(INSIDE | name, Relaxed);
        }
        around
    }

    /// [`Record::leave`] shall say that this call was listened to.
    pub(super) fn listen(&self) {
        self.now.store(self.now.load(Relaxed) | LISTENED, Relaxed);
    }

    /// Marks the end of a call; whether it was listened to.
    #[inline(always)]
    pub(super) fn leave(&self, around: u32) -> bool {
        self.leave_or(around, |now| self.leave_otherwise(now, around))
    }

    /// As [`Record::leave`], and something else if it was listened to, nobody has said
    /// anything about it, or it is marked [`ELSEWHERE`].
    #[inline(always)]
    pub(super) fn leave_or(&self, around: u32, otherwise: impl FnOnce(u32) -> bool) -> bool {
        let now = self.now.load(Relaxed);
        // One comparison.
        if (now as i32) < RECORDED as i32 {
            return otherwise(now);
        }
        self.now.store(around, Relaxed);
        false
    }

    /// The end of a call that nobody has said anything about, or that was listened to.
    #[cold]
    pub(super) fn leave_otherwise(&self, now: u32, around: u32) -> bool {
        // Another thread's call, around this one, has ended before and taken the mark
        // with it.
        if now == 0 {
            return false;
        }
        if now & RECORDED == 0 {
            self.next().what.store(u64::from(now & NAME), Relaxed);
        }
        self.now.store(around, Relaxed);
        now & LISTENED != 0
    }

    /// The entry for the call that the thread is in.
    #[inline(always)]
    fn next(&self) -> &Entry {
        let recorded = self.recorded.load(Relaxed);
        self.recorded.store(recorded + 1, Relaxed);
        self.recorder.at(recorded)
    }

    /// Says whom the call is about, and how many bytes it moves; `communicator` is a
    /// context id. Whether it could: not where it is marked [`ELSEWHERE`].
    #[inline(always)]
    pub(super) fn about(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) -> bool {
        let now = self.now.load(Relaxed);
        let entry = if now & (RECORDED | ELSEWHERE) == 0 {
            self.now.store(now | RECORDED, Relaxed);
            self.next()
        } else if now & ELSEWHERE != 0 {
            return false;
        } else {
            self.recorder.at(self.recorded.load(Relaxed).wrapping_sub(1))
        };
        entry.about(now & NAME, communicator, peer, tag, bytes);
        true
    }

    /// What grows whenever the thread does anything but waiting, or calling what
    /// fails; it may be one less for a moment.
    pub fn moves(&self) -> u64 {
        let calls = (self.sequence() >> 1).wrapping_sub(self.idle_polls.load(Relaxed));
        calls.wrapping_add(self.clock_reads.load(Relaxed).wrapping_mul(2))
    }

    /// Calls are noted elsewhere from now on, beginning with the one that is under way.
    pub(super) fn move_to(&self, other: &Record) {
        other.now.store(self.now.load(Relaxed) & !RECORDED, Relaxed);
        self.now.store(ELSEWHERE, Release); // threads: paired with `Page::records`
    }

    /// The name of the call that the thread is in.
    #[inline]
    pub fn name(&self) -> u32 {
        self.now.load(Relaxed) & NAME
    }

    /// The call that the thread is in, or was in last; `None` before the first.
    pub fn current(&self) -> Option<Recorded> {
        let now = self.now();
        let last = self.recorded.load(Acquire).checked_sub(1).map(|last| self.recorder.read(last));
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
