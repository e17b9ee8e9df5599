//! Memory that the ranks of a group allocate together, and memory of one's own.

use super::argument_checks::not_null;
use super::group_of_c::GroupOfC;
use super::processor_groups::communicator;
use super::wall::ARMCI;
use super::world_of_armci::{self, Allocated};
use crate::common::entry::Call;
use crate::objects::{Comm, Op};
use serried_engine::collective::{Data, Operation};
use serried_engine::datatype::{Basic, Datatype};
use serried_engine::engine::onesided::Memory;
use serried_engine::engine::Engine;
use serried_engine::memory::window;
use serried_engine::onesided::Exposure;
use serried_engine::reduce::Builtin;
use serried_engine::world::Comparison;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_long, c_void};
use std::sync::Arc;

/// Alignment of one's own memory.
const ALIGNMENT: usize = 64;
/// What `ARMCI_Malloc` returns when there is no memory.
const NO_MEMORY: c_int = 1;

/// `ARMCI_Malloc`. Collective over all ranks.
///
/// # Safety
/// `ptrs` can be written for a pointer of each rank.
pub unsafe fn allocate(_: &Call, ptrs: *mut *mut c_void, bytes: c_long) -> Result<c_int> {
    let (engine, world) = world_of_armci::all()?;
    // SAFETY: by the caller.
    unsafe { allocate_in(engine, &world, ptrs, bytes) }
}

/// `ARMCI_Malloc_group`. Collective over the group; the pointers are in the order of its ranks.
///
/// # Safety
/// As [`allocate`]; the group is null or one of ARMCI's.
pub unsafe fn allocate_group(
    call: &Call,
    ptrs: *mut *mut c_void,
    bytes: c_long,
    group: *const GroupOfC,
) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe { allocate_in(ARMCI.engine()?, communicator(call, group)?, ptrs, bytes) }
}

/// `ARMCI_Malloc_memdev`: the device is a hint.
///
/// # Safety
/// As [`allocate`].
pub unsafe fn allocate_on(
    call: &Call,
    ptrs: *mut *mut c_void,
    bytes: c_long,
    _device: *const c_char,
) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe { allocate(call, ptrs, bytes) }
}

/// `ARMCI_Malloc_group_memdev`.
///
/// # Safety
/// As [`allocate_group`].
pub unsafe fn allocate_group_on(
    call: &Call,
    ptrs: *mut *mut c_void,
    bytes: c_long,
    group: *const GroupOfC,
    _device: *const c_char,
) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe { allocate_group(call, ptrs, bytes, group) }
}

/// # Safety
/// As [`allocate`], for the ranks of `comm`.
unsafe fn allocate_in(
    engine: &'static Engine,
    comm: &Arc<Comm>,
    ptrs: *mut *mut c_void,
    bytes: c_long,
) -> Result<c_int> {
    not_null("ptrs", ptrs)?;
    let exposure = match engine.expose(comm, Memory::Allocated(bytes), 1) {
        Ok(exposure) => exposure,
        Err(error) if error.class() == Class::NoMem => return Ok(NO_MEMORY),
        Err(error) => return Err(error),
    };
    let ranks = match world_of_armci::world(|world| {
        let shared = !world.domains.share_memory() || engine.is_one_memory(&exposure);
        let group = &world.comm.group;
        (shared, comm.group.iter().map(|job_rank| group.rank_of(job_rank)).collect::<Option<Vec<u32>>>())
    })? {
        (true, Some(ranks)) => ranks,
        (false, _) => return no_sharing(engine, &exposure),
        (_, None) => return Err(not_of_the_world()),
    };
    for member in 0..comm.size() {
        let address = exposure.segment(member)?.address;
        // SAFETY: by the caller.
        unsafe { ptrs.add(member as usize).write(address as *mut c_void) };
    }
    world_of_armci::change(|world| {
        for (member, &rank) in (0..).zip(&ranks) {
            if let Some(segment) = exposure.segment(member).ok().filter(|segment| segment.bytes > 0) {
                let what = Allocated { exposure: exposure.clone(), member };
                world.addresses.insert(rank, (segment.address, segment.bytes), what);
            }
        }
    })?;
    Ok(0)
}

/// Ranks of a domain reach each other's memory by loads and stores, as this memory cannot be reached: all ranks find so.
fn no_sharing(engine: &Engine, exposure: &Exposure) -> Result<c_int> {
    engine.unexpose(exposure)?;
    Ok(NO_MEMORY)
}

#[cold]
fn not_of_the_world() -> Error {
    Error::new(Class::Group, "the group has a process that is no rank of ARMCI")
}

/// `ARMCI_Free`. Collective over all ranks; null from those who allocated nothing.
pub fn free(_: &Call, ptr: *mut c_void) -> Result<c_int> {
    let (engine, world) = world_of_armci::all()?;
    free_in(engine, &world, ptr)
}

/// `ARMCI_Free_group`. Collective over the group.
///
/// # Safety
/// The group is null or one of ARMCI's.
pub unsafe fn free_group(call: &Call, ptr: *mut c_void, group: *const GroupOfC) -> Result<c_int> {
    // SAFETY: by the caller.
    free_in(ARMCI.engine()?, unsafe { communicator(call, group)? }, ptr)
}

/// All ranks find out what is freed: some have got no address of it.
fn free_in(engine: &Engine, comm: &Arc<Comm>, ptr: *mut c_void) -> Result<c_int> {
    let own = own_exposure(engine, comm, ptr);
    let mine = [
        own.as_ref().map_or(0, |own| own.as_ref().map_or(0, |one| context_of(one))),
        u64::from(own.is_err()),
    ];
    let [context, wrong] = highest(engine, comm, mine)?;
    own?;
    if wrong != 0 {
        return Err(Error::echo(
            Class::Arg,
            "another rank has given a wrong pointer; its own error says which",
        ));
    }
    if context == 0 {
        return Ok(0);
    }
    let found = world_of_armci::change(|world| {
        let mut found = None;
        world.addresses.retain(|one| {
            let is_it = context_of(&one.exposure) == context;
            if is_it {
                found = Some(one.exposure.clone());
            }
            !is_it
        });
        found
    })?;
    match found {
        Some(exposure) => engine.unexpose(&exposure).map(|()| 0),
        None => {
            Err(Error::new(Class::Arg, "the ranks free memory that not all of them have allocated together"))
        }
    }
}

/// By what all ranks know an exposure.
pub fn context_of(exposure: &Exposure) -> u64 {
    exposure.communicator().context()
}

/// The exposure whose own segment begins at a pointer.
fn own_exposure(engine: &Engine, comm: &Comm, ptr: *mut c_void) -> Result<Option<Arc<Exposure>>> {
    if ptr.is_null() {
        return Ok(None);
    }
    let found = world_of_armci::world(|world| {
        world.addresses.find(world.comm.rank, ptr as u64).map(|one| one.exposure.clone())
    })?;
    let begins = |one: &Arc<Exposure>| one.own().address == ptr as u64;
    match found.filter(begins) {
        Some(exposure) if exposure.group().compare(&comm.group) == Comparison::Identical => {
            Ok(Some(exposure))
        }
        Some(_) => {
            let sentence =
                format!("argument ptr ({ptr:p}) was allocated by another group: free it with that group");
            Err(Error::new(Class::Group, sentence))
        }
        None => {
            let rank = engine.rank();
            let sentence = format!(
                "argument ptr ({ptr:p}) is not what rank {rank} has got from ARMCI_Malloc for itself, or has been freed"
            );
            Err(Error::new(Class::Arg, sentence))
        }
    }
}

/// The highest of two numbers of all members.
fn highest(engine: &Engine, comm: &Arc<Comm>, mut numbers: [u64; 2]) -> Result<[u64; 2]> {
    let datatype = Datatype::shared(Basic::Uint64);
    let receive = Data::new(numbers.as_mut_ptr().cast(), 0, 2, datatype)?;
    let operator = Arc::new(Op::builtin(Builtin::Max));
    engine
        .run_collective(comm, &Operation::Allreduce { send: None, receive, operator: (&operator).into() })?;
    Ok(numbers)
}

/// Frees all that is left, in an order that all ranks have.
///
/// # Errors
/// As of `MPI_Win_free`.
pub fn free_all(engine: &Engine) -> Result<()> {
    let mut left = world_of_armci::change(|world| {
        let mut left: Vec<Arc<Exposure>> = Vec::new();
        world.addresses.retain(|one| {
            left.push(one.exposure.clone());
            false
        });
        left.extend(world.mutexes.take());
        left.append(&mut world.sets);
        left
    })?;
    left.sort_by_key(|exposure| context_of(exposure));
    left.dedup_by_key(|exposure| context_of(exposure));
    left.iter().try_for_each(|exposure| engine.unexpose(exposure))
}

/// `ARMCI_Malloc_local`: memory of one's own; null if there is none.
pub fn allocate_own(_: &Call, bytes: c_long) -> Result<*mut c_void> {
    let memory = usize::try_from(bytes).ok().and_then(|bytes| window::take(bytes.max(1), ALIGNMENT));
    Ok(memory.map_or(std::ptr::null_mut(), |memory| memory.cast()))
}

/// `ARMCI_Free_local`.
///
/// # Safety
/// The pointer is null or comes from [`allocate_own`].
pub unsafe fn free_own(_: &Call, ptr: *mut c_void) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe { window::give(ptr.cast()) };
    Ok(0)
}
