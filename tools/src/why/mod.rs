//! Why a job does not go on: asking its ranks, the graph of their waits, and the
//! verdict in words. `serried run` watches its own job with it (`run/watch.rs`);
//! `serried why` asks once.

pub mod ask;
mod collectives;
pub mod explain;
pub mod graph;
mod json;
mod look;
mod module;
pub mod sources;
mod tell;
pub mod words;

use crate::attach;
use std::ffi::OsString;

const USAGE: &str = "\
usage: serried why [PROCESS] [--json]

Says of a running job what each rank does: in which call it waits and for whom, with its source
line, what lies in its queues, who is slow, and whether some ranks can never go on. PROCESS is the
launcher or any rank of the job; it is not needed where only one job is running.

  --json   the same for programs

The exit status is 0 if the job can go on, 1 if some ranks cannot, 2 if there is no such job.
";

/// Does what the command line behind `serried why` says; returns the exit status.
pub fn command(arguments: &[OsString]) -> i32 {
    let mut process = None;
    let mut as_json = false;
    for argument in arguments {
        match argument.to_str() {
            Some("--json") => as_json = true,
            Some("--help" | "-h") => {
                print!("{USAGE}");
                return 0;
            }
            Some(word) if process.is_none() && word.parse::<i32>().is_ok_and(|number| number > 0) => {
                process = word.parse().ok();
            }
            _ => {
                let word = argument.to_string_lossy();
                eprintln!("serried: why: `{word}` is no process id and no option\n\n{USAGE}");
                return 2;
            }
        }
    }
    match attach::find(process).and_then(look::at) {
        Ok(seen) => {
            print!("{}", if as_json { json::of(&seen) } else { tell::of(&seen) });
            i32::from(!seen.stuck.is_empty())
        }
        Err(text) => {
            eprintln!("serried: {text}");
            2
        }
    }
}
