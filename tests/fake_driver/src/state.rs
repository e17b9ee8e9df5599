//! The state of the driver behind one lock.

use crate::calls::Calls;
use crate::contexts::Contexts;
use crate::kernels::Modules;
use crate::memory::Memory;
use crate::streams::Streams;
use crate::{Answer, NOT_INITIALIZED};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct State {
    pub is_initialised: bool,
    pub calls: Calls,
    pub contexts: Contexts,
    pub memory: Memory,
    pub modules: Modules,
    pub streams: Streams,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

pub fn lock() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a function of the driver: counts it, has it fail if that was asked for, and does it, if the
/// program has begun with CUDA.
pub fn call(name: &'static str, work: impl FnOnce(&mut State) -> Result<(), Answer>) -> Answer {
    let mut state = lock();
    let state = state.get_or_insert_default();
    let done = state.calls.count(name).and_then(|()| match state.is_initialised || name == "cuInit" {
        true => work(state),
        false => Err(NOT_INITIALIZED),
    });
    done.err().unwrap_or(crate::SUCCESS)
}

/// Stores a result where the program wants it.
///
/// # Safety
/// `place` is null or can be written.
pub unsafe fn give<T>(place: *mut T, value: T) -> Result<(), Answer> {
    if place.is_null() {
        return Err(crate::INVALID_VALUE);
    }
    // SAFETY: by the caller.
    unsafe { place.write(value) };
    Ok(())
}
