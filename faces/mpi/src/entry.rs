//! MPI behind the entry wall: what an error becomes, what tools are told of.

use crate::abi;
use crate::calls::{COLLECTIVE, NAMES};
use crate::class::class_number;
use crate::common::engine::Participant;
use crate::common::entry::{self, Call, Face};
use crate::error_handler::{self, RaisedOn};
use crate::start::MPI;
use crate::{codes, predefined};
use serried_engine::engine::Engine;
use serried_engine::observe::events::{self, Kind};
use serried_engine::observe::page::add;
use serried_engine::{Error, Result};
use std::ffi::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::LazyLock;

pub use crate::common::entry::When;

/// Calls, without and with `_c`, that say nothing to anybody and hear nothing.
const SILENT_CALLS: [&str; 16] = [
    "MPI_File_write_at",
    "MPI_File_write",
    "MPI_File_get_position",
    "MPI_File_get_byte_offset",
    "MPI_Get_count",
    "MPI_Get_elements",
    "MPI_Get_elements_x",
    "MPI_Type_size",
    "MPI_Type_size_x",
    "MPI_Type_get_extent",
    "MPI_Type_get_true_extent",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Error_class",
];

/// MPI as the wall sees it.
struct Mpi;

impl Face for Mpi {
    type RaisedOn = RaisedOn;
    type Answer = c_int;

    #[inline]
    fn participant() -> &'static Participant {
        &MPI
    }

    fn prepare() {
        predefined::install();
    }

    fn is_silent(call: usize) -> bool {
        static SILENT: LazyLock<[bool; NAMES.len()]> =
            LazyLock::new(|| NAMES.map(|name| SILENT_CALLS.contains(&name.trim_end_matches("_c"))));
        SILENT.get(call).copied().unwrap_or(false)
    }

    fn heard(call: usize) {
        if COLLECTIVE[call] {
            events::raise(Kind::Collective, [call as u64, 0, 0, 0]);
        }
    }

    #[cold]
    fn failed(call: &Call, number: usize, raised_on: RaisedOn, error: Error) -> c_int {
        if let RaisedOn::Nobody = raised_on {
            return codes::code_of_tool(&error);
        }
        let function = NAMES.get(number).copied().unwrap_or("MPI");
        events::raise(Kind::Error, [number as u64, class_number(error.class()) as u64, 0, 0]);
        let code = codes::code_of_call(function, &error);
        let answer = || error_handler::answer(call, raised_on, function, code, &error);
        catch_unwind(AssertUnwindSafe(answer)).unwrap_or(code)
    }
}

/// Runs a body behind the wall and gives the error code that the function
/// returns.
#[inline]
pub fn call(number: usize, when: When, raised_on: RaisedOn, body: impl FnOnce(&Call) -> Result<()>) -> c_int {
    match entry::run::<Mpi, ()>(number, when, raised_on, body) {
        Ok(()) => abi::MPI_SUCCESS,
        Err(code) => code,
    }
}

/// What a function without a body returns.
#[cold]
#[allow(dead_code)] // in an ABI whose functions all have one
pub fn absent(number: usize, function: &str, raised_on: RaisedOn) -> c_int {
    entry::absent::<Mpi>(number, function, raised_on)
}

/// The engine, in a call that nobody makes but while MPI is initialised.
///
/// # Errors
/// `Other` where there is none.
#[inline]
pub fn engine_of_call() -> Result<&'static Engine> {
    MPI.engine_of_call()
}

/// The engine, while MPI is initialised.
///
/// # Errors
/// `Other` before initialisation and after finalization.
#[inline]
pub fn engine() -> Result<&'static Engine> {
    MPI.engine()
}

/// The call that is under way looks at what the program has, and changes nothing else: in a loop
/// that waits for something it counts no more than a test that fails.
#[inline]
pub fn moves_nothing() {
    if let Ok(engine) = engine() {
        add(&engine.page().own().idle_polls, 1);
    }
}
