//! The end of a job that does not end by itself: first asked (SIGTERM), then
//! forced (SIGKILL), everything below the launcher.

use super::descendants::signal_all;
use super::verdict::Failure;
use std::time::{Duration, Instant};

const MOMENT: Duration = Duration::from_millis(300);
const SECOND: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(20);

/// Why a job is ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// A rank failed.
    Failure(Failure),
    /// A program could not be executed.
    CannotStart,
    /// The time allowed is over.
    Timeout,
    /// The user sent this signal, which has been passed on.
    Signal(i32),
    /// Ranks are stuck, and the user wants the job to end then.
    Deadlock,
    /// Nobody reads the output any more.
    OutputClosed,
    /// The ranks have ended; what they left behind has not.
    Leftovers,
}

/// An end under way.
#[derive(Debug)]
pub struct Ending {
    /// Why.
    pub reason: Reason,
    began: Instant,
    ask_at: Option<Instant>,
    force_at: Instant,
}

impl Ending {
    /// Begins to end the job now.
    pub fn begin(reason: Reason, now: Instant) -> Ending {
        let (ask_after, force_after) = match reason {
            Reason::Failure(failure) if failure.patient => (MOMENT, MOMENT + SECOND),
            Reason::Signal(libc::SIGINT) => (SECOND, 2 * SECOND),
            Reason::Signal(_) => (5 * SECOND, 10 * SECOND),
            _ => (Duration::ZERO, SECOND),
        };
        Ending { reason, began: now, ask_at: Some(now + ask_after), force_at: now + force_after }
    }

    /// Forces the end now; a repetition right after the beginning is taken for
    /// the same wish (a terminal and `timeout` may both send it).
    pub fn hurry(&mut self, now: Instant) {
        if now.duration_since(self.began) > MOMENT {
            self.force_at = now;
        }
    }

    /// Does what is due; call at every turn of the loop.
    pub fn tick(&mut self, now: Instant) {
        if now >= self.force_at {
            signal_all(libc::SIGKILL);
            self.ask_at = None;
            self.force_at = now + AGAIN;
        } else if self.ask_at.is_some_and(|at| now >= at) {
            signal_all(libc::SIGTERM);
            self.ask_at = None;
        }
    }

    /// When something is due next.
    pub fn deadline(&self) -> Instant {
        self.ask_at.map_or(self.force_at, |ask| ask.min(self.force_at))
    }

    /// The exit status that this reason stands for, if it has one.
    pub fn status(&self) -> Option<i32> {
        match self.reason {
            Reason::Failure(failure) => Some(failure.status()),
            Reason::CannotStart => Some(127),
            Reason::Timeout => Some(124),
            Reason::Deadlock => Some(123),
            Reason::OutputClosed => Some(128 + libc::SIGPIPE),
            Reason::Signal(_) | Reason::Leftovers => None,
        }
    }
}
