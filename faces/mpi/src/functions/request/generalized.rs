//! Generalized requests (MPI-5.0 §13.2): operations of the program that look
//! like ours. The callbacks are kept here, by request.

use crate::abi;
use crate::arguments::not_null;
use crate::callbacks::{CancelRequest, FreeRequest, QueryRequest};
use crate::entry::engine;
use crate::request::OutRequest;
use crate::status::StatusOut;
use serried_engine::request::{RequestId, Status};
use serried_engine::{Class, Error, Result};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the program gave with a request.
#[derive(Clone, Copy)]
struct Callbacks {
    query: QueryRequest,
    free: FreeRequest,
    cancel: CancelRequest,
    extra: usize,
    /// The program has freed the request, which is not complete yet.
    freed: bool,
    /// They have Fortran's arguments.
    fortran: bool,
}

static CALLBACKS: Mutex<Option<HashMap<u32, Callbacks>>> = Mutex::new(None);
/// How many there are: programs without any do not take the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn callbacks() -> MutexGuard<'static, Option<HashMap<u32, Callbacks>>> {
    CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are any.
#[inline]
pub fn any() -> bool {
    COUNT.load(Relaxed) != 0
}

fn of(id: RequestId) -> Option<Callbacks> {
    if !any() {
        return None;
    }
    callbacks().as_ref().and_then(|all| all.get(&id.0)).copied()
}

/// `MPI_Grequest_start` (§13.2).
pub fn grequest_start(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut c_void,
    request: OutRequest,
) -> Result<()> {
    not_null("query_fn", query_fn)?;
    not_null("free_fn", free_fn)?;
    not_null("cancel_fn", cancel_fn)?;
    // SAFETY: not null, and of these types by the prototype of the function.
    let (query, free, cancel) = unsafe {
        (
            std::mem::transmute::<*const c_void, QueryRequest>(query_fn),
            std::mem::transmute::<*const c_void, FreeRequest>(free_fn),
            std::mem::transmute::<*const c_void, CancelRequest>(cancel_fn),
        )
    };
    let id = engine()?.generalized()?;
    let given = Callbacks { query, free, cancel, extra: extra_state as usize, freed: false, fortran: false };
    callbacks().get_or_insert_default().insert(id.0, given);
    COUNT.fetch_add(1, Relaxed);
    request.put(id);
    Ok(())
}

/// The callbacks of a request have Fortran's arguments: all by reference, the code behind them.
pub fn is_fortran(id: RequestId) {
    if let Some(given) = callbacks().get_or_insert_default().get_mut(&id.0) {
        given.fortran = true;
    }
}

impl Callbacks {
    fn extra(&self) -> *mut c_void {
        self.extra as *mut c_void
    }

    /// Calls a callback of the program, in its language.
    fn run(&self, of_c: impl FnOnce() -> c_int, of_fortran: impl FnOnce(&mut c_int)) -> c_int {
        if !self.fortran {
            return of_c();
        }
        let mut code = abi::MPI_SUCCESS;
        of_fortran(&mut code);
        code
    }

    fn query(&self, status: &mut abi::Status) -> c_int {
        let place: *mut abi::Status = status;
        // SAFETY: the program's own callback with the state that it gave.
        self.run(
            || unsafe { (self.query)(self.extra(), place) },
            |code| unsafe {
                // SAFETY: as above, by its Fortran interface.
                let query: FortranQuery = std::mem::transmute(self.query);
                query(self.extra(), place, code);
            },
        )
    }

    fn free(&self) -> c_int {
        // SAFETY: the program's own callback with the state that it gave.
        self.run(
            || unsafe { (self.free)(self.extra()) },
            |code| unsafe {
                // SAFETY: as above, by its Fortran interface.
                let free: FortranFree = std::mem::transmute(self.free);
                free(self.extra(), code);
            },
        )
    }

    fn cancel(&self, complete: c_int) -> c_int {
        // SAFETY: the program's own callback with the state that it gave.
        self.run(
            || unsafe { (self.cancel)(self.extra(), complete) },
            |code| unsafe {
                // SAFETY: as above, by its Fortran interface.
                let cancel: FortranCancel = std::mem::transmute(self.cancel);
                cancel(self.extra(), &complete, code);
            },
        )
    }
}

type FortranQuery = unsafe extern "C" fn(*mut c_void, *mut abi::Status, *mut c_int);
type FortranFree = unsafe extern "C" fn(*mut c_void, *mut c_int);
type FortranCancel = unsafe extern "C" fn(*mut c_void, *const c_int, *mut c_int);

/// `MPI_Grequest_complete` (§13.2).
pub fn grequest_complete(request: Option<RequestId>) -> Result<()> {
    let id = super::present(request)?;
    engine()?.complete_generalized(id)?;
    match of(id) {
        Some(given) if given.freed => free(id, &given),
        _ => Ok(()),
    }
}

/// Asks the program for the status of a complete request.
fn query(given: &Callbacks, mut status: Status) -> Status {
    // SAFETY: a status is made of integers.
    let mut raw: abi::Status = unsafe { std::mem::zeroed() };
    StatusOut::of(&mut raw).set(&Status::empty());
    let code = given.query(&mut raw);
    status.source = crate::arguments::rank(raw.MPI_SOURCE);
    status.tag = crate::arguments::tag(raw.MPI_TAG);
    status.bytes = raw.bytes();
    status.cancelled = raw.cancelled();
    if code != abi::MPI_SUCCESS {
        status.error =
            Some(Error::new(Class::User(code), "the query function of a generalized request failed"));
    }
    status
}

/// The status of a request that stays.
pub fn looked_at(id: RequestId, status: Status) -> Status {
    match of(id) {
        Some(given) => query(&given, status),
        None => status,
    }
}

/// The status of a request that has just ended: its callbacks are freed.
pub fn ended(id: RequestId, status: Status) -> Status {
    let Some(given) = of(id) else { return status };
    let mut status = query(&given, status);
    if let (Err(error), None) = (free(id, &given), &status.error) {
        status.error = Some(error);
    }
    status
}

/// A request that is freed: so are its callbacks, once it is complete (§13.2).
pub fn released(id: RequestId) -> Result<()> {
    let Some(given) = of(id) else { return Ok(()) };
    if engine()?.status(id)?.is_some() {
        return free(id, &given);
    }
    callbacks().get_or_insert_default().insert(id.0, Callbacks { freed: true, ..given });
    Ok(())
}

/// Tells the program that its operation should be cancelled.
pub fn cancelled(id: RequestId) -> Result<()> {
    let Some(given) = of(id) else { return Ok(()) };
    let complete = c_int::from(engine()?.status(id)?.is_some());
    result(given.cancel(complete), "the cancel function of a generalized request failed")
}

fn free(id: RequestId, given: &Callbacks) -> Result<()> {
    callbacks().get_or_insert_default().remove(&id.0);
    COUNT.fetch_sub(1, Relaxed);
    result(given.free(), "the free function of a generalized request failed")
}

fn result(code: c_int, what: &str) -> Result<()> {
    if code == abi::MPI_SUCCESS {
        return Ok(());
    }
    Err(Error::new(Class::User(code), what))
}
