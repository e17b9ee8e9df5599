//! Which epochs of a member are open (MPI-5.0 §12.5), so that wrong calls are errors.

use super::{Assertions, Lock};
use crate::request::RequestId;
use crate::{Class, Error, Result};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How this member may access others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Access {
    /// Not at all.
    Closed = 0,
    /// A fence has opened an epoch, of which no use was made.
    Fenced = 1,
    /// The same, and use was made of it.
    InUse = 2,
    /// It has started an epoch for some.
    Started = 3,
    /// It holds locks of some.
    Locked = 4,
    /// It holds a shared lock of all.
    LockedAll = 5,
    /// Not any more: it has told the others that it needs their memory no more, and could not free the window.
    Over = 6,
}

impl Access {
    fn from_raw(raw: u32) -> Access {
        use Access::*;
        [Closed, Fenced, InUse, Started, Locked, LockedAll, Over][raw as usize % 7]
    }

    fn text(self) -> &'static str {
        match self {
            Access::Closed => "no epoch is open",
            Access::Fenced | Access::InUse => "an epoch of a fence is open",
            Access::Started => "an epoch that this process has started is open",
            Access::Locked => "an epoch of locks is open",
            Access::LockedAll => "an epoch of the locks of all members is open",
            Access::Over => {
                "this process has given the window up (it was to be freed, and a member had failed)"
            }
        }
    }
}

/// Of a target: it may be accessed.
const OPEN: u8 = 1;
/// Its lock is held alone.
const ALONE: u8 = 2;
/// Its lock was not asked for.
const UNCHECKED: u8 = 4;

/// The locks of all are held, and its one was asked for.
const ASKED_FOR: u8 = 8;

/// The epochs of a member.
#[derive(Debug)]
pub struct Epochs {
    access: AtomicU32,
    /// Grows when one begins or ends.
    number: AtomicU64,
    targets: Box<[AtomicU8]>,
    /// How many locks are held.
    locks: AtomicU32,
    /// Whether the locks of all were asked for.
    all_checked: AtomicU32,
    groups: Mutex<Groups>,
}

/// The groups of epochs that only some take part in.
#[derive(Debug, Default)]
pub struct Groups {
    /// Whom this member accesses.
    pub started: Option<Vec<u32>>,
    /// The words of those that access it, that they have completed.
    pub posted: Option<Awaited>,
}

/// Words of members that this one waits for.
#[derive(Debug)]
pub enum Awaited {
    /// They come in shared memory, from these members.
    InMemory(Vec<u32>),
    /// These receives take them.
    Messages(Vec<RequestId>),
}

impl Epochs {
    /// None open, to so many members.
    pub fn new(members: u32) -> Epochs {
        Epochs {
            access: AtomicU32::new(0),
            number: AtomicU64::new(0),
            targets: (0..members).map(|_| AtomicU8::new(0)).collect(),
            locks: AtomicU32::new(0),
            all_checked: AtomicU32::new(0),
            groups: Mutex::default(),
        }
    }

    fn access(&self) -> Access {
        Access::from_raw(self.access.load(Relaxed))
    }

    fn set(&self, access: Access) {
        self.number.fetch_add(1, Relaxed);
        self.access.store(access as u32, Relaxed);
    }

    /// The groups.
    pub fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation on a member, or on nobody.
    ///
    /// # Errors
    /// `RmaSync` when it may not be accessed now.
    #[inline]
    pub fn check(&self, target: Option<u32>) -> Result<()> {
        match self.access() {
            Access::LockedAll | Access::InUse => Ok(()),
            Access::Locked | Access::Started if target.is_none_or(|rank| self.is_open(rank)) => Ok(()),
            Access::Fenced => {
                self.set(Access::InUse);
                Ok(())
            }
            access => Err(outside(access, target)),
        }
    }

    /// The same for what needs a lock.
    ///
    /// # Errors
    /// As [`Epochs::check`]; in all other epochs as well.
    #[inline]
    pub fn check_passive(&self, target: Option<u32>) -> Result<()> {
        match self.access() {
            Access::LockedAll => Ok(()),
            Access::Locked if target.is_none_or(|rank| self.is_open(rank)) => Ok(()),
            access => Err(not_locked(access, target)),
        }
    }

    #[inline]
    fn is_open(&self, rank: u32) -> bool {
        self.targets[rank as usize].load(Relaxed) & OPEN != 0
    }

    fn free_for(&self, call: &str) -> Result<()> {
        match self.access() {
            Access::Closed | Access::Fenced => Ok(()),
            access => Err(sync(format!("{} and has to be closed before {call}", access.text()))),
        }
    }

    /// A fence, before it waits for the others.
    ///
    /// # Errors
    /// `RmaSync` within another epoch.
    pub fn check_fence(&self) -> Result<()> {
        match self.access() {
            Access::InUse => Ok(()),
            _ if self.groups().posted.is_some() => Err(sync(
                "memory is exposed to a group by a post: wait for its accesses before a fence".to_owned(),
            )),
            _ => self.free_for("a fence"),
        }
    }

    /// It is over.
    pub fn fenced(&self, assertions: Assertions) {
        self.set(if assertions.has(Assertions::NOSUCCEED) { Access::Closed } else { Access::Fenced });
    }

    /// Whether an epoch may be started.
    ///
    /// # Errors
    /// `RmaSync` within another epoch.
    pub fn check_start(&self) -> Result<()> {
        self.free_for("another one is started")
    }

    /// The number of the epoch of accesses, if one is open.
    pub fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// An epoch has been started for these.
    pub fn start(&self, ranks: Vec<u32>) {
        ranks.iter().for_each(|&rank| self.targets[rank as usize].store(OPEN, Relaxed));
        self.groups().started = Some(ranks);
        self.set(Access::Started);
    }

    /// It is over: for whom it was.
    ///
    /// # Errors
    /// `RmaSync` when there is none.
    pub fn complete(&self) -> Result<Vec<u32>> {
        let Some(ranks) = self.groups().started.take() else {
            return Err(sync(format!(
                "{}, and this process has started none that it could complete",
                self.access().text()
            )));
        };
        ranks.iter().for_each(|&rank| self.targets[rank as usize].store(0, Relaxed));
        self.set(Access::Closed);
        Ok(ranks)
    }

    /// Whether a lock of a member may be asked for.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, or when this process holds it.
    pub fn check_lock(&self, rank: u32) -> Result<()> {
        match self.access() {
            Access::Locked if !self.is_open(rank) => Ok(()),
            Access::Locked => Err(sync(format!("this process holds the lock of rank {rank} already"))),
            _ => self.free_for("a lock is asked for"),
        }
    }

    /// It is held.
    pub fn lock(&self, rank: u32, lock: Lock, assertions: Assertions) {
        let alone = if lock == Lock::Exclusive { ALONE } else { 0 };
        let unchecked = if assertions.has(Assertions::NOCHECK) { UNCHECKED } else { 0 };
        self.targets[rank as usize].store(OPEN | alone | unchecked, Relaxed);
        self.locks.fetch_add(1, Relaxed);
        self.set(Access::Locked);
    }

    /// It is given back: what lock it was, if it was asked for.
    ///
    /// # Errors
    /// `RmaSync` when this process does not hold it.
    pub fn unlock(&self, rank: u32) -> Result<Option<Lock>> {
        if self.access() != Access::Locked || !self.is_open(rank) {
            return Err(not_locked(self.access(), Some(rank)));
        }
        let held = self.targets[rank as usize].swap(0, Relaxed);
        if self.locks.fetch_sub(1, Relaxed) == 1 {
            self.set(Access::Closed);
        }
        let lock = if held & ALONE != 0 { Lock::Exclusive } else { Lock::Shared };
        Ok((held & UNCHECKED == 0).then_some(lock))
    }

    /// Whether the locks of all may be asked for.
    ///
    /// # Errors
    /// `RmaSync` within another epoch.
    pub fn check_lock_all(&self) -> Result<()> {
        self.free_for("the locks of all are asked for")
    }

    /// They are held.
    pub fn lock_all(&self, assertions: Assertions) {
        self.all_checked.store(u32::from(!assertions.has(Assertions::NOCHECK)), Relaxed);
        self.set(Access::LockedAll);
    }

    /// Whether the locks of all are held, but that of a member was not asked for yet.
    #[inline]
    pub fn lacks_lock(&self, rank: u32) -> bool {
        self.access() == Access::LockedAll
            && self.all_checked.load(Relaxed) != 0
            && self.targets[rank as usize].load(Relaxed) & ASKED_FOR == 0
    }

    /// It is asked for.
    pub fn ask_for_lock(&self, rank: u32) {
        self.targets[rank as usize].fetch_or(ASKED_FOR, Relaxed);
    }

    /// Whether it was, in an epoch that is over now.
    pub fn has_asked_for_lock(&self, rank: u32) -> bool {
        self.targets[rank as usize].swap(0, Relaxed) & ASKED_FOR != 0
    }

    /// They are given back; whether they were asked for.
    ///
    /// # Errors
    /// `RmaSync` when this process does not hold them.
    pub fn unlock_all(&self) -> Result<bool> {
        if self.access() != Access::LockedAll {
            return Err(sync(format!(
                "{}, but this process does not hold the locks of all",
                self.access().text()
            )));
        }
        self.set(Access::Closed);
        Ok(self.all_checked.load(Relaxed) != 0)
    }

    /// No epoch is opened any more.
    pub fn end(&self) {
        self.set(Access::Over);
    }

    /// Whether the window may be freed.
    ///
    /// # Errors
    /// `RmaSync` while an epoch is open.
    pub fn check_free(&self) -> Result<()> {
        if self.groups().posted.is_some() {
            return Err(sync(
                "memory is exposed to a group by a post: wait for its accesses first".to_owned(),
            ));
        }
        match self.access() {
            Access::Over => Ok(()),
            Access::InUse => Ok(()), // the end of the last fence's epoch is this call, which waits for all
            _ => self.free_for("the window is freed"),
        }
    }
}

#[cold]
fn sync(sentence: String) -> Error {
    Error::new(Class::RmaSync, sentence)
}

#[cold]
fn outside(access: Access, target: Option<u32>) -> Error {
    let of = target.map_or(String::new(), |rank| format!(" of rank {rank}"));
    sync(match access {
        Access::Closed => format!(
            "no epoch is open in which memory{of} may be accessed: begin one by a fence, a start or a lock"
        ),
        _ => format!("{}, but none in which memory{of} may be accessed", access.text()),
    })
}

#[cold]
fn not_locked(access: Access, target: Option<u32>) -> Error {
    let of = target.map_or("any member".to_owned(), |rank| format!("rank {rank}"));
    sync(match access {
        Access::Closed => format!("this process holds no lock of {of} in this window"),
        _ => format!("{}, but this process holds no lock of {of} by itself", access.text()),
    })
}
