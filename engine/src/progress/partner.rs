//! The one rank that is waited for, where ranks share cores.
//!
//! Two ranks that send each other short messages had better be on different cores: both can
//! be awake at once then, and a message does not have to wait until a core has
//! changed hands. With long messages it is the other way round: what one has written lies in the
//! cache of its core, so a partner on this core reads it at once, and the other core has ranks of its own to run.
//!
//! So a rank shows on which core it is ([`Whereabouts`]), and for whom it waits. While its partner is at work on another core it looks
//! for some microseconds, else it gives its core up soon, and at once if both are on one. If the two are for long where they had better not be, one of
//! them moves.

use super::whereabouts::{number, Whereabouts};
use crate::clock;
use crate::observe::Page;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Looks in vain, one after the other, at a wrong place before one of the two moves.
const LOOKS_AT_A_WRONG_PLACE: u32 = 16;
/// Nanoseconds between two moves of a rank: a move costs some ten microseconds,
/// and the system may have reasons to move it back.
const BETWEEN_MOVES: u64 = 2_000_000;
/// Mean bytes of messages from which on two ranks are better on one core, while others need the second one: moving so
/// many between caches takes as long as two changes of a core's hands.
const BETTER_TOGETHER: u64 = 8 << 10;
/// Messages of which the mean is taken.
const RECENT: u64 = 8;

/// Where the one is that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the core of the rank that waits.
    Here,
    /// At work on another core.
    AtWork,
    /// On another core, which a third rank has.
    Behind,
}

/// Whom a rank waits for.
pub struct Partner {
    whereabouts: Whereabouts,
    /// Null: nobody in particular.
    peer: AtomicPtr<Page>,
    /// Looks in vain at a wrong place, one after the other.
    misplaced: AtomicU32,
    moved: AtomicU64,
    /// Messages and bytes received when the mean was taken last.
    received: [AtomicU64; 2],
    mean_bytes: AtomicU64,
}

impl std::fmt::Debug for Partner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partner").field("misplaced", &self.misplaced).finish_non_exhaustive()
    }
}

impl Partner {
    /// Nobody yet.
    pub fn new(whereabouts: Whereabouts) -> Partner {
        Partner {
            whereabouts,
            peer: AtomicPtr::new(std::ptr::null_mut()),
            misplaced: AtomicU32::new(0),
            moved: AtomicU64::new(0),
            received: Default::default(),
            mean_bytes: AtomicU64::new(0),
        }
    }

    /// From now on this rank waits for `peer`, or for nobody in particular.
    #[inline]
    pub fn set(&self, peer: Option<&'static Page>) {
        let page = peer.map_or(std::ptr::null_mut(), |page| std::ptr::from_ref(page).cast_mut());
        if self.peer.load(Relaxed) != page {
            self.peer.store(page, Relaxed);
            self.misplaced.store(0, Relaxed);
            self.own().identity.partner.store(peer.map_or(0, number), Relaxed);
        }
    }

    fn peer(&self) -> Option<&'static Page> {
        // SAFETY: null or what `set` was given.
        unsafe { self.peer.load(Relaxed).as_ref() }
    }

    fn own(&self) -> &'static Page {
        self.whereabouts.own()
    }

    /// Shows where this rank is, and says where its partner is, if it has one.
    #[inline]
    pub fn place(&self) -> Option<Place> {
        self.whereabouts.show();
        let peer = self.peer()?;
        Some(match self.whereabouts.is_here(peer) {
            true => Place::Here,
            false if self.whereabouts.is_at_work(peer) => Place::AtWork,
            false => Place::Behind,
        })
    }

    /// A look for the partner's message was in vain, and the core is about to be
    /// given up. Moves this rank if the two have been for long on one core and had better be apart, or the other way
    /// round. `cores` are those of all ranks of the node, by their numbers and one.
    #[inline]
    pub fn in_vain<Cores: Iterator<Item = u32>>(&self, is_crowded: bool, cores: impl Fn() -> Cores) {
        let Some(peer) = self.peer() else { return };
        let (here, there) = (self.whereabouts.show(), peer.identity.core.load(Relaxed));
        let should_be_apart = !is_crowded || self.mean_bytes() < BETTER_TOGETHER;
        if (here != there) == should_be_apart {
            self.misplaced.store(0, Relaxed);
            return;
        }
        let misplaced = self.misplaced.load(Relaxed) + 1;
        self.misplaced.store(misplaced, Relaxed);
        if misplaced < LOOKS_AT_A_WRONG_PLACE {
            return;
        }
        self.misplaced.store(0, Relaxed);
        // Pages lie in the order of ranks.
        let is_later = std::ptr::from_ref(self.own()) > std::ptr::from_ref(peer);
        match should_be_apart {
            true if is_later => self.move_where(|_| true),
            false if self.is_chosen_by(peer) && may_join((here, there), is_later, cores()) => {
                self.move_where(|core| core + 1 == there as usize);
            }
            _ => {}
        }
    }

    /// Whether the partner waits for this rank, too. In a ring it waits for another one, and all would run after each other.
    fn is_chosen_by(&self, peer: &Page) -> bool {
        peer.identity.partner.load(Relaxed) == number(self.own())
    }

    /// The mean of the bytes of the last messages that this rank has received.
    fn mean_bytes(&self) -> u64 {
        let counters = &self.own().counters;
        let now =
            [&counters.messages_received, &counters.bytes_received].map(|counter| counter.load(Relaxed));
        let [messages, bytes] =
            [0, 1].map(|which| now[which].wrapping_sub(self.received[which].load(Relaxed)));
        if messages >= RECENT {
            self.received.iter().zip(now).for_each(|(before, now)| before.store(now, Relaxed));
            self.mean_bytes.store(bytes / messages, Relaxed);
        }
        self.mean_bytes.load(Relaxed)
    }

    /// Moves this rank to a core that suits, unless it has moved lately.
    #[cold]
    fn move_where(&self, suits: impl Fn(usize) -> bool) {
        let now = clock::nanoseconds();
        if now - self.moved.load(Relaxed) > BETWEEN_MOVES {
            self.moved.store(now, Relaxed);
            move_to(|core| suits(core).then_some(0));
        }
    }
}

/// Whether a rank on the core `here` may join its partner `there`. The later of the two may if the other core has no more
/// ranks, so that it can have more by two then; another pair finds one another by evening that out, with its earlier rank.
fn may_join((here, there): (u32, u32), is_later: bool, cores: impl Iterator<Item = u32>) -> bool {
    let (mut ranks_here, mut ranks_there) = (0, 0);
    for core in cores {
        ranks_here += u32::from(core == here);
        ranks_there += u32::from(core == there);
    }
    match is_later {
        true => ranks_there <= ranks_here,
        false => ranks_there < ranks_here,
    }
}

/// Moves this thread to the best of the other cores that it may use: that with the lowest number among those that suit. It
/// may use the same as before afterwards.
#[cold]
pub(super) fn move_to(suits: impl Fn(usize) -> Option<u16>) {
    // SAFETY: the sets live on the stack and have the size that is told.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = std::mem::size_of_val(&allowed);
        let core = libc::sched_getcpu();
        if core < 0 || libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return;
        }
        let others =
            (0..8 * size).filter(|&other| other != core as usize && libc::CPU_ISSET(other, &allowed));
        let suiting: Vec<_> = others.filter_map(|other| Some((suits(other)?, other))).collect();
        let Some(best) = suiting.iter().map(|other| other.0).min() else { return };
        let mut target: libc::cpu_set_t = std::mem::zeroed();
        for (_, other) in suiting.into_iter().filter(|other| other.0 == best) {
            libc::CPU_SET(other, &mut target);
        }
        if libc::sched_setaffinity(0, size, &target) == 0 {
            libc::sched_setaffinity(0, size, &allowed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    fn allowed() -> libc::cpu_set_t {
        // SAFETY: the set has the size that is told.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
            set
        }
    }

    /// The page of the earlier of two ranks, and what the later one shows.
    fn pair() -> (&'static Page, Whereabouts) {
        let node: &'static NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
        (0..2).for_each(|rank| node.page(rank).identity.rank.store(rank, Relaxed));
        (node.page(0), Whereabouts::new(node, 1))
    }

    /// How often of a hundred times the rank of this thread moves, whose partner is `here` or on another core.
    fn moves(partner: &Partner, peer: &Page, here: bool) -> u32 {
        let mut moved = 0;
        for _ in 0..100 {
            let core = partner.whereabouts.show();
            let other = (0..libc::CPU_SETSIZE as u32)
                // SAFETY: the set is initialised.
                .find(|&other| other + 1 != core && unsafe { libc::CPU_ISSET(other as usize, &allowed()) })
                .map_or(core, |other| other + 1);
            let there = if here { core } else { other };
            peer.identity.core.store(there, Relaxed);
            (0..LOOKS_AT_A_WRONG_PLACE).for_each(|_| partner.in_vain(true, || [core, there].into_iter()));
            moved += u32::from(partner.whereabouts.show() != core);
            std::thread::sleep(std::time::Duration::from_nanos(2 * BETWEEN_MOVES));
        }
        moved
    }

    fn is_alone(cores: &libc::cpu_set_t) -> bool {
        // SAFETY: the set is initialised.
        unsafe { libc::CPU_COUNT(cores) == 1 }
    }

    #[test]
    fn one_of_two_ranks_on_a_core_moves_and_may_use_the_same_cores_as_before() {
        let before = allowed();
        let (first, second) = pair();
        let partner = Partner::new(second);
        assert_eq!(partner.place(), None);
        partner.set(Some(first));
        assert_eq!(partner.place(), Some(Place::AtWork), "nothing is known of it yet");
        let moved = moves(&partner, first, true);
        assert!(moved > 50 || is_alone(&before), "moved {moved} times of 100");
        // SAFETY: both sets are initialised.
        assert!(unsafe { libc::CPU_EQUAL(&before, &allowed()) });
    }

    #[test]
    fn ranks_that_send_each_other_long_messages_come_together() {
        let (first, second) = pair();
        let partner = Partner::new(second);
        partner.set(Some(first));
        let counters = &second.own().counters;
        counters.messages_received.store(RECENT, Relaxed);
        counters.bytes_received.store(RECENT * (BETTER_TOGETHER - 1), Relaxed);
        first.identity.partner.store(number(second.own()), Relaxed);
        let short = moves(&partner, first, false);
        assert!(short < 50, "moved {short} times of 100 for short messages");
        counters.messages_received.store(2 * RECENT, Relaxed);
        counters.bytes_received.store(3 * RECENT * BETTER_TOGETHER, Relaxed);
        let long = moves(&partner, first, false);
        assert!(long > 50 || is_alone(&allowed()), "moved {long} times of 100");
        first.identity.partner.store(number(first) + 7, Relaxed);
        let unwanted = moves(&partner, first, false);
        assert!(unwanted < 50, "moved {unwanted} times of 100 to a rank that waits for another one");
    }

    #[test]
    fn pairs_that_are_apart_meet_one_after_the_other() {
        // Two pairs of ranks, 0 and 1, 2 and 3, each apart on two cores.
        let may_join = |cores: [u32; 4], rank: usize| {
            let partner = rank ^ 1;
            may_join((cores[rank], cores[partner]), rank > partner, cores.into_iter())
        };
        assert_eq!([0, 1, 2, 3].map(|rank| may_join([1, 2, 1, 2], rank)), [false, true, false, true]);
        // Rank 1 has moved: now rank 2 may leave the full core, and rank 3 may not come there.
        assert!(may_join([1, 1, 1, 2], 2) && !may_join([1, 1, 1, 2], 3));
    }
}
