//! `serried run`: starts the ranks of a job on this machine, looks after them,
//! and leaves nothing behind.
//!
//! ```text
//! options → plan (programs found, environments made) → guard ── launcher
//! launcher: launch (fork the ranks) → supervise (one poll loop) → exit status
//! ```
//!
//! The exit status is that of the first rank that ended badly: its own, or 128
//! plus the signal; 127 if the program cannot be started, 124 after
//! `--timeout`, 123 after a verdict with `--on-deadlock=abort`, 2 for a command line that makes no sense,
//! 1 if all went well but for output that could not be written.

mod binding;
mod configuration;
mod conversation;
mod descendants;
mod descriptors;
mod ending;
mod environment;
mod guard;
mod help;
mod hosts;
mod last_calls;
mod launch;
mod memory_events;
mod naps;
mod option_table;
mod options;
mod outlets;
mod output;
mod patterns;
mod plan;
mod pmi_server;
mod rank;
mod ranks;
mod report;
mod seen;
mod spawn;
mod statistics;
mod streams;
mod supervise;
mod supervisor;
mod verdict;
mod watch;

#[cfg(test)]
mod options_tests;
#[cfg(test)]
mod watch_tests;

use crate::system::signals::Signals;
use plan::Plan;
use std::ffi::OsString;
use std::io::Write;
use std::time::{Duration, Instant};

const USAGE_ERROR: i32 = 2;
const CANNOT_START: i32 = 127;

/// Does what the command line behind `serried run` says; returns the exit
/// status.
pub fn command(arguments: &[OsString]) -> i32 {
    let started = Instant::now();
    let options = match options::parse(arguments).and_then(with_environment_timeout) {
        Ok(options) => options,
        Err(text) => return complain(&text, USAGE_ERROR),
    };
    if options.help {
        return crate::print(help::TEXT);
    }
    if options.version {
        return crate::print(crate::VERSION);
    }
    if !options.ignored.is_empty() {
        say(&format!(
            "serried: accepted, but without meaning on one machine: {}\n",
            options.ignored.join(", ")
        ));
    }
    crate::info::warn_of_misspelt();
    match plan::prepare(options) {
        Ok(plan) => start(plan, started),
        Err(text) => complain(&text, CANNOT_START),
    }
}

/// Divides into guard and launcher, starts the job and sees it to its end.
fn start(plan: Plan, started: Instant) -> i32 {
    let signals = match Signals::take(&[libc::SIGCHLD, libc::SIGTSTP, libc::SIGXFSZ]) {
        Ok(signals) => signals,
        Err(cause) => return complain(&format!("no signals: {}", launch::because(&cause)), CANNOT_START),
    };
    let mut guard = match guard::split(&signals) {
        Ok(guard) => guard,
        Err(cause) => return complain(&format!("cannot start: {}", launch::because(&cause)), CANNOT_START),
    };
    let deadline = plan.options.timeout.map(|allowed| started + allowed);
    let is_to_end = || deadline.is_some_and(|at| Instant::now() >= at) || guard.wants_the_end();
    match launch::launch(&plan, signals.before(), is_to_end) {
        Ok(job) => supervisor::Supervisor::new(plan, job, signals, guard, started).run(),
        Err(text) => {
            descendants::kill_all(Duration::from_secs(5), &[]);
            complain(&text, CANNOT_START);
            say(&crate::doctor::short());
            CANNOT_START
        }
    }
}

/// Hydra's `MPIEXEC_TIMEOUT`, where the command line sets no time.
fn with_environment_timeout(mut options: options::Options) -> Result<options::Options, String> {
    if let (None, Ok(text)) = (options.timeout, std::env::var("MPIEXEC_TIMEOUT")) {
        options.timeout = Some(options::seconds("MPIEXEC_TIMEOUT", &text)?);
    }
    Ok(options)
}

fn complain(text: &str, status: i32) -> i32 {
    say(&format!("serried: {text}\n"));
    status
}

/// Says something on standard error, if anybody can hear it.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
