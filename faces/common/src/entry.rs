//! The entry from C into the engine: the wall that no panic passes, the note of the
//! call on the rank's page, the check that the face runs.
//!
//! In a usual call the engine runs, nobody listens, and there is nothing else to know:
//! one comparison and one store. All else is looked at where a call is not usual.

use super::engine::{is_listened, is_usual, Participant};
use super::{buffers, page};
use serried_engine::file::behind;
use serried_engine::observe::{events, page::OBSERVED};
use serried_engine::{Class, Error, Result};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What the wall has to know of a face.
pub trait Face: 'static {
    /// What an error can be raised on.
    type RaisedOn: Copy;
    /// What a failed call leaves to be returned: an error code, or nothing where the
    /// standard of the face has none.
    type Answer;

    /// The face as a user of the engine.
    fn participant() -> &'static Participant;

    /// Makes ready what a call may ask for while the face does not run.
    fn prepare();

    /// Whether a call says nothing to anybody and hears nothing, so that writes that are kept may stay kept.
    fn is_silent(call: usize) -> bool;

    /// A call begins that a tool listens to.
    fn heard(call: usize);

    /// What a call returns that has failed.
    fn failed(call: &Call, number: usize, raised_on: Self::RaisedOn, error: Error) -> Self::Answer;
}

/// When a function may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// While the face runs.
    Running,
    /// Before and after too (MPI-5.0 §11.4.1).
    Anytime,
}

/// A call in progress. While it lives, handles that it has looked up live.
pub struct Call(());

impl Call {
    /// A call that nobody needs to hear of.
    #[inline(always)]
    pub fn unnoted() -> Call {
        Call(())
    }
}

#[cfg(test)]
impl Call {
    /// A call outside of any job.
    pub fn for_tests() -> Call {
        Call(())
    }
}

/// Marks the beginning of a call; whether it is a usual one.
///
/// # Errors
/// What to return, if this is no time for it.
#[inline(always)]
fn begin<F: Face>(number: usize, when: When, raised_on: F::RaisedOn) -> std::result::Result<bool, F::Answer> {
    let usual = match OBSERVED {
        true => page::own().enter_usual(number as u32),
        false => is_usual(),
    };
    if usual {
        return Ok(true);
    }
    begin_unusual::<F>(number, when, raised_on)
}

/// The beginning of any other call: before the face runs, after it, within another
/// call, with somebody who listens, with several threads, after writes that are kept.
#[cold]
#[inline(never)]
fn begin_unusual<F: Face>(
    number: usize,
    when: When,
    raised_on: F::RaisedOn,
) -> std::result::Result<bool, F::Answer> {
    let within = page::own().enter(number as u32);
    buffers::begin();
    if behind::any() && !F::is_silent(number) {
        behind::flush();
    }
    if F::participant().is_running() {
        if !within && is_listened() {
            page::own().listen();
            F::heard(number);
        }
        return Ok(false);
    }
    match when {
        When::Running => {
            let error = F::participant().not_running();
            let answer = F::failed(&Call(()), number, raised_on, error);
            let _ = buffers::end(false);
            end(number);
            Err(answer)
        }
        When::Anytime => {
            F::prepare();
            Ok(false)
        }
    }
}

/// Marks the end of a call, if that is a usual one.
#[inline(always)]
fn end_usual(number: usize) -> bool {
    !OBSERVED || page::own().leave_usual(number as u32)
}

/// The same of one that nobody has said anything about, such as a wait.
#[inline(never)] // all functions have one
fn end_unrecorded(number: usize) -> bool {
    page::own().leave_unrecorded(number as u32)
}

/// The end of any call.
#[cold]
fn end(number: usize) {
    if !end_usual(number) && page::own().leave(is_usual() && !behind::any()) {
        events::tell();
    }
}

/// Runs a body behind the wall and gives its value.
///
/// # Errors
/// What the function returns where the body has failed or cannot run now.
#[inline(always)]
pub fn run<F: Face, T>(
    number: usize,
    when: When,
    raised_on: F::RaisedOn,
    body: impl FnOnce(&Call) -> Result<T>,
) -> std::result::Result<T, F::Answer> {
    let usual = begin::<F>(number, when, raised_on)?;
    let call = Call(());
    let done = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(value)) => {
            if end_usual(number) || end_unrecorded(number) {
                return Ok(value);
            }
            Ok(value)
        }
        Ok(Err(error)) => Err(explained::<F>(when, error)),
        Err(panic) => Err(from_panic(&*panic)),
    };
    // Error handlers may look at what the call has received.
    let stored = buffers::end(usual);
    let result = done
        .and_then(|value| stored.map(|()| value))
        .map_err(|error| F::failed(&call, number, raised_on, error));
    end(number);
    result
}

/// What a function without a body returns.
#[cold]
pub fn absent<F: Face>(number: usize, function: &str, raised_on: F::RaisedOn) -> F::Answer {
    page::own().enter(number as u32);
    let answer = F::failed(&Call(()), number, raised_on, Error::not_there_yet(function));
    end(number);
    answer
}

#[cold]
fn explained<F: Face>(when: When, error: Error) -> Error {
    match when {
        When::Running => F::participant().explain(error),
        When::Anytime => error,
    }
}

#[cold]
fn from_panic(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::new(Class::Intern, format!("internal error of Serried, please report it: {text}"))
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
