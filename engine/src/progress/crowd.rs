//! Whether there are more ranks awake on the node than cores for them.
//!
//! A rank that waits may spin only while it takes a core from nobody. Ranks that
//! sleep take none, so what counts is who is awake: a counter in the node
//! segment, which the doorbells keep. Where every rank has a core anyway nobody
//! counts.

use super::partner::Partner;
use super::spread::Spread;
use super::Doorbell;
use crate::observe::Page;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The ranks of a node and its cores.
#[derive(Debug)]
pub struct Crowd {
    /// Ranks awake, if they are counted.
    awake: Option<&'static AtomicU32>,
    doorbell: &'static Doorbell,
    cores: u32,
    partner: Partner,
    spread: Spread,
}

impl Crowd {
    /// One more rank of `ranks` on a node where `cores` of them can run at once.
    ///
    /// # Safety
    /// As for [`Doorbell::count_in`].
    pub unsafe fn join(
        awake: &'static AtomicU32,
        doorbell: &'static Doorbell,
        page: &'static Page,
        ranks: u32,
        cores: usize,
    ) -> Crowd {
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        let awake = (ranks > cores).then_some(awake);
        if let Some(awake) = awake {
            // SAFETY: by the caller.
            unsafe { doorbell.count_in(awake) };
        }
        Crowd { awake, doorbell, cores, partner: Partner::new(page), spread: Spread::new(page) }
    }

    /// Whether there can ever be more ranks awake than cores.
    pub fn can_be(&self) -> bool {
        self.awake.is_some()
    }

    /// Whether there are more ranks awake than cores.
    #[inline]
    pub fn is_here(&self) -> bool {
        self.awake.is_some_and(|awake| awake.load(Relaxed) > self.cores)
    }

    /// The rank that is waited for, where there can be a crowd.
    #[inline]
    pub fn partner(&self) -> &Partner {
        &self.partner
    }

    /// How this rank shares the cores with others, where there can be a crowd.
    #[inline]
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// From now on this rank waits for `peer`, or for nobody in particular.
    #[inline]
    pub fn wait_for(&self, peer: impl FnOnce() -> Option<&'static Page>) {
        if self.can_be() {
            self.partner.set(peer());
        }
    }

    /// This rank will not wait any more, unless it comes back.
    pub fn leave(&self) {
        if self.can_be() {
            self.doorbell.count_out();
        }
    }

    /// It has left and waits again.
    pub fn come_back(&self) {
        if let Some(awake) = self.awake {
            // SAFETY: as `join` demands.
            unsafe { self.doorbell.count_in(awake) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(number: u32, cores: usize) -> Vec<Crowd> {
        let awake: &'static AtomicU32 = Box::leak(Box::default());
        let rank = |_| {
            let doorbell: &'static Doorbell = Box::leak(Box::default());
            // SAFETY: a page is made of atomic integers, for which zero is a value.
            let page: &'static Page = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
            // SAFETY: both live for ever, in one process.
            unsafe { Crowd::join(awake, doorbell, page, number, cores) }
        };
        (0..number).map(rank).collect()
    }

    #[test]
    fn ranks_that_sleep_make_no_crowd() {
        let ranks = ranks(3, 2);
        assert!(ranks.iter().all(Crowd::is_here));
        let look = || {
            assert!(!ranks[1].is_here());
            true
        };
        ranks[0].doorbell.sleep_unless(look, None);
        assert!(ranks[1].is_here());
        ranks[2].leave();
        assert!(!ranks[0].is_here());
        ranks[2].come_back();
        assert!(ranks[0].is_here());
    }

    #[test]
    fn with_a_core_for_each_rank_there_is_no_crowd() {
        assert!(!ranks(2, 2).iter().any(|rank| rank.can_be() || rank.is_here()));
    }
}
