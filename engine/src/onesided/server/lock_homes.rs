//! Locks at home: the server of the node of their owner.
//!
//! A lock that is taken is not waited for in a buffer. Those who wait stand in a queue, but the home knows only its two
//! ends: each one who waits is told who comes *next* after it, and its own server keeps that. When it is granted the
//! lock, its server tells the home its *follower*, which is the head of the queue from then on. So a lock takes the same
//! memory at home however many wait, and none while nobody holds it. They are granted in the order in which they came;
//! a *shared* lock may be held by several that came one after the other.

use super::header::{BROKEN, FOLLOWED, REFUSED, SHARED};
use super::{Fault, Header, Kind};
use std::collections::BTreeMap;

/// Which lock, on the node of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId {
    /// Job rank of its owner.
    pub owner: u32,
    /// One of the owner's.
    pub number: u64,
}

/// One who asks for a lock: a thread of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiter {
    /// Its node.
    pub node: u32,
    /// Its job rank.
    pub rank: u32,
    /// The ticket of its request.
    pub ticket: u64,
    /// It wants to share the lock.
    pub is_shared: bool,
}

/// Bytes of a waiter in a message's body.
pub const WAITER_BYTES: usize = 16;

impl Waiter {
    /// The one who has sent a request for a lock, or for whom a message about it is.
    pub fn of(header: &Header) -> Waiter {
        let (node, rank, ticket) = (header.origin, header.origin_rank, header.ticket);
        Waiter { node, rank, ticket, is_shared: header.has(SHARED) }
    }

    /// As the body of a message: node, rank with the wish to share as its highest bit, ticket.
    pub fn write(&self) -> [u8; WAITER_BYTES] {
        let mut bytes = [0; WAITER_BYTES];
        bytes[..4].copy_from_slice(&self.node.to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.rank | u32::from(self.is_shared) << 31).to_le_bytes());
        bytes[8..].copy_from_slice(&self.ticket.to_le_bytes());
        bytes
    }

    /// Of a message's body.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(body: &[u8]) -> Result<Waiter, Fault> {
        let bytes: &[u8; WAITER_BYTES] = body.try_into().map_err(|_| Fault("a lock's message is garbled"))?;
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let ticket = u64::from_le_bytes(bytes[8..].try_into().expect("8 bytes"));
        Ok(Waiter { node: short(0), rank: short(4) & !(1 << 31), ticket, is_shared: short(4) >> 31 == 1 })
    }
}

/// The head of the queue of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Head {
    /// Nobody waits.
    #[default]
    None,
    /// This one.
    Known(Waiter),
    /// Somebody: the one granted last will tell.
    Awaited,
}

/// A lock that is held, or waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Home {
    sharers: u32,
    /// Who has it alone.
    holder: Option<Waiter>,
    head: Head,
    tail: Option<Waiter>,
    /// A holder has died, and the next one has not been told yet.
    is_inherited: bool,
    /// It cannot be told any more who holds it: all are refused.
    is_lost: bool,
}

/// A message about a lock, to be sent.
pub type Word = (u32, Header, Option<Waiter>);

/// The locks of the ranks of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockHomes {
    homes: BTreeMap<LockId, Home>,
}

impl LockHomes {
    /// Somebody asks for a lock.
    pub fn ask(&mut self, id: LockId, waiter: Waiter) -> Option<Word> {
        let home = self.homes.entry(id).or_default();
        match (home.head, home.tail) {
            (Head::None, _) if home.is_open(waiter.is_shared) => {
                let word = home.grant(id, waiter, false);
                self.forget_if_idle(id);
                return Some(word);
            }
            (Head::None, _) => home.head = Head::Known(waiter),
            (_, Some(tail)) => {
                home.tail = Some(waiter);
                return Some((tail.node, about(Kind::Next, id, tail), Some(waiter)));
            }
            (_, None) => unreachable!("a queue has two ends"),
        }
        home.tail = Some(waiter);
        None
    }

    /// A holder gives it back, or has died with it.
    ///
    /// # Errors
    /// The number of a refusal, when nobody holds it so.
    pub fn leave(&mut self, id: LockId, is_shared: bool, has_died: bool) -> Result<Option<Word>, u64> {
        let home = self.homes.get_mut(&id).ok_or(NOT_HELD)?;
        match is_shared {
            true if home.sharers > 0 => home.sharers -= 1,
            false if home.holder.is_some() => home.holder = None,
            _ if home.is_lost => return Err(LOST),
            _ => return Err(NOT_HELD),
        }
        home.is_inherited |= has_died;
        Ok(self.go_on(id))
    }

    /// The one that was granted a lock last says who is behind it.
    pub fn follower(&mut self, id: LockId, waiter: Waiter) -> Option<Word> {
        let home = self.homes.get_mut(&id).filter(|home| home.head == Head::Awaited)?;
        home.head = Head::Known(waiter);
        self.go_on(id)
    }

    /// Grants a lock to the head of its queue if it can be.
    fn go_on(&mut self, id: LockId) -> Option<Word> {
        let home = self.homes.get_mut(&id)?;
        let word = match home.head {
            Head::Known(waiter) if home.is_open(waiter.is_shared) => {
                let is_last = home.tail == Some(waiter);
                home.head = if is_last { Head::None } else { Head::Awaited };
                home.tail = home.tail.filter(|_| !is_last);
                Some(home.grant(id, waiter, !is_last))
            }
            _ => None,
        };
        self.forget_if_idle(id);
        word
    }

    /// The owner is gone: all who ask are refused.
    pub fn lose(&mut self, is_meant: impl Fn(&LockId) -> bool) -> Vec<Word> {
        let ids: Vec<LockId> = self.homes.keys().copied().filter(|id| is_meant(id)).collect();
        let words = ids.into_iter().filter_map(|id| {
            self.homes.get_mut(&id)?.is_lost = true;
            self.go_on(id)
        });
        words.collect()
    }

    /// Nobody can tell any more who holds a lock and who waits for it: all in use are lost.
    pub fn lose_all(&mut self) {
        self.homes.values_mut().for_each(|home| *home = Home { is_lost: true, ..Home::default() });
    }

    fn forget_if_idle(&mut self, id: LockId) {
        if self.homes.get(&id).is_some_and(Home::is_idle) {
            self.homes.remove(&id);
        }
    }

    /// Holders of a lock, and whether it is held by one alone.
    pub fn holders(&self, id: LockId) -> (u32, bool) {
        self.homes.get(&id).map_or((0, false), |home| (home.sharers, home.holder.is_some()))
    }

    /// How many locks are held or waited for.
    pub fn in_use(&self) -> usize {
        self.homes
            .values()
            .filter(|home| home.sharers > 0 || home.holder.is_some() || home.tail.is_some())
            .count()
    }
}

/// The lock is not held by whoever gives it back.
pub const NOT_HELD: u64 = 1;
/// The owner of the lock is gone, or a node was while it was in use.
pub const LOST: u64 = 2;

impl Home {
    fn is_open(&self, is_shared: bool) -> bool {
        self.is_lost || self.holder.is_none() && (is_shared || self.sharers == 0)
    }

    fn is_idle(&self) -> bool {
        self.sharers == 0
            && self.holder.is_none()
            && self.head == Head::None
            && !self.is_inherited
            && !self.is_lost
    }

    fn grant(&mut self, id: LockId, waiter: Waiter, is_followed: bool) -> Word {
        let mut header = about(Kind::Granted, id, waiter);
        header.flags |= if is_followed { FOLLOWED } else { 0 };
        if self.is_lost {
            header.flags |= REFUSED;
        } else {
            header.flags |= if std::mem::take(&mut self.is_inherited) { BROKEN } else { 0 };
            self.sharers += u32::from(waiter.is_shared);
            self.holder = Some(waiter).filter(|waiter| !waiter.is_shared);
        }
        (waiter.node, header, None)
    }
}

/// The header of a message to one who waits.
fn about(kind: Kind, id: LockId, to: Waiter) -> Header {
    Header {
        kind,
        flags: if to.is_shared { SHARED } else { 0 },
        origin: to.node,
        origin_rank: to.rank,
        ticket: to.ticket,
        target_rank: id.owner,
        number: id.number,
        ..Header::default()
    }
}
