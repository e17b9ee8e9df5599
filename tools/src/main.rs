//! The serried command: `serried run` (also called `mpiexec`, `mpirun` or `oshrun`)
//! starts jobs, `serried info` says what is here.

mod attach;
mod bench;
mod device_memory;
mod doctor;
mod info;
mod pairs;
mod run;
mod system;
mod top;
mod tune;
mod why;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::exit;

const USAGE: &str = "\
usage: serried COMMAND [ARGUMENT]...

commands:
  run      start a program on several ranks (also as `mpiexec`, `mpirun`, `oshrun`)
  info     versions, CPUs that may be used, libraries, settings; `serried info --pairs [-n RANKS]`
           tries by what means ranks reach each other's memory
  doctor   what is wrong on this machine, and which MPI a program will really load:
           `serried doctor [--json] [./program]`; `--hosts a,b`: what would not work between hosts
  top      what the ranks of a running job do: `serried top [PID]` here, `--web` in a browser, `--json`
  why      what the ranks of a running job wait for, and whether some can never go on; --json
  bench    how quick messages and collectives are here: `serried bench [--json] [-n RANKS]`
  tune     measures at which lengths ways of moving bytes change here, for all later jobs: `serried tune`
  help     this text; `serried run --help` for the options of run

A first job:  serried run -n 4 ./program
";

const VERSION: &str = concat!("serried ", env!("CARGO_PKG_VERSION"), "\n");

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let called_as = arguments.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    let rest = arguments.get(1..).unwrap_or_default();
    if matches!(called_as, Some("mpiexec" | "mpirun" | "oshrun" | "mpiexec.serried" | "mpirun.serried")) {
        exit(run::command(rest));
    }
    let command = rest.first().and_then(|name| name.to_str());
    exit(match command {
        Some("run") => run::command(&rest[1..]),
        Some("agent") => run::agent(&rest[1..]),
        Some("spawned") => run::spawned(&rest[1..]),
        Some("info") if rest.get(1).is_some_and(|word| word == "--pairs") => pairs::command(&rest[2..]),
        Some("why") => why::command(&rest[1..]),
        Some("info") => info::command(),
        Some("top") => top::command(&rest[1..]),
        Some("doctor") => doctor::command(&rest[1..]),
        Some("bench") => bench::command(&rest[1..]),
        Some("tune") => tune::command(&rest[1..]),
        Some("help" | "--help" | "-h") => print(USAGE),
        Some("version" | "--version" | "-V") => print(VERSION),
        Some(name) => {
            eprintln!("serried: there is no command `{name}`; to start a program: serried run -n 4 {name}\n\n{USAGE}");
            2
        }
        None => {
            eprint!("{USAGE}");
            2
        }
    });
}

/// Writes to standard output; returns the exit status.
fn print(text: &str) -> i32 {
    let mut output = std::io::stdout();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => 0,
        // As a signal would have it: a reader that has had enough is no error.
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => 128 + libc::SIGPIPE,
        Err(cause) => {
            let _ = writeln!(std::io::stderr(), "serried: cannot write to standard output: {cause}");
            1
        }
    }
}
