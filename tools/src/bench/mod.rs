//! `serried bench`: how quick messages and collectives are here, in half a minute.
//!
//! Run by itself it starts a job of itself; run as a program of a job it is that job's ranks. Times are whole: data are written
//! before a call and read after it, as programs do, and nothing is taken off. What a face of MPI adds, some nanoseconds a call,
//! is not in them.

pub mod blocks;
pub mod cells;
pub mod measuring;
mod report;

use crate::run;
use crate::system::host_name;
use blocks::Memory;
use cells::Cell;
use measuring::Bench;
use report::Report;
use serried_engine::job::detect::{self, Launcher};
use serried_engine::{Engine, Result};
use std::ffi::OsString;

const USAGE: &str = "\
usage: serried bench [--json] [OPTION OF serried run]...

Measures messages between rank 0 and another rank, on this host and on another one if there are several, and collectives
of all ranks, for some lengths. Times are whole: data are written before each call and read after it. Give the ranks as to
`serried run` (-n 8, --hosts a,b, --bind-to core); without options there are two.
";
const USAGE_ERROR: i32 = 64;
/// How a rank is told that rank 0 speaks to machines.
const JSON: &str = "--json";

/// Does it; returns the exit status. `arguments` are options of `serried run`, and how to speak.
pub fn command(arguments: &[OsString]) -> i32 {
    if arguments.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return 0;
    }
    let (json, options): (Vec<OsString>, Vec<OsString>) =
        arguments.iter().cloned().partition(|word| word == JSON);
    match detect::detect(&|name| std::env::var(name).ok()) {
        Ok(Launcher::None) => start(!json.is_empty(), &options),
        Ok(_) => be_a_rank(!json.is_empty()).map_or_else(|error| refused(error.message(), 1), |()| 0),
        Err(error) => refused(error.message(), 1),
    }
}

fn refused(why: &str, status: i32) -> i32 {
    eprintln!("serried: bench: {why}");
    status
}

fn start(is_json: bool, options: &[OsString]) -> i32 {
    // What is no option would be taken for the program.
    if let Some(word) = options.first().filter(|word| !word.to_string_lossy().starts_with('-')) {
        return refused(&format!("{} is no option\n\n{USAGE}", word.display()), USAGE_ERROR);
    }
    run::this_command(options, if is_json { &["bench", JSON] } else { &["bench"] })
}

fn be_a_rank(is_json: bool) -> Result<()> {
    let engine = Engine::start()?;
    let hosts = engine.gather_texts(&host_name())?;
    let mut bench = Bench::new(&engine, Memory::Heap, cells::most_bytes(engine.size()));
    // The first rank, and the first one of another host.
    let other_host = hosts.iter().position(|host| Some(host) != hosts.first()).unwrap_or(0) as u64;
    let other_host = bench.share(other_host)? as u32;
    let mut report = Report::new(is_json, engine.rank() == 0, hosts);
    let mut partners = vec![1, other_host];
    partners.retain(|&rank| 0 < rank && rank < engine.size());
    partners.dedup();
    for row in cells::rows(engine.size(), &partners) {
        let mut times = Vec::new();
        for &cell in &row {
            times.push((cell, bench.time(cell)?));
        }
        report.add(&times);
    }
    report.end();
    engine.finalize()
}

/// What a row of the table is about, and its cells.
type Row = Vec<Cell>;
