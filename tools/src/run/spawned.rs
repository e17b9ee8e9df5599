//! `serried spawned`: the launcher of a job that a rank of another job starts (MPI_Comm_spawn). It is started by our
//! library (`serried_engine::job::starter`), and by nobody else.
//!
//! ```text
//! rank ── serried spawned (ends at once)
//!           └─ guard ── launcher ── ranks of the new job
//! ```

use super::options::{Options, Program};
use super::plan::{self, Plan};
use super::spawned_job::Spawned;
use serried_engine::job::starter;
use std::ffi::OsString;
use std::time::Instant;

/// Does what the words behind `serried spawned` say.
pub fn command(arguments: &[OsString]) -> i32 {
    let started = Instant::now();
    let read = arguments.split_first().and_then(|(descriptors, words)| {
        Some((Spawned::read(descriptors.to_str()?)?, starter::read(words)?))
    });
    let Some((mut spawned, programs)) = read else {
        let text =
            "`serried spawned` is what MPI_Comm_spawn calls; to start a program: serried run -n 4 ./program";
        return super::complain(text, super::USAGE_ERROR);
    };
    // SAFETY: there is one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        0 => {}
        -1 => {
            spawned.answer(&format!("no process can be made: {}", std::io::Error::last_os_error()));
            return super::CANNOT_START;
        }
        _ => return 0,
    }
    let options = Options { programs: programs.into_iter().map(program).collect(), ..Options::default() };
    match plan::prepare(options, None) {
        Ok(plan) => super::start(Plan { spawned: Some(spawned), ..plan }, started),
        Err(text) => {
            spawned.answer(&text);
            super::CANNOT_START
        }
    }
}

fn program(given: starter::Program) -> Program {
    Program {
        ranks: Some(given.ranks),
        command: given.words,
        environment: given.variables,
        directory: (!given.directory.is_empty()).then(|| given.directory.into()),
        ..Program::default()
    }
}
