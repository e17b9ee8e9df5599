//! How fast a root may send: a bucket of tokens, filled at a rate that follows the losses.
//!
//! It begins at half of the link's rate. A stretch without much loss adds a little; one of which more than a hundredth
//! was lost halves it.

/// Bytes that may go at once after a pause.
const DEPTH: u64 = 128 << 10;
/// A stretch without loss adds this part of the link's rate, and the rate never falls below it.
const STEP: u64 = 64;
/// Of so many pieces one may be lost without harm.
const HARMLESS: u64 = 100;
const SECOND: u64 = 1_000_000_000;

/// The pace of the roots of a group, as this rank knows it.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    link: u64,
    rate: u64,
    tokens: u64,
    /// When they were counted, in nanoseconds.
    counted: u64,
}

impl Pacing {
    /// Over a link that carries so many bytes a second.
    pub fn new(link: u64) -> Pacing {
        let link = link.clamp(STEP, u64::MAX / SECOND);
        Pacing { link, rate: (link / 2).max(1), tokens: DEPTH, counted: 0 }
    }

    /// Takes tokens for so many bytes, at this time.
    ///
    /// # Errors
    /// There are not enough: for so many nanoseconds more.
    pub fn take(&mut self, now: u64, bytes: u64) -> Result<(), u64> {
        let since = now.saturating_sub(self.counted).min(SECOND);
        let filled = (u128::from(since) * u128::from(self.rate) / u128::from(SECOND)) as u64;
        if filled > 0 {
            (self.tokens, self.counted) = ((self.tokens + filled).min(DEPTH), now);
        }
        let bytes = bytes.min(DEPTH);
        match self.tokens.checked_sub(bytes) {
            Some(left) => {
                self.tokens = left;
                Ok(())
            }
            None => Err(((bytes - self.tokens) * SECOND).div_ceil(self.rate)),
        }
    }

    /// Of so many pieces so many were lost.
    pub fn learn(&mut self, pieces: u64, lost: u64) {
        let least = (self.link / STEP).max(1);
        self.rate = match lost * HARMLESS > pieces {
            true => (self.rate / 2).max(least),
            false => (self.rate + least).min(self.link),
        };
    }

    #[cfg(test)]
    fn rate(&self) -> u64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: u64 = 125_000_000;

    #[test]
    fn a_pause_lets_a_bucket_go_and_then_the_rate_holds() {
        let mut pacing = Pacing::new(LINK);
        let (mut now, mut sent) = (SECOND, 0u64);
        while sent < 10 * DEPTH {
            match pacing.take(now, 1000) {
                Ok(()) => sent += 1000,
                Err(wait) => now += wait,
            }
        }
        let lasted = (now - SECOND) as f64 / SECOND as f64;
        let expected = (9 * DEPTH) as f64 / (LINK / 2) as f64;
        assert!((lasted / expected - 1.0).abs() < 0.01, "{lasted} for {expected}");
    }

    #[test]
    fn losses_halve_the_rate_and_their_end_raises_it_slowly() {
        let mut pacing = Pacing::new(LINK);
        pacing.learn(1000, 10);
        assert_eq!(pacing.rate(), LINK / 2 + LINK / STEP, "a hundredth is harmless");
        pacing.learn(1000, 11);
        assert_eq!(pacing.rate(), (LINK / 2 + LINK / STEP) / 2);
        (0..100).for_each(|_| pacing.learn(10, 10));
        assert_eq!(pacing.rate(), LINK / STEP);
        (0..1000).for_each(|_| pacing.learn(1000, 0));
        assert_eq!(pacing.rate(), LINK);
    }

    #[test]
    fn extreme_links_do_not_overflow() {
        for link in [0, 1, u64::MAX] {
            let mut pacing = Pacing::new(link);
            let _ = pacing.take(u64::MAX, u64::MAX);
            pacing.learn(1, 1);
            let _ = pacing.take(u64::MAX, 1);
        }
    }
}
