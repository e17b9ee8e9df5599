//! ARMCI as a user of the engine, and behind the entry wall: what an error becomes.

use crate::calls;
use crate::class::class_number;
use crate::common::engine::{self, Participant};
use crate::common::entry::{self, Call, Face, When};
use crate::{predefined, wording, LIBRARY};
use serried_engine::{Error, Result};
use std::convert::Infallible;

/// ARMCI among the faces of this library.
pub static ARMCI: Participant = Participant::new(
    "ARMCI is not initialised; call ARMCI_Init before",
    "ARMCI has been finalized; this function must be called before",
    |_| Ok(()),
    || (),
);

/// The number of the first call of this face among those of all faces.
const FIRST: usize = calls::NAMES.len();

/// ARMCI as the wall sees it.
struct Armci;

impl Face for Armci {
    type RaisedOn = ();
    /// Nobody asks ARMCI's functions whether they have failed: an error ends the job.
    type Answer = Infallible;

    fn participant() -> &'static Participant {
        &ARMCI
    }

    fn prepare() {
        predefined::install();
    }

    fn is_silent(_: usize) -> bool {
        false
    }

    fn heard(_: usize) {}

    #[cold]
    fn failed(_: &Call, number: usize, _: (), error: Error) -> Infallible {
        let name = LIBRARY.names.iter().copied().flatten().nth(number).copied().unwrap_or("ARMCI");
        let (sentence, class) = (wording::sentence(&error), class_number(error.class()));
        match engine::running() {
            Some(engine) => {
                let message = format!("serried: rank {}: {name} failed: {sentence}", engine.rank());
                engine.fail(&error, class, &message)
            }
            None => {
                eprintln!("serried: {name} failed: {sentence}");
                std::process::exit(serried_engine::job::exit_status(class))
            }
        }
    }
}

/// Runs a body behind the wall and gives its value.
#[inline]
pub fn call<T>(place: usize, when: When, body: impl FnOnce(&Call) -> Result<T>) -> T {
    match entry::run::<Armci, T>(FIRST + place, when, (), body) {
        Ok(value) => value,
        Err(never) => match never {},
    }
}
