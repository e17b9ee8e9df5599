//! `serried doctor`: what a person needs to know of this machine, and of the
//! library that a program will really load, in plain sentences.
//!
//! Nothing is changed, no name server is asked, and the program is not run. One
//! short job of our own is tried. By itself the doctor speaks, in short, when a
//! job cannot start ([`short`]).
//!
//! Exit status: 0 nothing is wrong, 1 warnings, 2 jobs or the program cannot
//! run, 64 a command line that makes no sense.

mod elf;
mod finding;
mod hosts;
mod launchers;
pub mod library;
mod linker;
mod machine;
mod network;
mod packages;
mod places;
mod program;
mod python;
mod surroundings;
mod trial;

use crate::system::{host_name, programs};
use finding::Report;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const USAGE: &str = "\
usage: serried doctor [--json] [PROGRAM]
       serried doctor [--json] --hosts HOST,... [PROGRAM]
       serried doctor [--json] --file FILE

Says what a person needs to know of this machine: launchers, CPUs, memory, limits, sandboxes,
network, file systems, and by what means ranks reach each other's memory (tried in a job of two).
With PROGRAM (a program, a script, or a Python), also which MPI library it will really load.
With --hosts (or --hostfile FILE), what would not work between these hosts: each is reached as
`serried run` would (-launcher, -launcher-exec and --agent-path mean the same), its own doctor
looks, and a job with a rank on each is tried.
With --file, how MPI will access a file of that name, and nothing else.

exit status: 0 nothing is wrong; 1 warnings; 2 jobs, or PROGRAM, cannot run
";
const USAGE_ERROR: i32 = 64;

/// Options of `serried run` by which hosts are named and reached.
const OF_RUN: [&str; 10] = [
    "--hosts",
    "-hosts",
    "--host",
    "-host",
    "-H",
    "--hostfile",
    "-hostfile",
    "-launcher",
    "-launcher-exec",
    "--agent-path",
];

/// What a command line asks for.
#[derive(Default)]
struct Asked {
    program: Option<OsString>,
    file: Option<PathBuf>,
    /// Options of `serried run`.
    hosts: Vec<OsString>,
    /// It speaks to a doctor on another host, which has this working directory.
    another: Option<PathBuf>,
    is_json: bool,
    wants_help: bool,
}

impl Asked {
    fn read(arguments: &[OsString]) -> Result<Asked, String> {
        let mut asked = Asked::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                |what: &str| arguments.next().ok_or(format!("{} needs {what}", argument.display())).cloned();
            match argument.to_str() {
                Some("--json") => asked.is_json = true,
                Some("--file") => asked.file = Some(value("the name of a file")?.into()),
                Some("--for-another") => asked.another = Some(value("a folder")?.into()),
                Some(option) if OF_RUN.contains(&option) => {
                    asked.hosts.extend([argument.clone(), value("a value")?]);
                }
                Some("--help" | "-h") => asked.wants_help = true,
                Some(word) if word.starts_with('-') => return Err(format!("knows no option {word}")),
                _ if asked.program.is_none() => asked.program = Some(argument.clone()),
                _ => return Err("looks at one program".into()),
            }
        }
        Ok(asked)
    }

    fn report(&self) -> Result<Report, String> {
        match &self.file {
            Some(file) => {
                let mut report = Report::default();
                report.add("file", |findings| places::file(file, findings));
                Ok(report)
            }
            None if !self.hosts.is_empty() => {
                Ok(hosts::Visits::new(self.hosts.clone(), self.program.clone())?.examine())
            }
            None => Ok(examine(self.program.as_deref())),
        }
    }
}

/// Does it; returns the exit status.
pub fn command(arguments: &[OsString]) -> i32 {
    let asked = match Asked::read(arguments) {
        Ok(asked) if asked.wants_help => {
            print!("{USAGE}");
            return 0;
        }
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("serried: doctor {why}\n\n{USAGE}");
            return USAGE_ERROR;
        }
    };
    if let Some(folder) = &asked.another {
        return hosts::for_another(folder, asked.program.as_deref());
    }
    let report = match asked.report() {
        Ok(report) => report,
        Err(why) => {
            eprintln!("serried: doctor: {why}");
            return USAGE_ERROR;
        }
    };
    match asked.is_json {
        true => print!("{}", report.json(&host_name())),
        false => print!("Serried {} on {}\n{}", env!("CARGO_PKG_VERSION"), host_name(), report.text()),
    }
    report.status()
}

fn examine(program: Option<&OsStr>) -> Report {
    let mut report = Report::default();
    if let Some(program) = program {
        report.add("program", |findings| program::look(program, findings));
    }
    report.add("launchers", launchers::look);
    report.add("environment", surroundings::look);
    if program.is_none() {
        report.add("Python", |findings| {
            // A name in PATH that is a script chooses a Python only when it runs.
            if let Some(python) =
                in_path(OsStr::new("python3")).ok().filter(|path| elf::Elf::read(path).is_ok())
            {
                python::look(&python, findings);
            }
        });
    }
    report.add("processors", machine::processors);
    report.add("memory", machine::memory);
    report.add("limits", machine::limits);
    report.add("sandbox", machine::sandbox);
    report.add("ranks", trial::look);
    report.add("GPUs", machine::devices);
    report.add("network", network::network);
    report.add("fabrics", network::fabrics);
    report.add("file systems", places::look);
    report
}

/// What is wrong here, in indented lines to stand below the message of a start
/// that failed; empty if nothing is. Starts nothing.
pub fn short() -> String {
    let mut report = Report::default();
    report.add("environment", surroundings::look);
    report.add("processors", machine::processors);
    report.add("memory", machine::memory);
    report.add("limits", machine::limits);
    report.short()
}

fn in_path(name: &OsStr) -> Result<PathBuf, String> {
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    programs::program(name, &search, Path::new("."))
}
