//! Start and end of ARMCI: both are counted, and its life lies within that of MPI.

use super::allocation;
use super::domains::Domains;
use super::group_of_c::GroupOfC;
use super::processor_groups::forget;
use super::wall::ARMCI;
use super::world_of_armci::{self, World};
use crate::abi::{self, Handle};
use crate::common::entry::Call;
use crate::handle::{required, COMMS};
use crate::objects::Comm;
use crate::{entry, LIBRARY};
use serried_engine::collective::Operation;
use serried_engine::engine::Engine;
use serried_engine::onesided::Addresses;
use serried_engine::world::create::{self, Copied};
use serried_engine::{Class, Error, Result};
use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;

/// How often it has been begun and not ended.
static USES: AtomicU32 = AtomicU32::new(0);

/// `ARMCI_Init`. Collective over all ranks of MPI; MPI runs.
pub fn init(call: &Call) -> Result<c_int> {
    if USES.load(Relaxed) == 0 {
        mpi_runs()?;
        let world = required(&COMMS, call, "comm", abi::MPI_COMM_WORLD)?;
        begin(world)?;
    }
    USES.fetch_add(1, Relaxed);
    Ok(0)
}

/// `ARMCI_Init_args`. The arguments of the program are left alone.
pub fn init_args(call: &Call, _argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Result<c_int> {
    init(call)
}

/// `ARMCI_Init_thread`: every level is granted.
pub fn init_thread(call: &Call, requested: c_int) -> Result<c_int> {
    mpi_runs()?;
    threads(requested)?;
    init(call)
}

/// `ARMCI_Init_thread_comm`: the communicator is the world of ARMCI.
pub fn init_thread_comm(call: &Call, requested: c_int, comm: Handle) -> Result<c_int> {
    threads(requested)?;
    init_mpi_comm(call, comm)?;
    Ok(0)
}

/// `ARMCI_Init_mpi_comm`: the communicator is the world of ARMCI. Not 0 means that it went well: Global Arrays expects
/// that.
pub fn init_mpi_comm(call: &Call, comm: Handle) -> Result<c_int> {
    mpi_runs()?;
    let comm = required(&COMMS, call, "comm", comm)?;
    if comm.is_inter() {
        let sentence = "argument comm joins two groups; the ranks of ARMCI are one group";
        return Err(Error::new(Class::Comm, sentence));
    }
    if USES.load(Relaxed) == 0 {
        begin(comm)?;
    } else if world_of_armci::world(|world| world.comm.group != comm.group)? {
        let sentence = "ARMCI has been initialised with another communicator already; finalize it first";
        return Err(Error::new(Class::Comm, sentence));
    }
    USES.fetch_add(1, Relaxed);
    Ok(1)
}

/// `ARMCI_Initialized`.
pub fn initialized(_: &Call) -> Result<c_int> {
    Ok(c_int::from(USES.load(Relaxed) > 0))
}

/// `ARMCI_Finalize`: the last one frees what the program has not. Collective then.
pub fn finalize(_: &Call) -> Result<c_int> {
    match USES.load(Relaxed) {
        0 => return Ok(0),
        1 => end()?,
        _ => (),
    }
    USES.fetch_sub(1, Relaxed);
    Ok(0)
}

/// MPI ends, and with it ARMCI, if the program has not ended it.
///
/// # Errors
/// What goes wrong in freeing what is left.
pub fn end_with_mpi() -> Result<()> {
    match USES.swap(0, Relaxed) {
        0 => Ok(()),
        _ => end(),
    }
}

fn mpi_runs() -> Result<()> {
    entry::engine().map(drop).map_err(|_| {
        Error::new(Class::Other, "MPI is not initialised; call MPI_Init or MPI_Init_thread before")
    })
}

fn threads(requested: c_int) -> Result<()> {
    if !(abi::MPI_THREAD_SINGLE..=abi::MPI_THREAD_MULTIPLE).contains(&requested) {
        let sentence = format!("argument armci_requested ({requested}) is no level of thread support");
        return Err(Error::new(Class::Arg, sentence));
    }
    if requested == abi::MPI_THREAD_MULTIPLE {
        entry::engine()?.set_threaded();
    }
    Ok(())
}

/// ARMCI begins, with the ranks of a communicator. Collective.
fn begin(parent: &Arc<Comm>) -> Result<()> {
    let engine = ARMCI.acquire(&LIBRARY)?;
    let made = duplicates(engine, parent).and_then(|[own, shown]| {
        let handle = COMMS.put(shown)?;
        let domains = Domains::find(engine, &own)?;
        let group = GroupOfC::new(handle, own.rank, (0..own.size() as c_int).collect(), own.size())?;
        let addresses = Addresses::new(own.size());
        let (mutexes, sets, all_memory) = (None, Vec::new(), engine.own_region());
        let notifications = HashMap::new();
        Ok(World {
            group,
            default: group,
            addresses,
            domains,
            mutexes,
            sets,
            notifications,
            own: all_memory,
            comm: own,
        })
    });
    match made {
        Ok(world) => world_of_armci::put(world),
        Err(error) => {
            ARMCI.release()?;
            return Err(error);
        }
    }
    Ok(())
}

/// A communicator for what ARMCI says itself, and one for the program.
fn duplicates(engine: &Engine, parent: &Arc<Comm>) -> Result<[Arc<Comm>; 2]> {
    let own = create::dup(engine, parent, Copied::default())?;
    own.set_name("ARMCI");
    let shown = create::dup(engine, parent, Copied::default())?;
    shown.set_name("ARMCI's world group");
    Ok([own, shown])
}

/// ARMCI ends. Collective.
fn end() -> Result<()> {
    let engine = ARMCI.engine()?;
    allocation::free_all(engine)?;
    let Some(world) = world_of_armci::take() else { return Ok(()) };
    engine.order_accesses()?;
    engine.run_collective(&world.comm, &Operation::Barrier)?;
    world.comm.free();
    world.comm.contexts().for_each(|context| engine.retire(context));
    forget(engine, world.group)?;
    ARMCI.release()
}
