//! Whether more ranks are awake than there are CPUs for them.
//!
//! A waiting rank may spin only while it takes no CPU from another rank. What counts is not how
//! many CPUs this rank may use, but whether all ranks of the node can have one at once: two ranks
//! that are bound to a CPU each share nothing. So every rank shows on its page which CPUs it may
//! use, and each finds out which of them share CPUs ([`groups`]). Ranks that sleep take no CPU:
//! the doorbells of a group count who is awake. Where a rank shares no CPU nobody counts.
//!
//! Ranks start in any order. Until all have shown their CPUs, a rank that may use fewer CPUs than
//! there are ranks takes it that it shares them. A rank looks again when another has shown
//! something new, and reads its own CPUs again now and then, since a program or a library may
//! bind it to other CPUs at any time. It does so where it waits for long anyway.
//!
//! Other programs that load the cores make a crowd too ([`ForeignLoad`]).

use super::barrier;
use super::cores::{groups, Group};
use super::foreign_load::ForeignLoad;
use super::partner::Partner;
use super::slowdown::Slowdown;
use super::spread::Spread;
use super::whereabouts::Whereabouts;
use super::{clock, Doorbell};
use crate::job::cpu_set::CpuSet;
use crate::job::{cpus, NodeSegment};
use crate::lock_order::{self, Level, Ordered};
use crate::observe::affinity::Affinity;
use crate::observe::Page;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;

/// Nanoseconds after which a rank that waits reads again which CPUs it may use.
const BETWEEN_READINGS: u64 = 50_000_000;

/// The ranks of a node and its CPUs, as one rank sees them.
#[derive(Debug)]
pub struct Crowd {
    node: &'static NodeSegment,
    rank: u32,
    affinity: &'static Affinity,
    doorbell: &'static Doorbell,
    own: Mutex<Own>,
    /// What has been shown on the node when this rank looked last: `NodeSegment::affinities`.
    seen: AtomicU32,
    /// When this rank has last read which CPUs it may use.
    read: AtomicU64,
    /// The thread whose CPUs are those of the rank.
    thread: libc::pthread_t,
    whereabouts: Whereabouts,
    partner: Partner,
    spread: Spread,
    foreign_load: ForeignLoad,
    slowdown: Slowdown,
}

/// What this rank shows, and its group.
#[derive(Debug)]
struct Own {
    cpus: CpuSet,
    quota: Option<u32>,
    group: Option<Group>,
    /// It has left, and is not counted.
    is_away: bool,
}

impl Crowd {
    /// One more rank of a node, whose CPUs are those of the calling thread; sleeping may cost so many percent, or what it
    /// will.
    pub fn join(
        node: &'static NodeSegment,
        rank: u32,
        doorbell: &'static Doorbell,
        max_slowdown: Option<f64>,
    ) -> Crowd {
        let slowdown = Slowdown::new(max_slowdown, node.delays(), node.page(rank));
        Crowd::join_on(node, rank, doorbell, (cpus::allowed_set(), cpus::whole_quota()), slowdown)
    }

    /// The same of one that may use these CPUs, within a quota.
    fn join_on(
        node: &'static NodeSegment,
        rank: u32,
        doorbell: &'static Doorbell,
        (cpus, quota): (CpuSet, Option<u32>),
        slowdown: Slowdown,
    ) -> Crowd {
        let page = node.page(rank);
        // SAFETY: doorbell and pages lie in the node segment, which lives for ever, or in one
        // process; those of local ranks are `pages_apart` bytes apart.
        unsafe { doorbell.count_at(&node.page(0).affinity.awake.0, NodeSegment::pages_apart()) };
        let whereabouts = Whereabouts::new(node, rank);
        let crowd = Crowd {
            node,
            rank,
            affinity: &page.affinity,
            doorbell,
            own: Mutex::new(Own { cpus, quota, group: None, is_away: false }),
            seen: AtomicU32::new(0),
            read: AtomicU64::new(clock::nanoseconds()),
            // SAFETY: no memory is involved.
            thread: unsafe { libc::pthread_self() },
            whereabouts,
            partner: Partner::new(whereabouts),
            spread: Spread::new(whereabouts),
            foreign_load: ForeignLoad::default(),
            slowdown,
        };
        crowd.affinity.show(&cpus.0, quota);
        node.affinity_shown(true);
        crowd.find_group(&mut crowd.own());
        crowd
    }

    /// Whether this rank shares CPUs with other ranks.
    #[inline]
    pub fn shares(&self) -> bool {
        self.affinity.shared().is_some()
    }

    /// Whether more may be awake than there are CPUs: other ranks, or other programs.
    #[inline]
    pub fn can_be(&self) -> bool {
        self.shares() || self.foreign_load.is_felt()
    }

    /// Whether more are awake than there are CPUs.
    #[inline]
    pub fn is_here(&self) -> bool {
        let of_ranks = || self.affinity.shared().is_some_and(|cpus| self.doorbell.awake() > cpus);
        of_ranks() || self.foreign_load.is_felt()
    }

    /// Whether one of these local ranks shares CPUs; `None` before all ranks of the node have come.
    pub fn shares_any(&self, mut ranks: impl Iterator<Item = u32>) -> Option<bool> {
        self.look_again();
        self.groups().map(|groups| ranks.any(|rank| groups[rank as usize].is_some()))
    }

    /// Where ranks are, where there can be a crowd.
    #[inline]
    pub fn whereabouts(&self) -> &Whereabouts {
        &self.whereabouts
    }

    /// The rank that is waited for, where there can be a crowd.
    #[inline]
    pub fn partner(&self) -> &Partner {
        &self.partner
    }

    /// A look for what is waited for was in vain, and the core is about to be given up.
    #[inline]
    pub fn in_vain(&self) {
        let core = |rank| self.node.page(rank).identity.core.load(Relaxed);
        // Beside other programs each core that the ranks leave is theirs no more.
        let is_crowded = self.shares() && self.is_here();
        self.partner.in_vain(is_crowded, || (0..self.node.local_ranks()).map(core));
    }

    /// How this rank shares the cores with others, where there can be a crowd.
    #[inline]
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// The bound on what sleeping may cost.
    #[inline]
    pub fn slowdown(&self) -> &Slowdown {
        &self.slowdown
    }

    /// Whether other programs load the cores.
    #[inline]
    pub fn foreign_load(&self) -> &ForeignLoad {
        &self.foreign_load
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
        self.own().is_away = true;
        self.doorbell.count_in(None);
    }

    /// It has left and waits again.
    pub fn come_back(&self) {
        let mut own = self.own();
        own.is_away = false;
        self.find_group(&mut own);
    }

    /// This rank waits for long, at this time: finds out anew whether it shares CPUs, if something
    /// may have changed.
    #[inline]
    pub fn look_again_at(&self, now: u64) {
        self.look_again();
        if now.saturating_sub(self.read.load(Relaxed)) > BETWEEN_READINGS {
            self.read_again(now);
        }
    }

    /// The same without reading which CPUs this rank may use.
    #[inline]
    pub fn look_again(&self) {
        if self.node.affinities() != self.seen.load(Relaxed) {
            self.find_group(&mut self.own());
        }
    }

    /// Reads again which CPUs this rank may use.
    #[cold]
    fn read_again(&self, now: u64) {
        // SAFETY: no memory is involved.
        if unsafe { libc::pthread_self() } == self.thread {
            self.read.store(now, Relaxed);
            self.bind(cpus::allowed_set());
        }
    }

    /// This rank may use these CPUs from now on.
    fn bind(&self, cpus: CpuSet) {
        let mut own = self.own();
        if own.cpus != cpus {
            own.cpus = cpus;
            self.affinity.show(&cpus.0, own.quota);
            self.node.affinity_shown(false);
            self.find_group(&mut own);
        }
    }

    /// Finds out which group this rank is in, and keeps to it from now on.
    #[cold]
    fn find_group(&self, own: &mut Own) {
        self.seen.store(self.node.affinities(), Relaxed);
        let ranks = self.node.local_ranks();
        let usable = own.quota.map_or(own.cpus.len(), |quota| quota.min(own.cpus.len()));
        own.group = match self.groups() {
            // Whatever the others use, a CPU is left.
            _ if usable >= ranks => None,
            Some(groups) => groups[self.rank as usize],
            None => Some(Group { first: 0, cpus: usable }),
        };
        self.affinity.share(own.group.map(|group| group.cpus));
        self.doorbell.count_in(own.group.map(|group| group.first).filter(|_| !own.is_away));
        if own.group.is_none() && !self.doorbell.has_promised() && barrier::register() {
            self.doorbell.promise_barriers();
        }
    }

    /// The groups of all ranks of the node, once all have shown their CPUs.
    fn groups(&self) -> Option<Vec<Option<Group>>> {
        if !self.node.all_affinities_shown() {
            return None;
        }
        let pages = || (0..self.node.local_ranks()).map(|rank| &self.node.page(rank).affinity);
        let sets: Vec<CpuSet> = pages().map(|affinity| CpuSet(affinity.cpus())).collect();
        let is_known = sets.iter().all(|set| !set.is_empty());
        is_known.then(|| groups(&sets, pages().filter_map(|affinity| affinity.quota()).min()))
    }

    fn own(&self) -> Ordered<'_, Own> {
        lock_order::lock(&self.own, Level::CROWD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ranks: u32) -> &'static NodeSegment {
        Box::leak(Box::new(NodeSegment::create(ranks).unwrap()))
    }

    fn join(node: &'static NodeSegment, rank: u32, cpus: &[usize]) -> Crowd {
        let doorbell: &'static Doorbell = Box::leak(Box::default());
        let unbounded = Slowdown::new(None, node.delays(), node.page(rank));
        Crowd::join_on(node, rank, doorbell, (cpus.iter().copied().collect(), None), unbounded)
    }

    /// Ranks that may use these CPUs, when all have come and looked again.
    fn ranks(cpus: &[&[usize]]) -> Vec<Crowd> {
        let node = node(cpus.len() as u32);
        let ranks: Vec<Crowd> = (0..).zip(cpus).map(|(rank, cpus)| join(node, rank, cpus)).collect();
        ranks.iter().for_each(Crowd::look_again);
        ranks
    }

    fn here(ranks: &[Crowd]) -> Vec<bool> {
        ranks.iter().map(Crowd::is_here).collect()
    }

    /// What is true while a rank sleeps.
    fn asleep(rank: &Crowd, check: impl Fn()) {
        let look = || {
            check();
            true
        };
        rank.doorbell.sleep_unless(look, None);
    }

    #[test]
    fn ranks_that_sleep_make_no_crowd() {
        let ranks = ranks(&[&[0, 1][..]; 3]);
        assert_eq!(here(&ranks), [true; 3]);
        asleep(&ranks[0], || assert!(!ranks[1].is_here()));
        assert!(ranks[1].is_here());
        ranks[2].leave();
        assert!(!ranks[0].is_here());
        ranks[2].come_back();
        assert!(ranks[0].is_here());
    }

    #[test]
    fn other_programs_make_a_crowd_of_ranks_that_share_nothing() {
        let ranks = ranks(&[&[0], &[1]]);
        let now = clock::nanoseconds();
        ranks[0].foreign_load().learn(now - 4_000_000, now - 3_980_000, now);
        assert!(ranks[0].can_be() && ranks[0].is_here() && !ranks[0].shares());
        assert!(!ranks[1].can_be());
    }

    #[test]
    fn with_a_cpu_for_each_rank_there_is_no_crowd() {
        assert!(!ranks(&[&[0, 1][..]; 2]).iter().any(|rank| rank.can_be() || rank.is_here()));
    }

    #[test]
    fn two_bound_ranks_are_no_crowd() {
        let ranks = ranks(&[&[0], &[1]]);
        assert!(!ranks.iter().any(|rank| rank.can_be() || rank.is_here()));
        assert_eq!(ranks[0].shares_any(0..2), Some(false));
        assert_eq!(ranks[0].doorbell.has_promised(), barrier::register());
    }

    #[test]
    fn two_ranks_bound_to_one_cpu_are_a_crowd() {
        assert_eq!(here(&ranks(&[&[1], &[1]])), [true; 2]);
    }

    #[test]
    fn four_ranks_on_two_cpus_bound_in_pairs_are_a_crowd_while_both_of_a_pair_are_awake() {
        let ranks = ranks(&[&[0], &[0], &[1], &[1]]);
        assert_eq!(here(&ranks), [true; 4]);
        asleep(&ranks[0], || assert_eq!(here(&ranks), [false, false, true, true]));
        assert_eq!(here(&ranks), [true; 4]);
        assert_eq!(ranks[0].shares_any([0, 2].into_iter()), Some(true));
    }

    #[test]
    fn until_all_have_come_a_bound_rank_takes_it_that_it_shares() {
        let node = node(2);
        let first = join(node, 0, &[0]);
        assert!(first.can_be() && !first.is_here() && !first.doorbell.has_promised());
        assert_eq!(first.shares_any(0..2), None);
        let second = join(node, 1, &[1]);
        assert!(!second.can_be());
        first.look_again();
        assert!(!first.can_be());
    }

    #[test]
    fn ranks_that_are_bound_to_other_cpus_make_a_crowd_or_end_one() {
        let ranks = ranks(&[&[0, 1], &[0, 1]]);
        let bind = |rank: &Crowd, cpu: usize| {
            rank.bind([cpu].into_iter().collect());
            ranks.iter().for_each(Crowd::look_again);
            here(&ranks)
        };
        assert_eq!(bind(&ranks[0], 1), [false; 2]);
        assert_eq!(bind(&ranks[1], 1), [true; 2]);
        assert_eq!(bind(&ranks[0], 0), [false; 2]);
    }

    #[test]
    fn a_rank_reads_its_own_cpus_now_and_then() {
        let rank = join(node(2), 0, &[1023]);
        rank.look_again_at(clock::nanoseconds());
        assert_eq!(rank.own().cpus.iter().collect::<Vec<_>>(), [1023]);
        rank.look_again_at(clock::nanoseconds() + 2 * BETWEEN_READINGS);
        assert_eq!(rank.own().cpus, cpus::allowed_set());
    }
}
