//! The border between C and the engine: the wall that no panic passes, the
//! rank's page, the check that MPI is initialised, the way from an error to an
//! error handler.

use crate::blame::{self, Blame};
use crate::functions::NAMES;
use crate::handle::COMMS;
use crate::{abi, codes, predefined};
use serried_engine::engine::Engine;
use serried_engine::observe::Page;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
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
pub struct Call {
    page: Option<&'static Page>,
    outer: Option<u32>,
}

impl Call {
    #[inline]
    fn enter(name: usize) -> Call {
        let page = running().map(Engine::page);
        let mut outer = None;
        if let Some(page) = page {
            if page.inside() {
                outer = Some(page.name());
            }
            page.enter(name as u32);
        }
        Call { page, outer }
    }
}

#[cfg(test)]
impl Call {
    /// A call outside of any job.
    pub fn for_tests() -> Call {
        Call { page: None, outer: None }
    }
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        match (self.page, self.outer) {
            (Some(page), None) => page.leave(),
            (Some(page), Some(outer)) => page.enter(outer),
            (None, _) => (),
        }
    }
}

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());
static STAGE: AtomicU32 = AtomicU32::new(BEFORE);
const BEFORE: u32 = 0;
const RUNNING: u32 = 1;
const AFTER: u32 = 2;
/// How many of world model and sessions use the engine.
static USERS: Mutex<u32> = Mutex::new(0);

#[inline]
fn running() -> Option<&'static Engine> {
    if STAGE.load(Ordering::Acquire) != RUNNING {
        return None;
    }
    // SAFETY: set before the stage, to an engine that is never given back.
    unsafe { ENGINE.load(Ordering::Relaxed).as_ref() }
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
            STAGE.store(RUNNING, Ordering::Release);
        }
    } else if *users == 0 {
        predefined::install();
        let engine = Box::leak(Box::new(Engine::start()?));
        engine.publish_names(NAMES)?;
        predefined::install_communicators(engine);
        engine.set_directory(|visit| COMMS.each(visit));
        ENGINE.store(engine, Ordering::Relaxed);
        STAGE.store(RUNNING, Ordering::Release);
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
    let call = Call::enter(name);
    if call.page.is_none() {
        match when {
            When::Running => return failed(&call, name, blame, not_running()),
            When::Anytime => predefined::install(),
        }
    }
    match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(())) => abi::MPI_SUCCESS,
        Ok(Err(error)) => failed(&call, name, blame, error),
        Err(panic) => failed(&call, name, blame, from_panic(&*panic)),
    }
}

/// What a function without a body returns.
#[cold]
pub fn absent(name: usize, function: &str, blame: Blame) -> c_int {
    let call = Call::enter(name);
    let error = Error::not_there_yet(function);
    if let Blame::Nobody = blame {
        return codes::with_message(abi::MPI_T_ERR_NOT_SUPPORTED, error.message());
    }
    failed(&call, name, blame, error)
}

#[cold]
fn failed(call: &Call, name: usize, blame: Blame, error: Error) -> c_int {
    let function = NAMES.get(name).copied().unwrap_or("MPI");
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
