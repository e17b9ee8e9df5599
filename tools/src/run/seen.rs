//! What the launcher has seen of its ranks' pages from look to look: which of them call nothing
//! but what finds nothing, and since when.

use serried_engine::job::NodeView;
use std::time::{Duration, Instant};

/// Failed polls between two looks of a rank that may do nothing else; with fewer it does.
const POLLS: u64 = 1000;
/// A rank that naps polls again within this time.
const NAP: Duration = Duration::from_secs(3);

/// What was seen of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its calls, but those that found nothing.
    pub calls: u64,
    /// Those that found nothing.
    polls: u64,
    /// Since when it has called nothing else.
    still: Instant,
    /// Since when it has done nothing else, if it polls all the time.
    tight: Option<Instant>,
    /// When it was seen to have polled last.
    last: Option<Instant>,
}

impl Seen {
    /// Nothing yet.
    pub fn new(now: Instant) -> Seen {
        Seen { calls: 0, polls: 0, still: now, tight: None, last: None }
    }

    /// One more look, at `now`: so many calls, and calls that found nothing, since the beginning.
    pub fn look(&mut self, calls: u64, polls: u64, now: Instant) {
        let polled = polls.wrapping_sub(self.polls);
        self.polls = polls;
        // A poll under way is counted when it ends.
        if calls.abs_diff(self.calls) > 1 {
            *self = Seen { calls, polls, still: now, tight: None, last: None };
            return;
        }
        if polled > 0 {
            self.last = Some(now);
        }
        self.tight = if polled >= POLLS { self.tight.or(Some(now)) } else { None };
    }

    /// For how long it has polled all the time.
    pub fn polls(&self, now: Instant) -> Option<Duration> {
        self.tight.map(|since| now.saturating_duration_since(since))
    }

    /// For how long it has called nothing but what finds nothing, with or without naps.
    pub fn idles(&self, now: Instant) -> Option<Duration> {
        let polls_still = self.last.is_some_and(|last| now.saturating_duration_since(last) < NAP);
        polls_still.then(|| now.saturating_duration_since(self.still))
    }
}

/// Looks at all ranks.
pub fn look(view: &NodeView, all: &mut [Seen], now: Instant) {
    for (rank, seen) in all.iter_mut().enumerate() {
        let page = view.page(rank as u32);
        seen.look(page.moves(), page.idle_polls(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_seen_with_and_without_naps() {
        let began = Instant::now();
        let at = |half_seconds: u32| began + half_seconds * Duration::from_millis(500);
        let mut seen = Seen::new(began);
        (1..=9).for_each(|look| seen.look(40, 5000 * u64::from(look), at(look)));
        assert_eq!(
            (seen.polls(at(9)), seen.idles(at(9))),
            (Some(Duration::from_millis(3500)), Some(Duration::from_secs(4)))
        );
        let mut seen = Seen::new(began);
        (1..=9).for_each(|look| seen.look(40, u64::from(look), at(look)));
        assert_eq!((seen.polls(at(9)), seen.idles(at(9))), (None, Some(Duration::from_secs(4))));
        // It has stopped, or gone on.
        assert_eq!(seen.idles(at(16)), None);
        seen.look(43, 12, at(10));
        assert_eq!(seen.idles(at(10)), None);
    }
}
