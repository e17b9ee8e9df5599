//! Locks that ranks of this node wait for or hold: each one's part of the queue (see [`LockHomes`](super::LockHomes)).
//!
//! A rank that dies stays in the queue until it is granted the lock, which then goes on to the next at once; what it
//! holds is given back for it, with a mark.

use super::lock_homes::{LockId, Waiter};
use std::collections::BTreeMap;

/// A rank of this node at a lock of another, or of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtLock {
    /// The node of the lock's owner.
    pub home: u32,
    /// It shares the lock with others.
    pub is_shared: bool,
    /// It has it.
    pub is_held: bool,
    /// The one behind it.
    pub next: Option<Waiter>,
    /// It is gone.
    pub is_gone: bool,
}

/// By rank, lock and ticket.
type Place = (u32, LockId, u64);

/// All of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockWaiters {
    places: BTreeMap<Place, AtLock>,
}

impl LockWaiters {
    /// A rank waits from now on.
    pub fn wait(&mut self, rank: u32, id: LockId, ticket: u64, (home, is_shared): (u32, bool)) {
        let waiting = AtLock { home, is_shared, is_held: false, next: None, is_gone: false };
        self.places.insert((rank, id, ticket), waiting);
    }

    /// One that waits or holds, by what a message says.
    pub fn at(&mut self, waiter: Waiter, id: LockId) -> Option<&mut AtLock> {
        self.places.get_mut(&(waiter.rank, id, waiter.ticket))
    }

    /// It is no longer there.
    pub fn leave(&mut self, waiter: Waiter, id: LockId) {
        self.places.remove(&(waiter.rank, id, waiter.ticket));
    }

    /// A rank gives a lock back, which it shared or not; whether it has it so.
    pub fn give_back(&mut self, rank: u32, id: LockId, is_shared: bool) -> bool {
        let mut all = self.places.range((rank, id, 0)..=(rank, id, u64::MAX));
        let held = all.find(|(_, at)| at.is_held && at.is_shared == is_shared).map(|(&place, _)| place);
        held.is_some_and(|place| self.places.remove(&place).is_some())
    }

    /// A rank is gone: what it held.
    pub fn lose_rank(&mut self, rank: u32) -> Vec<(LockId, AtLock)> {
        let of_rank =
            (rank, LockId { owner: 0, number: 0 }, 0)..(rank + 1, LockId { owner: 0, number: 0 }, 0);
        let held: Vec<Place> = self
            .places
            .range(of_rank.clone())
            .filter(|(_, at)| at.is_held)
            .map(|(&place, _)| place)
            .collect();
        let held = held.into_iter().map(|place| (place.1, self.places.remove(&place).expect("it was there")));
        let held = held.collect();
        self.places.range_mut(of_rank).for_each(|(_, at)| at.is_gone = true);
        held
    }

    /// A node is gone: whatever was held there, and all who wait, with the tickets of their requests.
    pub fn give_up(&mut self, home: u32) -> Vec<u64> {
        let mut tickets = Vec::new();
        self.places.retain(|&(_, _, ticket), at| {
            if !at.is_held && !at.is_gone {
                tickets.push(ticket);
            }
            at.is_held && at.home != home
        });
        tickets
    }

    /// How many wait or hold.
    pub fn count(&self) -> usize {
        self.places.len()
    }
}
