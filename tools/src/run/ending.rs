//! The end of a job that does not end by itself: first asked (SIGTERM), then
//! forced (SIGKILL), everything below the launcher.

use super::verdict::Failure;
use std::time::{Duration, Instant};

const MOMENT: Duration = Duration::from_millis(300);
const SECOND: Duration = Duration::from_secs(1);
/// Until those are forced again who were being made meanwhile; each time twice as long.
const AGAIN: Duration = Duration::from_millis(20);
const AGAIN_AT_MOST: Duration = Duration::from_millis(500);

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
    /// A host cannot be reached any more, or has lost its agent.
    HostLost,
    /// Nobody reads the output any more.
    OutputClosed,
    /// The process that has started the job has died.
    ParentDied,
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
    again: Duration,
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
        let (ask_at, force_at) = (Some(now + ask_after), now + force_after);
        Ending { reason, began: now, ask_at, force_at, again: AGAIN }
    }

    /// Forces the end now; a repetition right after the beginning is taken for
    /// the same wish (a terminal and `timeout` may both send it).
    pub fn hurry(&mut self, now: Instant) {
        if now.duration_since(self.began) > MOMENT {
            self.force_at = now;
        }
    }

    /// The ranks have ended: what they left behind is asked now, and need not get more than a second.
    pub fn ranks_have_gone(&mut self, now: Instant) {
        self.ask_at = self.ask_at.map(|at| at.min(now));
        self.force_at = self.force_at.min(now + SECOND);
    }

    /// The signal that everything below the launcher is to get now, if one is
    /// due; call at every turn of the loop.
    pub fn due(&mut self, now: Instant) -> Option<i32> {
        if now >= self.force_at {
            self.ask_at = None;
            self.force_at = now + self.again;
            self.again = (2 * self.again).min(AGAIN_AT_MOST);
            return Some(libc::SIGKILL);
        }
        self.ask_at.take_if(|at| now >= *at).map(|_| libc::SIGTERM)
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
            Reason::HostLost | Reason::ParentDied => Some(125),
            Reason::OutputClosed => Some(128 + libc::SIGPIPE),
            Reason::Signal(_) | Reason::Leftovers => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_asked_once_and_forced_until_it_is_gone() {
        let now = Instant::now();
        let mut ending = Ending::begin(Reason::Timeout, now);
        let due: Vec<Option<i32>> = (0..70).map(|tenths| ending.due(now + MOMENT / 3 * tenths)).collect();
        assert_eq!(due[0], Some(libc::SIGTERM));
        assert!(due[1..10].iter().all(Option::is_none) && due[10] == Some(libc::SIGKILL));
        let forced = due[10..].iter().flatten().count();
        assert!(
            due[10..].iter().flatten().all(|&signal| signal == libc::SIGKILL) && (10..30).contains(&forced)
        );
    }

    #[test]
    fn what_ranks_leave_behind_does_not_get_the_time_that_they_had() {
        let now = Instant::now();
        let mut ending = Ending::begin(Reason::Signal(libc::SIGTERM), now);
        assert_eq!(ending.due(now + SECOND), None);
        for _ in 0..2 {
            ending.ranks_have_gone(now + SECOND);
        }
        assert_eq!(ending.due(now + SECOND), Some(libc::SIGTERM));
        ending.ranks_have_gone(now + 2 * SECOND);
        assert_eq!(ending.due(now + 2 * SECOND), Some(libc::SIGKILL));
    }

    #[test]
    fn a_second_interrupt_forces_at_once_and_the_same_one_twice_does_not() {
        let now = Instant::now();
        let mut ending = Ending::begin(Reason::Signal(libc::SIGINT), now);
        ending.hurry(now + MOMENT / 2);
        assert_eq!(ending.due(now + MOMENT), None);
        ending.hurry(now + 2 * MOMENT);
        assert_eq!(ending.due(now + 2 * MOMENT), Some(libc::SIGKILL));
    }
}
