//! The border between C and the engine: the wall that no panic passes, the
//! rank's page, the check that MPI is initialised, the way from an error to an
//! error handler.

use crate::blame::{self, Blame};
use crate::class::class_number;
use crate::functions::{self, NAMES};
use crate::handle::COMMS;
use crate::{abi, codes, own, predefined};
use serried_engine::engine::Engine;
use serried_engine::job::Job;
use serried_engine::observe::events::{self, Kind};
use serried_engine::observe::{flow::Sent, page::OBSERVED, Page};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// When a function may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Between initialisation and finalization.
    Running,
    /// Before and after too (MPI-5.0 §11.4.1).
    Anytime,
}

/// A call in progress. While it lives, handles that it has looked up live.
pub struct Call(());

#[cfg(test)]
impl Call {
    /// A call outside of any job.
    pub fn for_tests() -> Call {
        Call(())
    }
}

/// Marks the beginning of a call; the code to return, if this is no time for it. In a
/// usual one MPI runs, and there is nothing else to know.
#[inline(always)]
fn begin(name: usize, when: When, blame: Blame) -> Option<c_int> {
    let usual = match OBSERVED {
        true => own::page().enter_usual(name as u32),
        false => STAGE.load(Ordering::Acquire) == RUNNING,
    };
    if usual {
        return None;
    }
    begin_unusual(name, when, blame)
}

/// The beginning of any other call: before MPI, after it, within another call, with
/// somebody who listens, with several threads.
#[cold]
#[inline(never)]
fn begin_unusual(name: usize, when: When, blame: Blame) -> Option<c_int> {
    let within = own::page().enter(name as u32);
    if running().is_some() {
        if !within && STAGE.load(Ordering::Acquire) == LISTENED {
            own::page().listen();
            if collective(name) {
                events::raise(Kind::Collective, [name as u64, 0, 0, 0]);
            }
        }
        return None;
    }
    match when {
        When::Running => {
            let code = failed(&Call(()), name, blame, not_running());
            end(name);
            Some(code)
        }
        When::Anytime => {
            predefined::install();
            None
        }
    }
}

/// Marks the end of a call, if that is a usual one.
#[inline(always)]
fn end_usual(name: usize) -> bool {
    !OBSERVED || own::page().leave_usual(name as u32)
}

/// The end of any call.
#[cold]
fn end(name: usize) {
    if !end_usual(name) {
        let ready = STAGE.load(Ordering::Acquire) == RUNNING;
        if own::page().leave(ready) {
            events::tell();
        }
    }
}

/// Whether a call is a collective operation that begins with it.
fn collective(name: usize) -> bool {
    const OPERATIONS: [&str; 9] =
        ["Barrier", "Bcast", "Gather", "Scatter", "Allgather", "Alltoall", "Reduce", "Allreduce", "Exscan"];
    let name = NAMES.get(name).and_then(|name| name.strip_prefix("MPI_")).unwrap_or_default();
    let name = name.strip_suffix("_c").unwrap_or(name);
    let name = name.strip_prefix("Neighbor_").or_else(|| name.strip_prefix("Ineighbor_")).unwrap_or(name);
    let name = name.strip_prefix('I').unwrap_or(name);
    let is = |known: &str| {
        let rest = name.get(known.len()..).filter(|_| name.len() >= known.len());
        name.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known))
            && matches!(rest, Some("" | "v" | "w" | "_scatter" | "_scatter_block"))
    };
    OPERATIONS.into_iter().chain(["Scan"]).any(is)
}

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());
static STAGE: AtomicU32 = AtomicU32::new(BEFORE);
const BEFORE: u32 = 0;
const RUNNING: u32 = 1;
const AFTER: u32 = 2;
/// As [`RUNNING`], and a tool wants to be told of events: so nobody else pays
/// for asking.
const LISTENED: u32 = 3;
/// Whether a tool does.
static LISTENS: AtomicBool = AtomicBool::new(false);
/// How many of world model and sessions use the engine.
static USERS: Mutex<u32> = Mutex::new(0);

#[inline]
fn running() -> Option<&'static Engine> {
    let stage = STAGE.load(Ordering::Acquire);
    if stage != RUNNING && stage != LISTENED {
        return None;
    }
    known()
}

/// The engine, once there is one.
#[inline]
fn known() -> Option<&'static Engine> {
    // SAFETY: null, or an engine that is never given back.
    unsafe { ENGINE.load(Ordering::Acquire).as_ref() }
}

/// The engine, in a call that nobody makes but while MPI is initialised.
///
/// # Errors
/// `Other` where there is none.
#[inline]
pub fn engine_of_call() -> Result<&'static Engine> {
    known().ok_or_else(not_running)
}

/// The engine, while MPI is initialised.
///
/// # Errors
/// `Other` before initialisation and after finalization.
#[inline]
pub fn engine() -> Result<&'static Engine> {
    running().ok_or_else(not_running)
}

#[cold]
fn not_running() -> Error {
    let what = match STAGE.load(Ordering::Relaxed) {
        AFTER => "MPI has been finalized; this function must be called before",
        _ => "MPI is not initialised; call MPI_Init, MPI_Init_thread or MPI_Session_init before",
    };
    Error::new(Class::Other, what)
}

/// This rank's page, as soon as there is one, and also after finalization.
pub fn page() -> Option<&'static Page> {
    known().map(Engine::page)
}

/// The same with all counters up to date.
pub fn counted() -> Option<&'static Page> {
    known().inspect(|engine| engine.publish_counters()).map(Engine::page)
}

/// What this rank has sent; nothing before the engine is there.
pub fn sent() -> Sent {
    known().map(Engine::sent).unwrap_or_default()
}

/// Ranks in the job, 0 before it is known.
pub fn size() -> u64 {
    known().map_or(0, |engine| u64::from(engine.size()))
}

/// Says whether a tool wants to be told of events.
pub fn set_listened(listens: bool) {
    LISTENS.store(listens, Ordering::SeqCst);
    let (from, to) = if listens { (RUNNING, LISTENED) } else { (LISTENED, RUNNING) };
    let _ = STAGE.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    own::page().hold_up();
}

fn set_running() {
    STAGE.store(RUNNING, Ordering::SeqCst);
    set_listened(LISTENS.load(Ordering::SeqCst));
}

/// Starts the engine for one more user (the world model, a session), also
/// again after its last user has left it (sessions: MPI-5.0 §11.3).
///
/// # Errors
/// What the engine says when it cannot start.
pub fn acquire_engine() -> Result<&'static Engine> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    if STAGE.load(Ordering::Acquire) == AFTER {
        // SAFETY: set before the stage, to an engine that is never given back.
        if let Some(engine) = unsafe { ENGINE.load(Ordering::Relaxed).as_ref() } {
            engine.resume();
            set_running();
        }
    } else if *users == 0 {
        predefined::install();
        let job = Box::leak(Box::new(Job::start()?));
        // It cannot where the system's pages are larger: observers do not see this rank's
        // calls then, nor what it receives in packets, and all else works.
        let _ = own::show(job);
        let engine = Box::leak(Box::new(Engine::join_with(job, functions::tool::settings()?)?));
        engine.publish_names(NAMES)?;
        predefined::install_communicators(engine);
        engine.set_directory(|visit| COMMS.each(visit));
        ENGINE.store(engine, Ordering::Release);
        set_running();
    }
    *users += 1;
    engine()
}

/// Ends one user's use; the last one ends the engine.
///
/// # Errors
/// What the engine says when it cannot end in order.
pub fn release_engine() -> Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = engine()?;
    if *users == 1 {
        engine.finalize()?;
        STAGE.store(AFTER, Ordering::Release);
    }
    *users -= 1;
    Ok(())
}

/// Runs a body behind the wall and gives the error code that the function
/// returns.
#[inline]
pub fn call(name: usize, when: When, blame: Blame, body: impl FnOnce(&Call) -> Result<()>) -> c_int {
    if let Some(code) = begin(name, when, blame) {
        return code;
    }
    let call = Call(());
    let code = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(())) => {
            if end_usual(name) {
                return abi::MPI_SUCCESS;
            }
            abi::MPI_SUCCESS
        }
        Ok(Err(error)) => failed(&call, name, blame, error),
        Err(panic) => failed(&call, name, blame, from_panic(&*panic)),
    };
    end(name);
    code
}

/// What a function without a body returns.
#[cold]
pub fn absent(name: usize, function: &str, blame: Blame) -> c_int {
    own::page().enter(name as u32);
    let code = failed(&Call(()), name, blame, Error::not_there_yet(function));
    end(name);
    code
}

#[cold]
fn failed(call: &Call, name: usize, blame: Blame, error: Error) -> c_int {
    if let Blame::Nobody = blame {
        return functions::tool::code(&error);
    }
    let function = NAMES.get(name).copied().unwrap_or("MPI");
    events::raise(Kind::Error, [name as u64, class_number(error.class()) as u64, 0, 0]);
    let code = codes::code_of_call(function, &error);
    let answer = catch_unwind(AssertUnwindSafe(|| blame::answer(call, blame, function, code, &error)));
    answer.unwrap_or(code)
}

#[cold]
fn from_panic(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::new(Class::Intern, format!("internal error of Serried, please report it: {text}"))
}
