//! Set-up, exit and queries (OpenSHMEM 1.6 chapters 9.1, 9.2).

use crate::common::engine;
use crate::common::entry::Call;
use crate::shmem::exports::pshmem_finalize;
use crate::shmem::handles::{pe, shmem_team_t, team, SHMEM_CTX_DEFAULT};
use crate::shmem::start;
use crate::shmem::state::{known, shmem};
use serried_engine::engine::symmetric::Remote;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::Once;

const THREAD_SINGLE: c_int = 0;
const THREAD_MULTIPLE: c_int = 3;
static THREAD_LEVEL: AtomicI32 = AtomicI32::new(THREAD_SINGLE);

extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// A program that ends without `shmem_finalize` is finalized by its end, if that is no failure (deprecated).
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    while status == 0 && known().is_some() && engine::running().is_some() {
        // SAFETY: a function without arguments.
        unsafe { pshmem_finalize() };
    }
}

/// `shmem_init`.
pub fn init(_call: &Call) -> Result<()> {
    static ONCE: Once = Once::new();
    start::begin()?;
    // SAFETY: a function without state.
    ONCE.call_once(|| unsafe {
        on_exit(at_exit, ptr::null_mut());
    });
    Ok(())
}

/// `start_pes`: begins, unless it has begun.
pub fn start_pes(call: &Call, _npes: c_int) -> Result<()> {
    match known() {
        Some(_) => Ok(()),
        None => init(call),
    }
}

/// `shmem_init_thread`: every level is granted.
pub fn init_thread(call: &Call, requested: c_int, provided: *mut c_int) -> Result<c_int> {
    if !(THREAD_SINGLE..=THREAD_MULTIPLE).contains(&requested) {
        return Err(Error::new(
            Class::Arg,
            format!("argument requested ({requested}) is no level of thread support"),
        ));
    }
    init(call)?;
    if requested == THREAD_MULTIPLE {
        shmem()?.engine.set_threaded();
    }
    THREAD_LEVEL.fetch_max(requested, Relaxed);
    store(provided, THREAD_LEVEL.load(Relaxed));
    Ok(0)
}

/// `shmem_finalize`.
pub fn finalize(_call: &Call) -> Result<()> {
    start::end()
}

/// `shmem_global_exit`.
pub fn global_exit(_call: &Call, status: c_int) -> Result<()> {
    match engine::running() {
        Some(engine) => engine.end_job(status),
        None => std::process::exit(status),
    }
}

/// `shmem_query_initialized`.
pub fn query_initialized(_call: &Call, initialized: *mut c_int) -> Result<()> {
    store(initialized, c_int::from(known().is_some()));
    Ok(())
}

/// `shmem_query_thread`.
pub fn query_thread(_call: &Call, provided: *mut c_int) -> Result<()> {
    store(provided, THREAD_LEVEL.load(Relaxed));
    Ok(())
}

/// `shmem_my_pe`.
#[inline]
pub fn my_pe(_call: &Call) -> Result<c_int> {
    Ok(shmem()?.symmetric.rank() as c_int)
}

/// `shmem_n_pes`.
#[inline]
pub fn n_pes(_call: &Call) -> Result<c_int> {
    Ok(shmem()?.symmetric.size() as c_int)
}

/// `shmem_pe_accessible`: all PEs are.
pub fn pe_accessible(_call: &Call, pe: c_int) -> Result<c_int> {
    let size = shmem()?.symmetric.size();
    Ok(c_int::from(u32::try_from(pe).is_ok_and(|pe| pe < size)))
}

/// `shmem_addr_accessible`.
pub fn addr_accessible(call: &Call, addr: *const c_void, pe: c_int) -> Result<c_int> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, SHMEM_CTX_DEFAULT, ("addr", addr.cast()), pe);
    Ok(c_int::from(remote.is_ok_and(|remote| shmem.engine.is_symmetric(&shmem.symmetric, remote))))
}

/// `shmem_ptr`: null where plain loads and stores do not reach.
pub fn ptr(_call: &Call, dest: *const c_void, number: c_int) -> Result<*mut c_void> {
    pointer(dest, pe("pe", number)?)
}

/// `shmem_team_ptr`.
pub fn team_ptr(
    call: &Call,
    handle: shmem_team_t,
    dest: *const c_void,
    number: c_int,
) -> Result<*mut c_void> {
    let group = &team(call, "team", handle)?.communicator.group;
    match u32::try_from(number) {
        Ok(number) if number < group.size() => pointer(dest, group.job_rank(number).0),
        _ => Err(crate::shmem::handles::no_pe("pe", number, group.size())),
    }
}

fn pointer(dest: *const c_void, pe: u32) -> Result<*mut c_void> {
    let shmem = shmem()?;
    let remote = Remote { name: "dest", address: dest.cast_mut().cast(), pe };
    Ok(shmem.engine.pointer_to(&shmem.symmetric, remote).map_or(ptr::null_mut(), |address| address.cast()))
}

/// `shmem_info_get_version`.
pub fn info_get_version(_call: &Call, major: *mut c_int, minor: *mut c_int) -> Result<()> {
    store(major, 1);
    store(minor, 6);
    Ok(())
}

/// `shmem_info_get_name`.
pub fn info_get_name(_call: &Call, name: *mut c_char) -> Result<()> {
    let text = c"Serried";
    if !name.is_null() {
        // SAFETY: the program has room for SHMEM_MAX_NAME_LEN.
        unsafe { name.copy_from_nonoverlapping(text.as_ptr(), text.count_bytes() + 1) };
    }
    Ok(())
}

/// `shmem_pcontrol`: for profiling tools, which put their own in its place.
pub fn pcontrol(_call: &Call, _level: c_int) -> Result<()> {
    Ok(())
}

/// Stores a result, if the program wants it.
pub fn store<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the program gives room for it.
        unsafe { place.write(value) };
    }
}
