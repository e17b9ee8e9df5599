//! `serried run`: starts the ranks of a job, here or on other hosts, looks after them,
//! and leaves nothing behind.
//!
//! ```text
//! options → plan (programs found, environments made) → guard ── launcher
//! launcher: launch (fork the ranks, or start agents on other hosts) → supervise (one poll loop) → exit status
//! ```
//!
//! The exit status is that of the first rank that ended badly: its own, or 128
//! plus the signal; 127 if the program cannot be started, 124 after
//! `--timeout`, 125 if a host was lost, 123 after a verdict with `--on-deadlock=abort`, 2 for a command line that makes no sense,
//! 1 if all went well but for output that could not be written.

pub mod across;
mod agent;
pub mod agents;
mod binding;
mod configuration;
mod conversation;
mod council;
mod descendants;
mod descriptors;
mod ending;
mod energy;
mod environment;
mod guard;
mod help;
mod last_calls;
mod launch;
mod meeting;
mod meeting_options;
mod memory_events;
mod naps;
mod news;
mod option_table;
mod option_values;
pub mod options;
mod outlets;
mod output;
mod path_news;
mod patterns;
mod plan;
mod pmi_server;
mod rank;
mod rank_start;
mod ranks;
mod report;
mod restarts;
mod seen;
mod spawn;
mod spawned;
mod spawned_job;
mod statistics;
mod streams;
mod supervise;
mod supervisor;
mod surviving;
mod verdict;
mod watch;

#[cfg(test)]
mod council_tests;
#[cfg(test)]
mod options_tests;
#[cfg(test)]
mod watch_tests;

pub use agent::command as agent;
pub use spawned::command as spawned;

use crate::system::signals::Signals;
use across::choice::{choose, Across};
use meeting::{Parties, Role};
use plan::Plan;
use std::ffi::OsString;
use std::io::Write;
use std::time::{Duration, Instant};

const USAGE_ERROR: i32 = 2;
const CANNOT_START: i32 = 127;

/// Starts this command itself with these words on several ranks: as the options say, or on two.
pub fn this_command(options: &[OsString], words: &[&str]) -> i32 {
    let Ok(this) = std::env::current_exe() else {
        let words = words.join(" ");
        eprintln!("serried: this program does not find itself; try: serried run -n 2 serried {words}");
        return 1;
    };
    let mut line = if options.is_empty() { vec!["-n".into(), "2".into()] } else { options.to_vec() };
    line.push(this.into_os_string());
    line.extend(words.iter().map(OsString::from));
    command(&line)
}

/// Does what the command line behind `serried run` says; returns the exit
/// status.
pub fn command(arguments: &[OsString]) -> i32 {
    let started = Instant::now();
    let mut options = match options::parse(arguments).and_then(with_environment_timeout) {
        Ok(options) => options,
        Err(text) => return complain(&text, USAGE_ERROR),
    };
    if options.help {
        return crate::print(help::TEXT);
    }
    if options.version {
        return crate::print(crate::VERSION);
    }
    if let Err(text) = meeting::check(&mut options) {
        return complain(&text, USAGE_ERROR);
    }
    let across = match choose(&mut options, &|name| std::env::var(name).ok()) {
        Ok(across) => across,
        Err(text) => return complain(&text, USAGE_ERROR),
    };
    if !options.ignored.is_empty() {
        let place = if across.is_some() { "here" } else { "on one machine" };
        say(&format!("serried: accepted, but without meaning {place}: {}\n", options.ignored.join(", ")));
    }
    crate::info::warn_of_misspelt();
    restarts::prepare(&mut options);
    match plan::prepare(options, across) {
        Ok(plan) => start(plan, started),
        Err(text) => complain(&text, CANNOT_START),
    }
}

/// Divides into guard and launcher, starts the job and sees it to its end, again if it fails and that is wanted.
fn start(mut plan: Plan, started: Instant) -> i32 {
    let mut signals = match Signals::take(&[libc::SIGCHLD, libc::SIGTSTP, libc::SIGXFSZ]) {
        Ok(signals) => signals,
        Err(cause) => return complain(&format!("no signals: {}", rank_start::because(&cause)), CANNOT_START),
    };
    let mut guard = match guard::split(&signals, guard::Watched::Nothing) {
        Ok(guard) => guard,
        Err(cause) => {
            return complain(&format!("cannot start: {}", rank_start::because(&cause)), CANNOT_START)
        }
    };
    let mut parties = match meeting::meet(&mut plan, &mut guard) {
        Ok(Role::Leads(parties)) => parties,
        Ok(Role::Belongs(stream, shared)) => {
            return agent::belong(stream, shared, plan.programs, signals, guard)
        }
        Err(text) => return complain(&text, CANNOT_START),
    };
    let deadline = plan.options.timeout.map(|allowed| started + allowed);
    loop {
        let is_to_end = || deadline.is_some_and(|at| Instant::now() >= at) || guard.wants_the_end();
        let launched = match &plan.across {
            None => launch::launch(&plan, signals.before(), is_to_end).map(|job| (job, None)),
            Some(across) => launch_across(&plan, across, std::mem::take(&mut parties), &signals),
        };
        let (job, agents) = match launched {
            Ok(launched) => launched,
            Err(text) => return not_launched(plan, &text),
        };
        let ended = supervisor::Supervisor::new(plan, job, agents, signals, guard, started).run();
        let status = ended.status;
        match ended.again(deadline) {
            Some(again) => (plan, signals, guard) = again,
            None => return status,
        }
    }
}

/// The job could not be started: ends what there is of it.
fn not_launched(mut plan: Plan, text: &str) -> i32 {
    descendants::kill_all(Duration::from_secs(5), &[]);
    if let Some(spawned) = &mut plan.spawned {
        spawned.answer(text);
        return CANNOT_START;
    }
    complain(text, CANNOT_START);
    say(&crate::doctor::short());
    CANNOT_START
}

/// Starts the agents on other hosts, or has other parties be agents.
fn launch_across(
    plan: &Plan,
    across: &Across,
    parties: Parties,
    signals: &Signals,
) -> Result<(launch::Launched, Option<agents::Agents>), String> {
    let job = agents::launch(plan)?;
    let shared = [job.node.descriptor(), job.switchboard.line()];
    parties.begin(shared)?;
    let agents = agents::Agents::start(plan, across, (parties, shared), signals.before())?;
    Ok((job, Some(agents)))
}

/// Hydra's `MPIEXEC_TIMEOUT`, where the command line sets no time.
fn with_environment_timeout(mut options: options::Options) -> Result<options::Options, String> {
    if let (None, Ok(text)) = (options.timeout, std::env::var("MPIEXEC_TIMEOUT")) {
        options.timeout = Some(option_values::seconds("MPIEXEC_TIMEOUT", &text)?);
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
