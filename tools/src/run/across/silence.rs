//! Whether the other end of a link is still there: it says something twice a second, whatever happens.
//!
//! Only time in which this process ran is counted: whoever was stopped for a while, or sits on a machine that
//! slept, has no reason to think that others were silent. Pure: time is an argument.

use std::time::{Duration, Instant};

/// How often each end says that it is there.
pub const BEAT: Duration = Duration::from_millis(500);
/// After so long a silent host is named.
const NAMED: Duration = Duration::from_secs(3);
/// From one look to the next no more than this counts.
const LOOK_AT_MOST: Duration = Duration::from_secs(1);

/// What is to be said of a silent end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// It has been silent for some seconds.
    Named,
    /// It speaks again.
    Back,
    /// It has been silent for so long that nobody waits any more.
    GivenUp,
}

/// The silence of one end.
#[derive(Debug)]
pub struct Silence {
    limit: Duration,
    silent: Duration,
    looked: Instant,
    named: bool,
    given_up: bool,
}

impl Silence {
    /// Nothing has been heard by now; after `limit` the end is given up.
    pub fn new(limit: Duration, now: Instant) -> Silence {
        Silence { limit, silent: Duration::ZERO, looked: now, named: false, given_up: false }
    }

    /// Something was heard.
    pub fn heard(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// Looks at the clock; call at least every [`BEAT`].
    pub fn look(&mut self, now: Instant) -> Option<Finding> {
        self.silent += now.saturating_duration_since(self.looked).min(LOOK_AT_MOST);
        self.looked = now;
        if self.given_up {
            return None;
        }
        if self.silent >= self.limit {
            self.given_up = true;
            return Some(Finding::GivenUp);
        }
        let is_long = self.silent >= NAMED;
        let changed = is_long != self.named && (is_long || self.silent < BEAT * 2);
        if !changed {
            return None;
        }
        self.named = is_long;
        Some(if is_long { Finding::Named } else { Finding::Back })
    }

    /// For how long nothing has been heard.
    pub fn silent(&self) -> Duration {
        self.silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found when something is heard at these half seconds, and looked at every half second.
    fn found(heard: impl Fn(u32) -> bool, half_seconds: u32) -> Vec<(u32, Finding)> {
        let began = Instant::now();
        let mut silence = Silence::new(Duration::from_secs(10), began);
        let look = |at: u32| {
            if heard(at) {
                silence.heard();
            }
            silence.look(began + BEAT * at).map(|finding| (at, finding))
        };
        (1..=half_seconds).filter_map(look).collect()
    }

    #[test]
    fn a_silent_host_is_named_at_3_seconds_and_given_up_at_the_limit() {
        assert_eq!(found(|_| true, 100), []);
        assert_eq!(found(|_| false, 100), [(6, Finding::Named), (20, Finding::GivenUp)]);
    }

    #[test]
    fn a_link_that_is_down_for_5_seconds_loses_nothing() {
        assert_eq!(found(|at| !(10..20).contains(&at), 100), [(14, Finding::Named), (20, Finding::Back)]);
    }

    #[test]
    fn who_was_stopped_does_not_think_that_others_were_silent() {
        let began = Instant::now();
        let mut silence = Silence::new(Duration::from_secs(10), began);
        assert_eq!(silence.look(began + Duration::from_secs(3600)), None);
        silence.heard();
        assert_eq!(silence.look(began + Duration::from_secs(3601)), None);
    }
}
