//! On which core each rank is, and whether it is at work there, where ranks share cores.
//!
//! A rank shows its core whenever it waits, and that it has this core now. Whoever has shown that before, of the same core, has
//! given it up or lost it. So a rank that waits for another one can tell whether looking on is worth while: only if that one is
//! at work on another core. All this is a guess, on which nothing depends but speed.

use crate::job::NodeSegment;
use crate::observe::Page;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What one rank shows, and sees of others.
#[derive(Clone, Copy)]
pub struct Whereabouts {
    node: &'static NodeSegment,
    own: &'static Page,
}

impl std::fmt::Debug for Whereabouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whereabouts").finish_non_exhaustive()
    }
}

impl Whereabouts {
    /// Of a local rank of a node.
    pub fn new(node: &'static NodeSegment, rank: u32) -> Whereabouts {
        Whereabouts { node, own: node.page(rank) }
    }

    /// The page of this rank.
    pub fn own(&self) -> &'static Page {
        self.own
    }

    /// Shows that this rank is at work on the core on which it is, and says which: its number and one.
    #[inline]
    pub fn show(&self) -> u32 {
        // SAFETY: no memory is involved.
        let core = unsafe { libc::sched_getcpu() }.unsigned_abs() + 1;
        for (shown, now) in [(&self.own.identity.core, core), (self.occupant(core), number(self.own))] {
            // Others read these lines all the time.
            if shown.load(Relaxed) != now {
                shown.store(now, Relaxed);
            }
        }
        core
    }

    /// Whether another rank of the node is on the core of this one, which has shown where it is: it can do nothing before this one
    /// gives the core up.
    #[inline]
    pub fn is_here(&self, peer: &Page) -> bool {
        let [here, there] = [self.own, peer].map(|page| page.identity.core.load(Relaxed));
        here == there
    }

    /// Whether another rank, which is not here, is at work: no third one has been seen on its core since. Ranks that share no core
    /// always are.
    #[inline]
    pub fn is_at_work(&self, peer: &Page) -> bool {
        let core = peer.identity.core.load(Relaxed);
        self.own.affinity.shared().is_none() || self.occupant(core).load(Relaxed) == number(peer)
    }

    /// Who has a core. Ranks that share cores are more than these, so the pages of a node have room for all; two cores of one place
    /// would only make both look as if others had them.
    #[inline]
    fn occupant(&self, core: u32) -> &AtomicU32 {
        &self.node.page(core % self.node.local_ranks()).affinity.occupant.0
    }
}

/// How a rank is named on pages: 0 is nobody.
pub(super) fn number(page: &Page) -> u32 {
    page.identity.rank.load(Relaxed) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_at_work_until_another_one_is_seen_on_its_core() {
        let node: &'static NodeSegment = Box::leak(Box::new(NodeSegment::create(3).unwrap()));
        (0..3).for_each(|rank| node.page(rank).identity.rank.store(rank, Relaxed));
        let [own, second, third] = [0, 1, 2].map(|rank| Whereabouts::new(node, rank));
        let there = own.show() + 1;
        let seen = |by: &Whereabouts| own.occupant(there).store(number(by.own), Relaxed);
        second.own.identity.core.store(there, Relaxed);
        assert!(!own.is_here(second.own) && own.is_at_work(second.own), "nobody shares cores yet");
        own.own.affinity.share(Some(2));
        assert!(!own.is_at_work(second.own), "it has not been seen there");
        seen(&second);
        assert!(own.is_at_work(second.own));
        seen(&third);
        assert!(!own.is_at_work(second.own) && !own.is_here(second.own));
        second.own.identity.core.store(own.show(), Relaxed);
        assert!(own.is_here(second.own));
    }
}
