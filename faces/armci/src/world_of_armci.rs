//! What the calls of ARMCI share: who the ranks are, and what memory they have.
//!
//! # Locks
//! The world is read during an operation and changed by who allocates, frees, begins and ends. Nobody changes it while it
//! waits for another rank.

use super::domains::Domains;
use super::group_of_c::GroupOfC;
use super::wall::ARMCI;
use crate::objects::Comm;
use serried_engine::engine::Engine;
use serried_engine::onesided::{Addresses, Exposure, Region};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The segment of a member of an exposure.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// The exposure.
    pub exposure: Arc<Exposure>,
    /// The rank of the member in it.
    pub member: u32,
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
}

static WORLD: RwLock<Option<World>> = RwLock::new(None);

fn read() -> RwLockReadGuard<'static, Option<World>> {
    WORLD.read().unwrap_or_else(PoisonError::into_inner)
}

/// Something of the world.
///
/// # Errors
/// `Other` while ARMCI does not run.
#[inline]
pub fn world<T>(look: impl FnOnce(&World) -> T) -> Result<T> {
    read().as_ref().map(look).ok_or_else(|| ARMCI.not_running())
}

/// Changes the world.
///
/// # Errors
/// `Other` while ARMCI does not run.
pub fn change<T>(change: impl FnOnce(&mut World) -> T) -> Result<T> {
    let mut world = WORLD.write().unwrap_or_else(PoisonError::into_inner);
    world.as_mut().map(change).ok_or_else(|| ARMCI.not_running())
}

/// ARMCI has begun.
pub fn put(world: World) {
    *WORLD.write().unwrap_or_else(PoisonError::into_inner) = Some(world);
}

/// ARMCI ends.
pub fn take() -> Option<World> {
    WORLD.write().unwrap_or_else(PoisonError::into_inner).take()
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
    let Ok(world) = WORLD.try_read() else { return };
    if let Some(world) = world.as_ref() {
        visit(&world.comm);
        let own = world.addresses.of_rank(world.comm.rank);
        own.for_each(|allocated| visit(allocated.exposure.communicator()));
        world.mutexes.iter().chain(&world.sets).for_each(|set| visit(set.communicator()));
    }
}

impl World {
    /// The region in which an address of a rank lies. On itself a rank may use memory that it has from anywhere.
    ///
    /// # Errors
    /// `Rank`, `RmaRange`.
    #[inline]
    pub fn region<'a>(&'a self, engine: &Engine, proc: c_int, address: *const c_void) -> Result<&'a Region> {
        match self.addresses.find(proc as u32, address as u64) {
            Some(Allocated { exposure, member }) => engine.region(exposure, *member),
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

/// Does something at an address of a rank.
///
/// # Errors
/// As [`World::region`], and those of what is done.
#[inline]
pub fn at<T>(
    proc: c_int,
    address: *const c_void,
    work: impl FnOnce(&'static Engine, &Region) -> Result<T>,
) -> Result<T> {
    let engine = ARMCI.engine_of_call()?;
    match read().as_ref() {
        Some(world) => work(engine, world.region(engine, proc, address)?),
        None => Err(ARMCI.not_running()),
    }
}

#[cold]
fn no_rank(argument: &str, rank: c_int, size: u32) -> Error {
    let sentence = format!("argument {argument} is {rank}, but the ranks are 0 to {}", size - 1);
    Error::new(Class::Rank, sentence)
}
