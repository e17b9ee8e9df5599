//! Collectives of active sets (OpenSHMEM 1.6 chapter 9.11), deprecated. A set gets a communicator when it is first used;
//! the program's work arrays are not needed.

use super::collective::*;
use crate::common::entry::Call;
use crate::shmem::element::Element;
use crate::shmem::state::shmem;
use serried_engine::reduce::Builtin;
use serried_engine::world::{create, Communicator, ErrorHandler, Group};
use serried_engine::{Class, Error, Result};
use std::collections::HashMap;
use std::ffi::{c_int, c_long};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// First PE, logarithm of the stride, and how many.
type Set = (c_int, c_int, c_int);
type Known = HashMap<Set, Arc<Communicator>>;

static SETS: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

fn sets() -> MutexGuard<'static, Known> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets all sets.
pub fn forget() {
    sets().drain().for_each(|(_, communicator)| communicator.free());
}

/// Shows the communicators of all sets.
pub fn each_communicator(visit: &mut dyn FnMut(&Arc<Communicator>)) {
    sets().values().for_each(visit);
}

/// The members of a set, I among them.
fn members((start, log, size): Set) -> Result<Arc<Communicator>> {
    let shmem = shmem()?;
    let all = i64::from(shmem.symmetric.size());
    let stride = u32::try_from(log).ok().and_then(|log| 1i64.checked_shl(log)).unwrap_or(0);
    let last = i64::from(start) + i64::from(size.saturating_sub(1)).saturating_mul(stride);
    let me = i64::from(shmem.symmetric.rank());
    let wrong = |what: &str| {
        let sentence = format!(
            "PE_start {start}, logPE_stride {log} and PE_size {size} {what}; there are {all} PEs and this is PE {me}"
        );
        Err(Error::new(Class::Group, sentence))
    };
    if size < 1 || start < 0 || stride == 0 || last >= all {
        return wrong("name no PEs of the program");
    }
    let offset = me - i64::from(start);
    if offset < 0 || me > last || offset % stride != 0 {
        return wrong("leave the calling PE out");
    }
    if i64::from(size) == all {
        return Ok(shmem.symmetric.world().clone());
    }
    if let Some(known) = sets().get(&(start, log, size)) {
        return Ok(known.clone());
    }
    let ranks = (0..i64::from(size)).map(|number| (i64::from(start) + number * stride) as u32);
    let group = Arc::new(Group::new(ranks.collect()));
    let handler = Arc::new(ErrorHandler::Fatal);
    let made = create::create_from_group(shmem.engine, &group, "serried: active set", handler)?;
    made.set_name("an active set");
    let made = Arc::new(made);
    sets().insert((start, log, size), made.clone());
    Ok(made)
}

/// `shmem_barrier`.
pub fn barrier(call: &Call, start: c_int, log: c_int, size: c_int, work: *mut c_long) -> Result<()> {
    shmem()?.engine.quiet()?;
    sync(call, start, log, size, work)
}

/// `shmem_sync`.
pub fn sync(_call: &Call, start: c_int, log: c_int, size: c_int, _work: *mut c_long) -> Result<()> {
    let members = members((start, log, size))?;
    shmem()?.engine.run_collective(&members, &serried_engine::collective::Operation::Barrier)
}

/// `shmem_broadcast32`, `64`: not to the root.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn broadcast<T: Element>(
    _call: &Call,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
    start: c_int,
    log: c_int,
    size: c_int,
    _work: *mut c_long,
) -> Result<()> {
    broadcast_among(&members((start, log, size))?, dest, source, nelems, root)
}

macro_rules! exchanges {
    ($($name:ident $among:ident;)*) => {$(
        /// For elements of 32 and 64 bits.
        #[allow(clippy::too_many_arguments)] // those of the standard
        pub fn $name<T: Element>(
            _call: &Call, dest: *mut T, source: *const T, nelems: usize, start: c_int, log: c_int, size: c_int,
            _work: *mut c_long,
        ) -> Result<()> {
            $among(&members((start, log, size))?, dest, source, nelems)
        }
    )*};
}
exchanges! { collect collect_among; fcollect fcollect_among; alltoall alltoall_among; }

/// `shmem_alltoalls32`, `64`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn alltoalls<T: Element>(
    _call: &Call,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    start: c_int,
    log: c_int,
    size: c_int,
    _work: *mut c_long,
) -> Result<()> {
    alltoalls_among(&members((start, log, size))?, dest, source, (dst, sst), nelems)
}

macro_rules! reductions {
    ($($name:ident $builtin:ident;)*) => {$(
        /// A reduction.
        #[allow(clippy::too_many_arguments)] // those of the standard
        pub fn $name<T: Element>(
            _call: &Call, dest: *mut T, source: *const T, nreduce: c_int, start: c_int, log: c_int, size: c_int,
            _values: *mut T, _work: *mut c_long,
        ) -> Result<()> {
            let count = usize::try_from(nreduce).map_err(|_| {
                Error::new(Class::Count, format!("argument nreduce is {nreduce}; it cannot be negative"))
            })?;
            reduce_among(&members((start, log, size))?, Builtin::$builtin, dest, source, count)
        }
    )*};
}

reductions! {
    and_to_all BitAnd; or_to_all BitOr; xor_to_all BitXor;
    max_to_all Max; min_to_all Min; sum_to_all Sum; prod_to_all Product;
}
