//! What the members of a communicator expose to each other.

use super::control::Numbered;
use super::{find, Attached, Control, DevicePieces, Entry, Epochs, FairLock, Farewell, Lock, Region};
use crate::device::borrowing::Mapping;
use crate::memory::window::Opened;
use crate::world::{Communicator, Group};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where exposed memory comes from (MPI-5.0 §12.2, `MPI_WIN_CREATE_FLAVOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program has brought it.
    Created,
    /// The library has allocated it.
    Allocated,
    /// The same, and all members reach all of it by plain loads and stores.
    Shared,
    /// It is attached and detached later.
    Dynamic,
}

/// What a member exposes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins in the process of the member; `Engine::shared` says where it does
    /// in this one.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Bytes of a unit of displacement.
    pub unit: u64,
}

/// What a member tells all others about its segment.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Told {
    pub segment: Segment,
    /// The part that others reach by plain loads and stores.
    pub opened: Opened,
    /// The member in whose process it lies (shared segments lie with the first).
    pub owner: u64,
    /// Not 0: it cannot take part, and why (see `engine::onesided::exposing`).
    pub trouble: u64,
    /// Of the first member: the context of all.
    pub context: u64,
    /// 1 + where the segment lies in the blocks area of its owner, if it does.
    pub block: u64,
    /// Where its control words lie, and one: those of the first member serve all on its node.
    pub control: u64,
    /// How many mutexes it has.
    pub mutexes: u64,
    /// 1 + where those lie in its blocks area.
    pub mutexes_at: u64,
    /// The kind of memory, as a number.
    pub kind: u64,
    /// As in [`Entry`].
    pub lent: u64,
    /// Not 0: its job goes on without ranks that fail.
    pub outlives: u64,
}

impl Told {
    /// The segment, as an entry.
    pub fn entry(&self) -> Entry {
        let Segment { address, bytes, .. } = self.segment;
        Entry { address, bytes, opened: self.opened, kind: self.kind, lent: self.lent }
    }
}

/// One of the locks of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOf {
    /// Its rank.
    pub member: u32,
    /// Which of its mutexes; `None`: the lock of its segment.
    pub mutex: Option<u32>,
}

/// A rank that waits for a lock of this member: which one and how, its ticket, its rank and the tag of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub mutex: Option<u32>,
    pub kind: Lock,
    pub ticket: u32,
    pub who: (u32, i32),
}

/// What this member has done for an exposure, and takes back when it goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provided {
    /// What it has allocated.
    pub allocated: usize,
    /// What it has opened up, and how much of that others reach.
    pub opened: (usize, u64, Opened),
    /// 1 + where it lies in the own blocks area.
    pub block: u64,
    /// 1 + where the mutexes of this member lie there.
    pub mutexes: u64,
}

/// Where the mutexes of the members lie, as far as they are on this node.
#[derive(Debug, Default)]
pub(crate) struct Mutexes(pub Box<[Option<*const FairLock>]>);

// SAFETY: atomics in the node segment, which lives as long as the process.
unsafe impl Send for Mutexes {}
// SAFETY: as above.
unsafe impl Sync for Mutexes {}

/// Regions of a peer out of reach that are remembered, at most.
const MOST_HEARD_OF: usize = 64;

/// Of a dynamic exposure: what a peer has attached, as it was read last.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub version: u64,
    pub entries: Vec<Entry>,
    /// Where those are for this process that it has used since, in ascending order of addresses.
    pub regions: Vec<Arc<Region>>,
}

impl Known {
    /// The region in which so many bytes from an address on lie, if the list is of this version.
    pub fn region(&self, version: u64, (address, bytes): (u64, u64)) -> Option<Arc<Region>> {
        let after = self.regions.partition_point(|one| one.address <= address);
        let has_all = |one: &&Arc<Region>| {
            one.bytes.max(1).checked_sub(address - one.address).is_some_and(|rest| rest > 0 && bytes <= rest)
        };
        let found = self.regions[..after].last().filter(has_all);
        found.filter(|_| version == self.version).cloned()
    }

    /// Remembers a region of a peer whose list is out of reach, until the epoch with this number ends. The peer may detach it
    /// meanwhile: its server, or its servant, finds that out when it is asked for something there.
    pub fn hear_of(&mut self, epoch: u64, region: &Arc<Region>) {
        if self.version != epoch || self.regions.len() >= MOST_HEARD_OF {
            self.regions.clear();
        }
        self.version = epoch;
        let after = self.regions.partition_point(|one| one.address < region.address);
        let is_known = self.regions.get(after).is_some_and(|one| one.address == region.address);
        self.regions.splice(after..after + usize::from(is_known), [region.clone()]);
    }

    /// Remembers where an entry is for this process, if it is still in the list.
    pub fn remember(&mut self, entry: Entry, region: &Arc<Region>) {
        let after = self.regions.partition_point(|one| one.address < entry.address);
        let is_known = self.regions.get(after).is_some_and(|one| one.address == entry.address);
        if !is_known && find(&self.entries, entry.address, 0) == Some(entry) {
            self.regions.insert(after, region.clone());
        }
    }
}

/// An exposure of memory (MPI: a window), made and freed by all members together.
#[derive(Debug)]
pub struct Exposure {
    pub(crate) kind: Kind,
    pub(crate) communicator: Arc<Communicator>,
    pub(crate) told: Box<[Told]>,
    /// Where the segments are, found out at first use.
    pub(crate) regions: Box<[OnceLock<Region>]>,
    /// What members have attached.
    pub(crate) known: Box<[Mutex<Known>]>,
    pub(crate) control: Control,
    /// Each member that is on this node.
    pub(crate) peers: Box<[Option<JobRank>]>,
    /// Not all members are: each has control words of its own, which others reach by its servant.
    pub(crate) is_spread: bool,
    /// Those who wait for the own lock, then.
    pub(crate) queue: Mutex<Vec<Queued>>,
    /// This member answers others, which do not reach its memory.
    pub(crate) is_served: AtomicBool,
    /// The servers of the members' nodes do that, also while those compute.
    pub(crate) has_servers: AtomicBool,
    /// Answers of operations may come when the origin settles.
    pub(crate) may_answer_late: AtomicBool,
    /// It is freed, and nobody is served any more.
    pub(crate) is_over: AtomicBool,
    pub(crate) epochs: Epochs,
    pub(crate) attached: Attached,
    /// What this member exposes of devices' memory.
    pub(crate) device_pieces: DevicePieces,
    /// What is mapped here of other members' devices' memory.
    pub(crate) mappings: Mutex<Vec<Arc<Mapping>>>,
    /// Threads of this process that wait for locks.
    pub(crate) waiters: AtomicU32,
    /// Where the own segment begins in this process.
    pub(crate) base: OnceLock<u64>,
    pub(crate) provided: Mutex<Provided>,
    /// Empty where no member has any.
    pub(crate) mutexes: Mutexes,
    /// Who needs it no more.
    pub(crate) farewell: Arc<Farewell>,
    /// Members may fail and others go on: freeing waits for a word of each.
    pub(crate) ends_by_words: bool,
}

impl Exposure {
    /// It is used in epochs: what operations bring need not be there before these end, or a flush.
    pub fn use_in_epochs(&self) {
        self.may_answer_late.store(true, Ordering::Relaxed);
    }

    /// Where its memory comes from.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its members: a communicator of its own, which no program sees. What programs give
    /// an exposure (name, hints, attributes, error handler) is kept there.
    pub fn communicator(&self) -> &Arc<Communicator> {
        &self.communicator
    }

    /// Its members.
    pub fn group(&self) -> &Arc<Group> {
        &self.communicator.group
    }

    /// My rank among them.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.communicator.rank
    }

    /// How many they are.
    #[inline]
    pub fn size(&self) -> u32 {
        self.told.len() as u32
    }

    /// What I expose; of dynamic memory nothing.
    pub fn own(&self) -> Segment {
        let segment = self.told[self.rank() as usize].segment;
        Segment { address: self.base.get().copied().unwrap_or(segment.address), ..segment }
    }

    /// How many mutexes a member has.
    ///
    /// # Errors
    /// `Rank` when there is no such member.
    pub fn mutexes(&self, member: u32) -> Result<u64> {
        self.check_rank(member)?;
        Ok(self.told[member as usize].mutexes)
    }

    /// A lock of a member, if it is on this node.
    #[inline]
    pub(crate) fn lock_of(&self, lock: LockOf) -> Option<Numbered<'_>> {
        let Some(mutex) = lock.mutex else { return Some(self.control.lock(lock.member)) };
        let first = (*self.mutexes.0.get(lock.member as usize)?)?;
        let has = |told: &Told| told.mutexes as u32;
        if mutex >= has(&self.told[lock.member as usize]) {
            return None;
        }
        let before: u32 = self.told[..lock.member as usize].iter().map(has).sum();
        // SAFETY: the member has lent as many, zeroed; see `Mutexes`.
        let lock = unsafe { &*first.add(mutex as usize) };
        Some(Numbered { number: self.size() + before + mutex, lock })
    }

    /// Whether it can be freed now.
    ///
    /// # Errors
    /// `RmaSync` while an epoch of this member is open.
    pub fn check_free(&self) -> Result<()> {
        self.epochs.check_free()
    }

    /// What there is to take back, once.
    pub(crate) fn take_provided(&self) -> Provided {
        std::mem::take(&mut self.provided.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a member exposes, its address being the one in its own process.
    ///
    /// # Errors
    /// `Rank` when there is no such member.
    pub fn segment(&self, rank: u32) -> Result<&Segment> {
        self.check_rank(rank)?;
        Ok(&self.told[rank as usize].segment)
    }

    /// Whether there is such a member.
    ///
    /// # Errors
    /// `Rank` when there is not.
    #[inline]
    pub(crate) fn check_rank(&self, rank: u32) -> Result<()> {
        match rank < self.size() {
            true => Ok(()),
            false => Err(no_member(rank, self.size())),
        }
    }
}

#[cold]
fn no_member(rank: u32, size: u32) -> Error {
    let sentence = format!("rank {} is no member of this window, which has {size}", rank as i32);
    Error::new(Class::Rank, sentence)
}
