//! What the members of an exposure share: a lock of each segment, who sleeps for one, where the list of attached
//! memory of each member lies, and what members tell each other about epochs of groups.
//!
//! # Ownership
//! All of it is atomics. A member writes its own wish and its own list; locks are everybody's
//! ([`FairLock`]). A rank that sleeps says so in `sleepers` and its wish before it looks once more; who
//! changes a turn looks at them afterwards.

use super::fair_lock::FairLock;
use super::group_words::GroupWords;
use super::Lock;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::sync::atomic::AtomicU64 as Word;

const HEAD_BYTES: usize = size_of::<Head>();
const SEAT_BYTES: usize = size_of::<Seat>();

#[repr(C, align(64))]
struct Head {
    sleepers: AtomicU32,
}

/// What a member has there.
#[repr(C, align(64))]
pub struct Seat {
    /// The lock of its segment.
    pub lock: FairLock,
    /// For which lock it sleeps: 0, none; else see [`wish`]; all bits, more than one.
    wish: AtomicU64,
    /// How often its list of attached memory has changed, twice; odd while it changes.
    pub version: Word,
    /// Where that list lies in its process.
    pub list: Word,
    /// How many entries that has.
    pub length: Word,
}

#[cfg(not(loom))]
const _: () = assert!(SEAT_BYTES == 64 && HEAD_BYTES == 64);

/// A lock that the members share, and its number among all of them: that of the segment of a member has the member's
/// rank, mutexes follow.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'a> {
    pub number: u32,
    pub lock: &'a FairLock,
}

/// Several threads of a member sleep for locks.
const SEVERAL: u64 = u64::MAX;

/// A wish: for a lock, by a ticket.
fn wish(number: u32, ticket: u32) -> u64 {
    u64::from(number + 1) << 32 | u64::from(ticket)
}

/// Words of two members for loom, whose atomics are not zero at first.
#[cfg(loom)]
#[repr(C)]
pub struct Two(Head, [Seat; 2]);

#[cfg(loom)]
impl Two {
    /// Nobody holds or wants anything.
    pub fn new() -> Two {
        let seat = || Seat {
            lock: FairLock::new(),
            wish: AtomicU64::new(0),
            version: Word::new(0),
            list: Word::new(0),
            length: Word::new(0),
        };
        Two(Head { sleepers: AtomicU32::new(0) }, [seat(), seat()])
    }
}

/// The words of an exposure.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    base: *mut u8,
    members: u32,
}

// SAFETY: atomics in memory that lives as long as the process.
unsafe impl Send for Control {}
// SAFETY: as above.
unsafe impl Sync for Control {}

impl Control {
    /// Bytes for so many members.
    pub const fn bytes(members: u32) -> usize {
        HEAD_BYTES + members as usize * (SEAT_BYTES + GroupWords::bytes(members))
    }

    /// The words at `base`.
    ///
    /// # Safety
    /// [`Control::bytes`] there must be zero at first, aligned to 64 bytes, used for this alone, and
    /// mapped as long as this value and its copies are used.
    pub unsafe fn new(base: *mut u8, members: u32) -> Control {
        Control { base, members }
    }

    fn head(&self) -> &Head {
        // SAFETY: by `new`.
        unsafe { &*self.base.cast::<Head>() }
    }

    /// What a member has there.
    #[inline]
    pub fn seat(&self, rank: u32) -> &Seat {
        assert!(rank < self.members, "seat {rank} of {}", self.members);
        // SAFETY: by `new`, within the bytes.
        unsafe { &*self.base.add(HEAD_BYTES + rank as usize * SEAT_BYTES).cast::<Seat>() }
    }

    /// What a member has been told by others.
    #[inline]
    pub fn told(&self, rank: u32) -> GroupWords<'_> {
        assert!(rank < self.members, "words of {rank} of {}", self.members);
        let before = self.members as usize * SEAT_BYTES + rank as usize * GroupWords::bytes(self.members);
        // SAFETY: by `new`, within the bytes.
        unsafe { GroupWords::new(self.base.add(HEAD_BYTES + before), self.members) }
    }

    /// The lock of the segment of a member.
    #[inline]
    pub fn lock(&self, rank: u32) -> Numbered<'_> {
        Numbered { number: rank, lock: &self.seat(rank).lock }
    }

    /// Member `me` is about to sleep until it is its ticket's turn at a lock; others of its threads do too if `several`.
    /// It looks once more after this.
    pub fn lie_down(&self, me: u32, (number, ticket): (u32, u32), several: bool) {
        let wish = if several { SEVERAL } else { wish(number, ticket) };
        self.seat(me).wish.store(wish, Ordering::SeqCst);
        self.head().sleepers.fetch_add(1, Ordering::SeqCst);
    }

    /// It sleeps no more; no other of its threads does either if `last`.
    pub fn get_up(&self, me: u32, last: bool) {
        self.head().sleepers.fetch_sub(1, Ordering::SeqCst);
        if last {
            self.seat(me).wish.store(0, Ordering::SeqCst);
        }
    }

    /// The turns of a lock have changed: calls `ring` for each member that sleeps and may go on.
    #[inline]
    pub fn turned(&self, lock: Numbered, ring: impl FnMut(u32)) {
        if self.head().sleepers.load(Ordering::SeqCst) != 0 {
            self.wake(lock, ring);
        }
    }

    #[cold]
    fn wake(&self, Numbered { number, lock }: Numbered, mut ring: impl FnMut(u32)) {
        let is_turn = |wish: u64| {
            wish == SEVERAL
                || wish >> 32 == u64::from(number + 1)
                    && [Lock::Shared, Lock::Exclusive].into_iter().any(|kind| lock.is_turn(kind, wish as u32))
        };
        let members =
            (0..self.members).filter(|&member| is_turn(self.seat(member).wish.load(Ordering::SeqCst)));
        members.for_each(&mut ring);
    }
}
