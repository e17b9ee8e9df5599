//! The one rank that is waited for, where ranks share cores.
//!
//! Two ranks that talk to each other had better be on different cores: both can
//! be awake at once then, and a message does not have to wait until a core has
//! changed hands. So a rank shows on its page on which core it is. A rank that waits for a
//! partner on another core looks for about a microsecond, as long as giving up the
//! core would take; if both are on one core it gives the core up at once. If that
//! goes on, one of the two moves.

use crate::clock;
use crate::observe::Page;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Waits on one core, one after the other, before one of the two moves.
const WAITS_TOGETHER: u32 = 16;
/// Nanoseconds between two moves of a rank: a move costs some ten microseconds,
/// and the system may have reasons to move it back.
const BETWEEN_MOVES: u64 = 2_000_000;

/// Whom a rank waits for.
pub struct Partner {
    own: &'static Page,
    /// Null: nobody in particular.
    peer: AtomicPtr<Page>,
    together: AtomicU32,
    moved: AtomicU64,
}

impl std::fmt::Debug for Partner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partner").field("together", &self.together).finish_non_exhaustive()
    }
}

impl Partner {
    /// Nobody yet.
    pub fn new(own: &'static Page) -> Partner {
        let peer = AtomicPtr::new(std::ptr::null_mut());
        Partner { own, peer, together: AtomicU32::new(0), moved: AtomicU64::new(0) }
    }

    /// From now on this rank waits for `peer`, or for nobody in particular.
    #[inline]
    pub fn set(&self, peer: Option<&'static Page>) {
        let peer = peer.map_or(std::ptr::null_mut(), |page| std::ptr::from_ref(page).cast_mut());
        if self.peer.load(Relaxed) != peer {
            self.peer.store(peer, Relaxed);
            self.together.store(0, Relaxed);
        }
    }

    /// Whether the partner was last seen on another core; `None` without one.
    #[inline]
    pub fn is_apart(&self) -> Option<bool> {
        // SAFETY: null or what `set` was given.
        let peer = unsafe { self.peer.load(Relaxed).as_ref()? };
        let (own, other) = (core_here(self.own), peer.identity.core.load(Relaxed));
        Some(own != other)
    }

    /// A look for the partner's message was in vain, and the core is about to be
    /// given up. Moves this rank if the two have been on one core for long.
    pub fn in_vain(&self) {
        if self.is_apart() != Some(false) {
            self.together.store(0, Relaxed);
            return;
        }
        let together = self.together.load(Relaxed) + 1;
        self.together.store(together, Relaxed);
        // Of the two only one may move: pages lie in the order of ranks.
        let is_later = std::ptr::from_ref(self.own).cast_mut() > self.peer.load(Relaxed);
        if together < WAITS_TOGETHER || !is_later {
            return;
        }
        self.together.store(0, Relaxed);
        let now = clock::nanoseconds();
        if now - self.moved.load(Relaxed) > BETWEEN_MOVES {
            self.moved.store(now, Relaxed);
            leave_core();
        }
    }
}

/// Shows on its page on which core this rank is, and says so: its number and one.
#[inline]
pub(super) fn core_here(own: &Page) -> u32 {
    // SAFETY: no memory is involved.
    let core = unsafe { libc::sched_getcpu() }.unsigned_abs() + 1;
    let shown = &own.identity.core;
    if shown.load(Relaxed) != core {
        shown.store(core, Relaxed);
    }
    core
}

/// Moves this thread to another of the cores that it may use, if there is one. It
/// may use the same as before afterwards.
fn leave_core() {
    move_to(|_| Some(0));
}

/// The same to the best of the cores that suit: that with the lowest number.
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

    fn page() -> &'static Page {
        // SAFETY: a page is made of atomic integers, for which zero is a value.
        Box::leak(Box::new(unsafe { std::mem::zeroed() }))
    }

    #[test]
    fn one_of_two_ranks_on_a_core_moves_and_may_use_the_same_cores_as_before() {
        let allowed = || {
            // SAFETY: the set has the size that is told.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
                set
            }
        };
        let before = allowed();
        let (one, other) = (page(), page());
        let (first, second) = if std::ptr::from_ref(one) < other { (one, other) } else { (other, one) };
        let partner = Partner::new(second);
        assert_eq!(partner.is_apart(), None);
        partner.set(Some(first));
        assert_eq!(partner.is_apart(), Some(true), "nothing is known of it yet");
        let mut moved = 0;
        for _ in 0..100 {
            let core = core_here(partner.own);
            first.identity.core.store(core, Relaxed);
            (0..WAITS_TOGETHER).for_each(|_| partner.in_vain());
            moved += u32::from(core_here(partner.own) != core);
            std::thread::sleep(std::time::Duration::from_nanos(2 * BETWEEN_MOVES));
        }
        // SAFETY: both sets are initialised.
        unsafe {
            assert!(moved > 50 || libc::CPU_COUNT(&before) == 1, "moved {moved} times of 100");
            assert!(libc::CPU_EQUAL(&before, &allowed()));
        }
    }
}
