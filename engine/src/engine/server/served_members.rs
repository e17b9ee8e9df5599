//! Members of exposures on this node, as its server knows them, and what is said about them.

use super::super::onesided::Served;
use crate::engine::Engine;
use crate::onesided::{
    Ask, Control, Entry, Exposure, FairLock, Kind, Known, Locking, Numbered, Region, Servant, Told,
    HEAD_BYTES,
};
use crate::transport::node::doorbell_of;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::sync::{Mutex, PoisonError};

/// An exposure and one of its members.
pub type Key = (u64, u32);

/// Bytes before what is asked: the exposure's context, the member, and who asks.
const WHOM_BYTES: usize = 16;

/// What is sent to ask for something.
pub fn body_of(servant: Servant, ask: Ask, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(WHOM_BYTES + HEAD_BYTES + data.len());
    body.extend(servant.context.to_ne_bytes());
    body.extend(servant.member.to_ne_bytes());
    body.extend(servant.me.to_ne_bytes());
    body.extend(ask.words(0).iter().flat_map(|word| word.to_ne_bytes()));
    body.extend_from_slice(data);
    body
}

/// Several requests that go together: what is done with the lock of the target is known when they go.
pub fn lock_in_body(body: &mut [u8], locking: Locking) {
    let words = Ask::Several(locking).words(0);
    words.iter().zip(body[WHOM_BYTES..].chunks_exact_mut(8)).for_each(|(word, place)| {
        place.copy_from_slice(&word.to_ne_bytes());
    });
}

/// The same taken apart: of whom, who asks, what, and the data.
///
/// # Errors
/// `Intern` when it makes no sense.
pub fn read_body(body: &[u8]) -> Result<(Key, u32, Ask, &[u8])> {
    let (whom, asked) = body.split_at_checked(WHOM_BYTES).ok_or_else(garbled)?;
    let short = |at: usize| u32::from_ne_bytes(whom[at..at + 4].try_into().expect("4 bytes"));
    let context = u64::from_ne_bytes(whom[..8].try_into().expect("8 bytes"));
    let (ask, _, data) = Ask::read(asked)?;
    Ok(((context, short(8)), short(12), ask, data))
}

#[cold]
fn garbled() -> Error {
    Error::new(Class::Intern, "a server is asked for something that makes no sense")
}

/// What a member says about itself when it enters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entering {
    context: u64,
    member: u32,
    size: u32,
    /// Its job rank.
    rank: u32,
    is_dynamic: u32,
    /// The number of its first mutex among all locks of the exposure.
    first_mutex: u32,
    spare: u32,
    told: Told,
}

impl Entering {
    /// Of this member.
    pub fn of(exposure: &Exposure, rank: u32) -> Entering {
        let member = exposure.rank();
        let before: u64 = exposure.told[..member as usize].iter().map(|told| told.mutexes).sum();
        Entering {
            context: exposure.communicator().context(),
            member,
            size: exposure.size(),
            rank,
            is_dynamic: u32::from(exposure.kind() == Kind::Dynamic),
            first_mutex: exposure.size() + before as u32,
            spare: 0,
            told: exposure.told[member as usize],
        }
    }

    /// Of a rank that is the only member of what it exposes: as many bytes of its blocks area as `told` says.
    pub fn alone(context: u64, rank: u32, told: Told) -> Entering {
        Entering { context, member: 0, size: 1, rank, is_dynamic: 0, first_mutex: 1, spare: 0, told }
    }

    /// As bytes.
    pub fn to_bytes(self) -> Vec<u8> {
        // SAFETY: it is made of integers, without padding.
        unsafe { std::slice::from_raw_parts((&raw const self).cast::<u8>(), size_of::<Entering>()) }.to_vec()
    }

    /// Of such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Entering> {
        // SAFETY: there are as many, and any are integers.
        (bytes.len() == size_of::<Entering>())
            .then(|| unsafe { bytes.as_ptr().cast::<Entering>().read_unaligned() })
    }

    /// Which member it is.
    pub fn key(&self) -> Key {
        (self.context, self.member)
    }
}

/// A member that a server serves.
pub struct Member {
    entering: Entering,
    local: LocalRank,
    /// Its segment; of no use if memory is attached later.
    region: Region,
    control: Control,
    /// What it has attached, as it was read last.
    known: Mutex<Known>,
}

impl Member {
    /// The one that says so, which the node knows as `local`; `None` if its memory is out of reach for the server.
    pub fn new(engine: &Engine, entering: Entering, local: LocalRank) -> Option<Member> {
        let Entering { told, size, rank, .. } = entering;
        let (peer, is_own) = (JobRank(rank), rank == engine.rank());
        let base = engine.job.node.blocks_area(local.0);
        // SAFETY: that member has lent this part of its area for them, zeroed; the node segment lives for ever.
        let control = unsafe { Control::new(base.add(told.control.checked_sub(1)? as usize), size) };
        let mut region = engine.open_region(Some(peer), Servant::default(), told.entry(), (is_own, true));
        if let Some(offset) = told.block.checked_sub(1) {
            region.lies_at(base as usize + offset as usize);
        }
        Some(Member { entering, local, region, control, known: Mutex::default() })
    }

    /// Its job rank.
    pub fn rank(&self) -> JobRank {
        JobRank(self.entering.rank)
    }

    /// One of its locks.
    pub fn lock_of(&self, engine: &Engine, mutex: Option<u32>) -> Option<Numbered<'_>> {
        let Entering { told, member, first_mutex, .. } = self.entering;
        let Some(mutex) = mutex else { return Some(self.control.lock(member)) };
        if u64::from(mutex) >= told.mutexes {
            return None;
        }
        let base = engine.job.node.blocks_area(self.local.0);
        let offset = told.mutexes_at.checked_sub(1)? as usize + mutex as usize * size_of::<FairLock>();
        // SAFETY: the member has lent as many there, zeroed; the node segment lives for ever.
        let lock = unsafe { &*base.add(offset).cast::<FairLock>() };
        Some(Numbered { number: first_mutex + mutex, lock })
    }

    /// The turns of one of its locks have changed: wakes it, if it sleeps for that.
    pub fn turned(&self, engine: &Engine, lock: Numbered) {
        self.control.turned(lock, |_| doorbell_of(&engine.job.node, self.local).ring());
    }
}

impl Served for Member {
    fn region(&self, engine: &Engine, there: (u64, u64)) -> Result<Region> {
        if self.entering.is_dynamic == 0 {
            return Ok(self.region.clone());
        }
        let entry = self.find(engine, there)?;
        Ok(engine.open_region(self.region.peer, Servant::default(), entry, (self.region.own, true)))
    }

    fn find(&self, engine: &Engine, there: (u64, u64)) -> Result<Entry> {
        let seat = self.control.seat(self.entering.member);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let open =
            |list| engine.open_region(self.region.peer, Servant::default(), list, (self.region.own, true));
        let found = engine.find_in_list(seat, &mut known, open, there)?;
        Ok(found.flatten().unwrap_or_default())
    }
}
