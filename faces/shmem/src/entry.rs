//! OpenSHMEM behind the entry wall. Its functions have no error codes but a few: an error ends the job with a sentence, or
//! is told and returned where the standard has a value for that.

use super::calls::{FIRST_CALL, NAMES};
use super::state::SHMEM;
use crate::common::engine::{self, Participant};
use crate::common::entry::{self, Call, Face};
use serried_engine::{Error, Result};
use std::ffi::c_int;

pub use crate::common::entry::When;

/// OpenSHMEM as the wall sees it.
struct Shmem;

/// What an error of a call does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// It ends the job.
    Job,
    /// It is told and returned.
    Caller,
}

impl Face for Shmem {
    type RaisedOn = On;
    type Answer = ();

    fn participant() -> &'static Participant {
        &SHMEM
    }

    fn prepare() {}

    fn is_silent(call: usize) -> bool {
        // Kept writes of files are of no concern to what only asks.
        matches!(name(call), "shmem_ptr" | "shmem_pe_accessible")
    }

    fn heard(_call: usize) {}

    #[cold]
    fn failed(_call: &Call, number: usize, on: On, error: Error) {
        if on == On::Caller && error.message().is_empty() {
            return; // the standard's own way to say no
        }
        let sentence = sentence(name(number), &error);
        match (on, engine::running()) {
            (On::Caller, _) => eprintln!("{sentence}"),
            (On::Job, Some(engine)) => engine.fail(&error, 1, &sentence),
            (On::Job, None) => {
                eprintln!("{sentence}");
                std::process::exit(1)
            }
        }
    }
}

fn name(call: usize) -> &'static str {
    call.checked_sub(FIRST_CALL).and_then(|number| NAMES.get(number)).copied().unwrap_or("shmem")
}

/// An error as a person reads it.
pub fn sentence(function: &str, error: &Error) -> String {
    let pe = engine::running().map_or(String::new(), |engine| format!("PE {}: ", engine.rank()));
    format!("serried: {pe}{function} failed: {error}")
}

/// Runs a body behind the wall and gives its value; an error ends the job.
#[inline(always)]
pub fn call<T>(number: usize, when: When, body: impl FnOnce(&Call) -> Result<T>) -> T {
    match entry::run::<Shmem, T>(number, when, On::Job, body) {
        Ok(value) => value,
        Err(()) => std::process::exit(1), // `failed` has ended the job
    }
}

/// The same of a function that only asks: it passes the wall, and is noted, if there is something to tell.
#[inline(always)]
pub fn asked<T>(number: usize, when: When, body: impl Fn(&Call) -> Result<T>) -> T {
    match body(&Call::unnoted()) {
        Ok(value) => value,
        Err(_) => call(number, when, body),
    }
}

/// The same of a function that says whether it has failed.
#[inline(always)]
pub fn status(number: usize, when: When, body: impl FnOnce(&Call) -> Result<()>) -> c_int {
    match entry::run::<Shmem, ()>(number, when, On::Caller, body) {
        Ok(()) => 0,
        Err(()) => -1,
    }
}

/// Tells of an error that a call returns by a value of its own.
#[cold]
pub fn tell(function: &str, error: &Error) {
    eprintln!("{}", sentence(function, error));
}
