//! What the calls of ARMCI share: who the ranks are, and what memory they have.
//!
//! # Locks
//! The world is read during an operation and changed by calls that allocate, free, begin and end. Where several threads may call
//! at once, both are under a lock: nobody changes the world while it waits for another rank. Else there is one call at a
//! time, and no call changes the world within another one.

use super::domains::Domains;
use super::group_of_c::GroupOfC;
use super::wall::ARMCI;
use crate::common::page;
use crate::objects::Comm;
use serried_engine::engine::Engine;
use serried_engine::observe::page::NONE;
use serried_engine::onesided::{Addresses, Exposure, Region};
use serried_engine::{Class, Error, Result};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, PoisonError, RwLock};

/// The segment of a member of an exposure.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// The exposure.
    pub exposure: Arc<Exposure>,
    /// The rank of the member in it.
    pub member: u32,
}

/// How many notifications there were between this rank and another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notifications {
    /// To the other one.
    pub sent: c_int,
    /// From the other one.
    pub waited_for: c_int,
}

/// ARMCI while it runs.
#[derive(Debug)]
pub struct World {
    /// Its ranks, for what ARMCI says itself.
    pub comm: Arc<Comm>,
    /// The group of all, as programs see it.
    pub group: GroupOfC,
    /// The group that programs have made the default.
    pub default: GroupOfC,
    /// What lies where in the memory of each rank.
    pub addresses: Addresses<Allocated>,
    /// All memory of this rank.
    pub own: Region,
    /// Which ranks share memory.
    pub domains: Domains,
    /// The mutexes of all ranks.
    pub mutexes: Option<Arc<Exposure>>,
    /// Those of groups.
    pub sets: Vec<Arc<Exposure>>,
    /// Notifications to and from each rank that there were any of.
    pub notifications: HashMap<u32, Notifications>,
}

/// See the module's text.
struct Shared(UnsafeCell<Option<World>>);

// SAFETY: all that read or change it keep to the rules of the module's text.
unsafe impl Sync for Shared {}

static WORLD: Shared = Shared(UnsafeCell::new(None));
static LOCK: RwLock<()> = RwLock::new(());

/// Something of the world, for who knows that the engine runs.
#[inline]
fn read<T>(engine: &Engine, look: impl FnOnce(&World) -> Result<T>) -> Result<T> {
    let _held = engine.is_threaded().then(|| LOCK.read().unwrap_or_else(PoisonError::into_inner));
    // SAFETY: it is not changed meanwhile.
    match unsafe { &*WORLD.0.get() } {
        Some(world) => look(world),
        None => Err(ARMCI.not_running()),
    }
}

/// Something of the world.
///
/// # Errors
/// `Other` while ARMCI does not run.
#[inline]
pub fn world<T>(look: impl FnOnce(&World) -> T) -> Result<T> {
    read(ARMCI.engine()?, |world| Ok(look(world)))
}

fn change_all<T>(change: impl FnOnce(&mut Option<World>) -> T) -> T {
    let _held = LOCK.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: nobody reads it meanwhile.
    change(unsafe { &mut *WORLD.0.get() })
}

/// Changes the world.
///
/// # Errors
/// `Other` while ARMCI does not run.
pub fn change<T>(change: impl FnOnce(&mut World) -> T) -> Result<T> {
    change_all(|world| world.as_mut().map(change)).ok_or_else(|| ARMCI.not_running())
}

/// ARMCI has begun.
pub fn put(world: World) {
    change_all(|place| *place = Some(world));
}

/// ARMCI ends.
pub fn take() -> Option<World> {
    change_all(Option::take)
}

/// The engine and the communicator of all ranks.
///
/// # Errors
/// `Other` while ARMCI does not run.
pub fn all() -> Result<(&'static Engine, Arc<Comm>)> {
    Ok((ARMCI.engine()?, world(|world| world.comm.clone())?))
}

/// Shows the communicators that calls of ARMCI can be on and that MPI does not know; none while the world changes.
pub fn each_communicator(visit: &mut dyn FnMut(&Arc<Comm>)) {
    let Ok(_held) = LOCK.try_read() else { return };
    // SAFETY: it is not changed meanwhile.
    if let Some(world) = unsafe { &*WORLD.0.get() } {
        visit(&world.comm);
        let own = world.addresses.of_rank(world.comm.rank);
        own.for_each(|allocated| visit(allocated.exposure.communicator()));
        world.mutexes.iter().chain(&world.sets).for_each(|set| visit(set.communicator()));
    }
}

impl World {
    /// The region in which an address of a rank lies, and says on the rank's page where so many bytes go. On itself a rank
    /// may use memory that it has from anywhere.
    ///
    /// # Errors
    /// `Rank`, `RmaRange`.
    #[inline]
    fn region<'a>(
        &'a self,
        engine: &Engine,
        (proc, address): (c_int, *const c_void),
        bytes: u64,
    ) -> Result<&'a Region> {
        match self.addresses.find(proc as u32, address as u64) {
            Some(Allocated { exposure, member }) => {
                page::own().about(exposure.communicator().context(), *member as i32, NONE, bytes);
                engine.region(exposure, *member)
            }
            None => self.other(proc, address),
        }
    }

    #[cold]
    fn other(&self, proc: c_int, address: *const c_void) -> Result<&Region> {
        let rank = self.check_rank("proc", proc)?;
        if rank == self.comm.rank && !address.is_null() {
            return Ok(&self.own);
        }
        let sentence = format!(
            "the address {address:p} is in no memory that rank {rank} has from ARMCI_Malloc: give an address that it \
             got there for that rank"
        );
        Err(Error::new(Class::RmaRange, sentence))
    }

    /// A rank of the world.
    ///
    /// # Errors
    /// `Rank` when it is none.
    pub fn check_rank(&self, argument: &str, rank: c_int) -> Result<u32> {
        match u32::try_from(rank) {
            Ok(rank) if rank < self.comm.size() => Ok(rank),
            _ => Err(no_rank(argument, rank, self.comm.size())),
        }
    }
}

/// Does something with so many bytes at an address of a rank.
///
/// # Errors
/// `Rank`, `RmaRange`, and those of what is done.
#[inline]
pub fn at<T>(
    proc: c_int,
    (address, bytes): (*const c_void, u64),
    work: impl FnOnce(&'static Engine, &Region) -> Result<T>,
) -> Result<T> {
    let engine = ARMCI.engine_of_call()?;
    read(engine, |world| work(engine, world.region(engine, (proc, address), bytes)?))
}

#[cold]
fn no_rank(argument: &str, rank: c_int, size: u32) -> Error {
    let sentence = format!("argument {argument} is {rank}, but the ranks are 0 to {}", size - 1);
    Error::new(Class::Rank, sentence)
}
