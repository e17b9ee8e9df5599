//! The call that a rank is in, as its page tells it.
//!
//! # What a call costs
//! Between the arrival of a message and the answer to it stand the end of a receive
//! and the beginning of a send: one store each. The rest is written when the message
//! is on its way, or before its coming is waited for: there a rank has time.

use super::page::{Page, OBSERVED};
use super::recorder::{Entry, Recorded};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// In `Call::now`: the name; inside a call; its entry is the recorder's last; a tool
/// listens.
const NAME: u32 = 0xffff;
const INSIDE: u32 = 1 << 29;
const RECORDED: u32 = 1 << 30;
const LISTENED: u32 = 1 << 31;

/// The call that this rank is in, or was in last. What it is about stands in the
/// recorder ([`Page::current`]).
#[repr(C, align(64))]
pub struct Call {
    /// Calls that the recorder has: the one with number `n` is its `n`th.
    pub(super) recorded: AtomicU64,
    /// 0 outside of any call, else [`INSIDE`], the name of the call, and whether it is
    /// the recorder's last ([`RECORDED`]). A call that nobody has said anything about
    /// is recorded when it ends.
    pub(super) now: AtomicU32,
    /// 1 while it copies a message that is longer than a packet.
    pub copying: AtomicU32,
    /// `CLOCK_MONOTONIC` nanoseconds since when it waits in this call; 0 while
    /// it does not wait. Written only when a wait outlasts its first spin.
    pub waiting_since: AtomicU64,
    /// Threads whose wait has outlasted its first spin; all of them write it.
    pub waiters: AtomicU32,
    /// Calls that asked for something (`MPI_Test`, `MPI_Iprobe` …) which was not
    /// there.
    pub idle_polls: AtomicU64,
    /// Looks at the clock (`MPI_Wtime`): a loop that polls until some time is over
    /// ends by itself.
    pub clock_reads: AtomicU64,
}

impl Page {
    /// Counts calls by twos; odd inside of one.
    pub fn sequence(&self) -> u64 {
        let (mut recorded, mut now);
        loop {
            recorded = self.call.recorded.load(Acquire);
            now = self.call.now.load(Acquire);
            if self.call.recorded.load(Relaxed) == recorded {
                break;
            }
        }
        match now {
            0 => recorded * 2,
            now if now & RECORDED != 0 => (recorded * 2).saturating_sub(1),
            _ => recorded * 2 + 1,
        }
    }

    /// Marks the beginning of a call. Gives what [`Page::leave`] needs: the call around
    /// it, of this thread, whose code MPI has called, or of another; 0 if none is.
    #[inline(always)]
    pub fn enter(&self, name: u32) -> u32 {
        if !OBSERVED {
            return 0;
        }
        let around = self.call.now.load(Relaxed);
        self.call.now.store(INSIDE | name, Relaxed);
        around
    }

    /// [`Page::leave`] shall say that this call was listened to.
    pub fn listen(&self) {
        self.call.now.store(self.call.now.load(Relaxed) | LISTENED, Relaxed);
    }

    /// Marks the end of a call; whether it was listened to.
    #[inline(always)]
    pub fn leave(&self, around: u32) -> bool {
        if !OBSERVED {
            return false;
        }
        let now = self.call.now.load(Relaxed);
        // One comparison: it is recorded, and nobody listens.
        if (now as i32) < RECORDED as i32 {
            return self.leave_otherwise(now, around);
        }
        self.call.now.store(around, Relaxed);
        false
    }

    /// The end of a call that nobody has said anything about, or that was listened to.
    #[cold]
    fn leave_otherwise(&self, now: u32, around: u32) -> bool {
        // Another thread's call, around this one, has ended before and taken the mark
        // with it.
        if now == 0 {
            return false;
        }
        if now & RECORDED == 0 {
            self.next().what.store(u64::from(now & NAME), Relaxed);
        }
        self.call.now.store(around, Relaxed);
        now & LISTENED != 0
    }

    /// The entry for the call that the rank is in.
    #[inline(always)]
    fn next(&self) -> &Entry {
        let recorded = self.call.recorded.load(Relaxed);
        self.call.recorded.store(recorded + 1, Relaxed);
        self.recorder.at(recorded)
    }

    /// Says whom the call is about, and how many bytes it moves; `communicator`
    /// is a context id.
    #[inline(always)]
    pub fn about(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        if OBSERVED {
            let now = self.call.now.load(Relaxed);
            let entry = if now & RECORDED == 0 {
                self.call.now.store(now | RECORDED, Relaxed);
                self.next()
            } else {
                self.recorder.at(self.call.recorded.load(Relaxed).wrapping_sub(1))
            };
            entry.about(now & NAME, communicator, peer, tag, bytes);
        }
    }

    /// What grows whenever the rank does anything but waiting, or calling what
    /// fails; it may be one less for a moment.
    pub fn moves(&self) -> u64 {
        let call = &self.call;
        let calls = (self.sequence() >> 1).wrapping_sub(call.idle_polls.load(Relaxed));
        calls.wrapping_add(call.clock_reads.load(Relaxed).wrapping_mul(2))
    }

    /// The name of the call that the rank is in.
    #[inline]
    pub fn name(&self) -> u32 {
        self.call.now.load(Relaxed) & NAME
    }

    /// The call that the rank is in, or was in last; `None` before the first.
    pub fn current(&self) -> Option<Recorded> {
        let now = self.call.now.load(Acquire);
        let last = self.call.recorded.load(Acquire).checked_sub(1).map(|last| self.recorder.read(last));
        match now & NAME {
            _ if now == 0 => last,
            // After a call within this one its entry is not the last any more.
            name => {
                last.filter(|last| now & RECORDED != 0 && last.name == name).or(Some(Recorded::of_name(name)))
            }
        }
    }

    /// The last calls, oldest first, with the one that the rank is in.
    pub fn last_calls(&self) -> Vec<Recorded> {
        let now = self.call.now.load(Acquire);
        let mut calls = self.recorder.last(self.call.recorded.load(Acquire));
        if now != 0 && now & RECORDED == 0 {
            calls.push(Recorded::of_name(now & NAME));
        }
        calls
    }

    /// Whether the rank is inside a call.
    pub fn inside(&self) -> bool {
        self.call.now.load(Relaxed) != 0
    }
}
