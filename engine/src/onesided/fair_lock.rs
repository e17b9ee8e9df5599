//! A lock for one writer or many readers, in shared memory, in the order of asking.
//!
//! # Protocol
//! A rank that asks takes the next ticket. Two turns go through the tickets: a reader may enter when
//! it is its ticket's turn to read, a writer when it is its turn to write. A reader that has
//! entered moves the turn to read on, so that readers who follow each other are in at once;
//! all move the turn to write on when they leave, and a writer that of reading first. So the
//! turn to write is how many have left, and a writer is alone.
//!
//! How those sleep whose turn it is not, and who wakes them, is the caller's: after
//! [`FairLock::enter`] and [`FairLock::leave`] the turns have changed.

use crate::onesided::Lock;
use crate::sync::{AtomicU32, Ordering};

/// The lock. Zero: free.
#[derive(Debug)]
#[repr(C)]
pub struct FairLock {
    next: AtomicU32,
    read: AtomicU32,
    write: AtomicU32,
    /// 1 + rank of the writer inside, for people.
    writer: AtomicU32,
}

impl FairLock {
    /// Free.
    #[cfg(any(test, loom))]
    pub fn new() -> FairLock {
        let word = || AtomicU32::new(0);
        FairLock { next: word(), read: word(), write: word(), writer: word() }
    }

    /// Asks for the lock: a ticket.
    #[inline]
    pub fn ask(&self) -> u32 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Asks for the lock alone, if nobody has it or waits for it: a ticket whose turn it is.
    pub fn try_to_ask(&self) -> Option<u32> {
        let ticket = self.write.load(Ordering::SeqCst);
        let taken =
            self.next.compare_exchange(ticket, ticket.wrapping_add(1), Ordering::SeqCst, Ordering::SeqCst);
        taken.is_ok().then_some(ticket)
    }

    /// Whether it is the turn of a ticket.
    #[inline]
    pub fn is_turn(&self, kind: Lock, ticket: u32) -> bool {
        self.turn(kind).load(Ordering::SeqCst) == ticket // turn: paired with `enter` and `leave`
    }

    #[inline]
    fn turn(&self, kind: Lock) -> &AtomicU32 {
        match kind {
            Lock::Shared => &self.read,
            Lock::Exclusive => &self.write,
        }
    }

    /// Enters with a ticket whose turn it is. Whether the turns have changed.
    #[inline]
    pub fn enter(&self, kind: Lock, ticket: u32, rank: u32) -> bool {
        match kind {
            Lock::Shared => self.read.store(ticket.wrapping_add(1), Ordering::SeqCst),
            Lock::Exclusive => self.writer.store(rank + 1, Ordering::Relaxed),
        }
        kind == Lock::Shared
    }

    /// Leaves. The turns have changed then.
    #[inline]
    pub fn leave(&self, kind: Lock) {
        if kind == Lock::Exclusive {
            self.writer.store(0, Ordering::Relaxed);
            self.read.fetch_add(1, Ordering::SeqCst);
        }
        self.write.fetch_add(1, Ordering::SeqCst);
    }

    /// The rank that holds it alone.
    pub fn writer(&self) -> Option<u32> {
        self.writer.load(Ordering::Relaxed).checked_sub(1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_writers_wait_their_turn() {
        let lock = FairLock::new();
        let tickets: Vec<u32> = (0..4).map(|_| lock.ask()).collect();
        let [first, second, writer, last] = tickets[..] else { unreachable!() };
        assert!(lock.is_turn(Lock::Shared, first) && !lock.is_turn(Lock::Shared, second));
        assert!(lock.enter(Lock::Shared, first, 0));
        assert!(lock.is_turn(Lock::Shared, second));
        lock.enter(Lock::Shared, second, 1);
        assert!(!lock.is_turn(Lock::Exclusive, writer));
        lock.leave(Lock::Shared);
        assert!(!lock.is_turn(Lock::Exclusive, writer));
        lock.leave(Lock::Shared);
        assert!(lock.is_turn(Lock::Exclusive, writer) && !lock.is_turn(Lock::Shared, last));
        assert!(!lock.enter(Lock::Exclusive, writer, 2));
        assert_eq!(lock.writer(), Some(2));
        lock.leave(Lock::Exclusive);
        assert!(lock.is_turn(Lock::Shared, last) && lock.writer().is_none());
    }

    #[test]
    fn it_is_asked_for_at_once_when_nobody_has_it_or_waits() {
        let lock = FairLock::new();
        let ticket = lock.try_to_ask().unwrap();
        assert!(lock.is_turn(Lock::Exclusive, ticket) && lock.try_to_ask().is_none());
        lock.enter(Lock::Exclusive, ticket, 0);
        let waiting = lock.ask();
        lock.leave(Lock::Exclusive);
        assert!(lock.try_to_ask().is_none());
        lock.enter(Lock::Shared, waiting, 0);
        assert!(lock.try_to_ask().is_none());
        lock.leave(Lock::Shared);
        assert_eq!(lock.try_to_ask(), Some(2));
    }
}
