//! The order in which a thread takes locks (`docs/rooms/locks.md`), checked in debug builds.
//!
//! A thread that takes two locks in one order, while another thread takes them in the other order, may wait
//! for ever, but seldom does so in a test. So each lock has a level, and a thread that takes one at or above
//! the level of a lock that it holds panics at once. In a release build nothing of this is left.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a lock stands in the order. A thread takes locks of growing levels only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// The way to other jobs is being made.
    pub const BEYOND: Level = Level(0);
    /// Blocks that are lent to communicators.
    pub const POOL: Level = Level(1);
    /// What servers have been asked for; taken before the state of the own server.
    pub const DEFERRED: Level = Level(37);
    /// A group for multicast.
    pub const GROUP: Level = Level(38);
    /// What processes of other jobs have told.
    pub const HEARSAY: Level = Level(39);
    /// The server of the node.
    pub const SERVER: Level = Level(40);
    /// Its way to the memory of the ranks.
    pub const REACH: Level = Level(41);
    /// What waiting threads have said; taken under all lanes.
    pub const ANSWERS: Level = Level(64);
    /// Events that no tool has heard yet.
    pub const NOTES: Level = Level(65);
    /// This rank's CPUs and its group.
    pub const CROWD: Level = Level(66);
    /// Bounce buffers that nobody uses.
    pub const BOUNCE: Level = Level(67);
    /// Memory of devices that peers lend.
    pub const BORROWED: Level = Level(68);
    /// What this process shows those to which it lends.
    pub const LENT: Level = Level(69);
    /// Streams of devices.
    pub const DEVICE: Level = Level(70);
    /// Host memory that stands for that of devices.
    pub const STAND_INS: Level = Level(71);
    /// Room in which devices pack data.
    pub const PACKING: Level = Level(72);
    /// Jobs that this process has started.
    pub const CHILDREN: Level = Level(73);
    /// Processes that were started apart.
    pub const STRANGERS: Level = Level(74);

    /// A lane by its number.
    pub const fn lane(number: usize) -> Level {
        assert!(number < 32);
        Level(2 + number as u8)
    }
}

/// That this thread holds a lock of some level.
#[derive(Debug)]
#[must_use]
pub struct Held {
    #[cfg(debug_assertions)]
    level: Level,
}

#[cfg(debug_assertions)]
mod held {
    use super::{Held, Level};
    use std::cell::Cell;

    thread_local! {
        /// A bit for each level of which this thread holds a lock.
        static LEVELS: Cell<u128> = const { Cell::new(0) };
    }

    /// This thread is about to wait for a lock.
    #[track_caller]
    pub fn check(level: Level) {
        let held = LEVELS.get() >> level.0;
        assert!(held & 1 == 0, "this thread holds a lock of {level:?} and takes one of that level again");
        assert!(held == 0, "this thread takes a lock of {level:?} and holds one of a later level");
    }

    /// This thread has got it.
    #[track_caller]
    pub fn enter(level: Level) -> Held {
        assert!(LEVELS.get() >> level.0 & 1 == 0, "this thread holds a lock of {level:?} twice");
        LEVELS.set(LEVELS.get() | 1 << level.0);
        Held { level }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            LEVELS.set(LEVELS.get() & !(1 << self.level.0));
        }
    }
}

#[cfg(not(debug_assertions))]
mod held {
    use super::{Held, Level};

    #[inline(always)]
    pub fn check(_: Level) {}

    #[inline(always)]
    pub fn enter(_: Level) -> Held {
        Held {}
    }
}

pub use held::{check, enter};

/// Access to what a mutex guards, until dropped.
#[derive(Debug)]
pub struct Ordered<'a, T> {
    guard: MutexGuard<'a, T>,
    _held: Held,
}

/// Takes a mutex that has a place in the order. One that a panic has left is taken as it is.
#[inline]
#[track_caller]
pub fn lock<T>(mutex: &Mutex<T>, level: Level) -> Ordered<'_, T> {
    check(level);
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    Ordered { guard, _held: enter(level) }
}

impl<T> Deref for Ordered<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Ordered<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(debug_assertions)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::lock::EngineLock;
    use std::panic::{catch_unwind, AssertUnwindSafe};

    fn is_refused(taking: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(taking)).is_err()
    }

    #[test]
    fn growing_levels_may_be_taken_and_given_back_in_any_order() {
        let (answers, notes) = (Mutex::new(1), Mutex::new(2));
        let first = lock(&answers, Level::ANSWERS);
        let second = lock(&notes, Level::NOTES);
        drop(first);
        assert_eq!(*second, 2);
        drop(second);
        assert_eq!(*lock(&answers, Level::ANSWERS), 1);
    }

    #[test]
    fn a_lock_against_the_order_is_refused() {
        let (answers, notes) = (Mutex::new(1), Mutex::new(2));
        let held = lock(&notes, Level::NOTES);
        assert!(is_refused(|| drop(lock(&answers, Level::ANSWERS))));
        drop(held);
        assert!(!is_refused(|| drop(lock(&answers, Level::ANSWERS))));
    }

    #[test]
    fn a_lane_is_not_entered_twice_whether_or_not_it_is_a_mutex() {
        for threaded in [false, true] {
            let lane = EngineLock::new(1, Level::lane(2), threaded);
            let held = lane.lock();
            assert!(is_refused(|| drop(lane.lock())), "threaded: {threaded}");
            drop(held);
            assert_eq!(*lane.lock(), 1);
        }
    }

    #[test]
    fn lanes_are_waited_for_in_the_order_of_their_numbers() {
        let lanes = [0, 1].map(|number| EngineLock::new(number, Level::lane(number), true));
        let later = lanes[1].lock();
        assert!(is_refused(|| drop(lanes[0].lock())));
        assert!(lanes[0].try_lock().is_some(), "an attempt cannot wait, so it may be made");
        drop(later);
    }
}
