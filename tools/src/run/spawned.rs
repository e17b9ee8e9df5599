//! `serried spawned`: the launcher of a job that a rank of another job starts (MPI_Comm_spawn). It is started by our
//! library (`serried_engine::job::starter`), and by nobody else.
//!
//! ```text
//! rank ── serried spawned (ends at once)
//!           └─ guard ── launcher ── ranks of the new job, or agents on other hosts
//! ```

use super::across::job_hosts::JobHosts;
use super::across::{children, host_list};
use super::options::{OnFailure, Options, Program};
use super::plan::{self, Plan};
use super::spawned_job::Spawned;
use serried_engine::job::starter;
use serried_engine::settings::HOSTS;
use std::ffi::OsString;
use std::time::Instant;

/// Does what the words behind `serried spawned` say.
pub fn command(arguments: &[OsString]) -> i32 {
    let started = Instant::now();
    let read = || {
        let (descriptors, rest) = arguments.split_first()?;
        let (taken, rest) = rest.split_first()?;
        let (on_failure, words) = rest.split_first()?;
        let on_failure = OnFailure::named(on_failure.to_str()?).ok()?;
        Some((Spawned::read(descriptors.to_str()?)?, taken.to_str()?, on_failure, starter::read(words)?))
    };
    let Some((mut spawned, taken, on_failure, programs)) = read() else {
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
    match prepare(programs, taken, on_failure, &mut spawned) {
        Ok(plan) => super::start(Plan { spawned: Some(spawned), ..plan }, started),
        Err(text) => {
            spawned.answer(&text);
            super::CANNOT_START
        }
    }
}

/// Finds places for the processes, beside those that are `taken`.
fn prepare(
    programs: Vec<starter::Program>,
    taken: &str,
    on_failure: OnFailure,
    spawned: &mut Spawned,
) -> Result<Plan, String> {
    let told = std::env::var(HOSTS).ok();
    let job = told.as_deref().and_then(JobHosts::read).unwrap_or_default();
    let taken = if taken.is_empty() { Vec::new() } else { host_list::read_list("taken places", taken)? };
    let places = children::place(&programs, &job, &taken)?;
    spawned.places = children::told(&places);
    let mut options = Options { programs: programs.into_iter().map(program).collect(), ..Options::default() };
    options.on_failure = on_failure;
    // Its ranks may start others.
    options.environment.extend(told.map(|text| (HOSTS.into(), text.into())));
    options.shell = job.shell;
    options.host_timeout = job.host_timeout.unwrap_or(options.host_timeout);
    plan::prepare(options, children::across(&places))
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
