//! Even shares of the cores for the members of a collective, where ranks share cores.
//!
//! A collective is as slow as its slowest member, and a core with five members takes
//! longer than one with three. The system evens that out in the course of many
//! milliseconds, or not at all: ranks that wait and offer their core to others look as
//! busy to it as ranks that compute. So ranks show on which core they are, and a member
//! that waits looks now and then how the others lie. If a core that it may use has fewer
//! members by two at least, the last member on the fuller core moves there. The set of
//! cores that a rank may use stays what it was.

use super::partner::move_to;
use super::whereabouts::Whereabouts;
use crate::clock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Turns of waiting from one look to the next.
const EVERY: u32 = 4;
/// Nanoseconds between two moves of a rank, which cost some ten microseconds each: the
/// system may have reasons to move it back.
const BETWEEN_MOVES: u64 = 500_000;

/// How a rank shares the cores with others.
pub struct Spread {
    whereabouts: Whereabouts,
    turns: AtomicU32,
    moved: AtomicU64,
}

impl std::fmt::Debug for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spread").field("turns", &self.turns).finish_non_exhaustive()
    }
}

impl Spread {
    /// Nothing is known yet.
    pub fn new(whereabouts: Whereabouts) -> Spread {
        Spread { whereabouts, turns: AtomicU32::new(0), moved: AtomicU64::new(0) }
    }

    /// A turn of waiting: shows on which core this rank is, and now and then
    /// moves it if it had better be on another. It is the one at `place` among members
    /// on `cores`; cores are their numbers and one, or 0 where that is not known.
    #[inline]
    pub fn turn<Cores: Iterator<Item = u32>>(&self, place: u32, cores: impl Fn() -> Cores) {
        let turn = self.turns.load(Relaxed);
        self.turns.store(turn.wrapping_add(1), Relaxed);
        let core = self.whereabouts.show();
        if turn % EVERY == EVERY - 1 && cores().skip(place as usize + 1).all(|other| other != core) {
            self.even_out(core, cores());
        }
    }

    #[cold]
    fn even_out(&self, core: u32, cores: impl Iterator<Item = u32>) {
        let mut members = [0u16; libc::CPU_SETSIZE as usize + 1];
        for other in cores {
            if let Some(there) = members.get_mut(other as usize) {
                *there = there.saturating_add(1);
            }
        }
        let now = clock::nanoseconds();
        let here = members.get(core as usize).copied().unwrap_or(0);
        if now - self.moved.load(Relaxed) > BETWEEN_MOVES {
            self.moved.store(now, Relaxed);
            move_to(|other| (members[other + 1] + 2 <= here).then_some(members[other + 1]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    fn spread() -> Spread {
        let node: &'static NodeSegment = Box::leak(Box::new(NodeSegment::create(1).unwrap()));
        Spread::new(Whereabouts::new(node, 0))
    }

    /// Whether a rank moves within a few turns, being at `place` of members that are on
    /// its core or on none.
    fn moves(place: u32, here: &[bool]) -> bool {
        let spread = spread();
        let began = spread.whereabouts.show();
        let cores = || here.iter().map(move |&is_here| if is_here { began } else { 0 });
        (0..EVERY).for_each(|_| {
            spread.turn(place, cores);
        });
        spread.whereabouts.show() != began
    }

    #[test]
    fn the_last_of_many_on_a_core_moves_and_no_other() {
        // SAFETY: the set has the size that is told.
        let allowed = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
            libc::CPU_COUNT(&set)
        };
        let most = |place, here: &[bool]| (0..20).filter(|_| moves(place, here)).count() > 10;
        assert!(most(2, &[true, true, true]) || allowed == 1);
        assert!(most(2, &[true, true, true, false]) || allowed == 1);
        assert!(!most(1, &[true, true, true]), "it is not the last");
        assert!(!most(0, &[true, false, false]), "it is alone");
    }
}
