//! `serried tune`: at which lengths one way of moving bytes becomes quicker than another on this machine.
//!
//! For each crossover of the engine (`serried_engine::tuning`) both ways are measured around it, in turns, and the length
//! where they cross goes into a file that all later jobs read. Run by itself it starts jobs of itself; run as a program of a
//! job it is that job's ranks.

mod crossing;
mod curve_table;
mod curves;
mod probes;

use crate::run;
use probes::{Probe, PROBES};
use serried_engine::job::detect::{self, Launcher};
use serried_engine::tuning::crossovers::place_of;
use serried_engine::tuning::file;
use serried_engine::{Engine, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const USAGE: &str = "\
usage: serried tune [--show] [--output FILE] [NAME]...

Measures at which lengths one way of moving bytes becomes quicker than another on this machine: both ways around each such
length, in about half a minute. What differs from the defaults goes to share/serried/tuning.toml beside the libraries, which all
later jobs read. Let nothing else run meanwhile. `serried info` shows the lengths in force.

  --show         only tells what it finds, and writes nothing
  --output FILE  writes to this file; SERRIED_TUNING=FILE has `serried run` use it
  NAME           only these lengths, as `serried info` names them
";
const USAGE_ERROR: i32 = 64;
/// How a rank is told what to do: where to write, and the crossovers.
const INTO: &str = "--into";

/// What the words of the command line ask for.
#[derive(Default)]
struct Wanted {
    shows: bool,
    output: Option<PathBuf>,
    into: Option<PathBuf>,
    names: Vec<String>,
}

/// Does it; returns the exit status.
pub fn command(arguments: &[OsString]) -> i32 {
    if arguments.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return 0;
    }
    let wanted = match parse(arguments) {
        Ok(wanted) => wanted,
        Err(why) => return refused(&format!("{why}\n\n{USAGE}"), USAGE_ERROR),
    };
    match detect::detect(&|name| std::env::var(name).ok()) {
        Ok(Launcher::None) => start(&wanted),
        Ok(_) => be_a_rank(&wanted).map_or_else(|error| refused(error.message(), 1), |()| 0),
        Err(error) => refused(error.message(), 1),
    }
}

fn refused(why: &str, status: i32) -> i32 {
    eprintln!("serried: tune: {why}");
    status
}

fn parse(arguments: &[OsString]) -> std::result::Result<Wanted, String> {
    let mut wanted = Wanted::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        match &*text {
            "--show" => wanted.shows = true,
            "--output" | INTO => {
                let file = words.next().ok_or_else(|| format!("{text} wants a file"))?;
                let place = if text == INTO { &mut wanted.into } else { &mut wanted.output };
                *place = Some(file.into());
            }
            name if place_of(name).is_some() => wanted.names.push(name.to_owned()),
            word => return Err(format!("{word} is no option and no length; `serried info` names them")),
        }
    }
    Ok(wanted)
}

/// The probes that are wanted, of jobs of so many ranks.
fn probes(wanted: &Wanted, ranks: u32) -> Vec<&'static Probe> {
    let is_wanted = |probe: &&Probe| {
        let name = probe.crossover.name;
        probe.ranks == ranks && (wanted.names.is_empty() || wanted.names.iter().any(|one| one == name))
    };
    PROBES.iter().filter(is_wanted).collect()
}

fn start(wanted: &Wanted) -> i32 {
    let output = match (wanted.shows, wanted.output.clone().or_else(file::beside_library)) {
        (true, _) => None,
        (false, Some(file)) => Some(file),
        (false, None) => return refused("this program does not find its own folder; --output FILE", 1),
    };
    let unfinished = output.as_ref().map(|file| file.with_extension("toml.unfinished"));
    if let Some(Err(why)) = unfinished.as_deref().map(begin) {
        return refused(&why, 1);
    }
    let status = [2, 4]
        .into_iter()
        .map(|ranks| measured(wanted, ranks, unfinished.as_deref()))
        .find(|&status| status != 0);
    let (Some(unfinished), Some(output)) = (unfinished, output) else { return status.unwrap_or(0) };
    if let Some(status) = status {
        let _ = std::fs::remove_file(&unfinished);
        return status;
    }
    match std::fs::rename(&unfinished, &output) {
        Ok(()) => {
            println!("written: {}", output.display());
            0
        }
        Err(cause) => refused(&format!("cannot write {}: {cause}", output.display()), 1),
    }
}

/// Sees that a file can be written before anything is measured.
fn begin(file: &Path) -> std::result::Result<(), String> {
    let is_ours = file::beside_library().is_some_and(|ours| ours.parent() == file.parent());
    if let (true, Some(folder)) = (is_ours, file.parent()) {
        // A package may leave it out. Whether that has worked, the file says.
        let _ = std::fs::create_dir_all(folder);
    }
    std::fs::write(file, "").map_err(|cause| {
        format!(
            "cannot write {}: {cause}; --output FILE writes elsewhere, and SERRIED_TUNING=FILE has `serried run` use it",
            file.display()
        )
    })
}

/// Runs a job of so many ranks for what is wanted of them; its exit status.
fn measured(wanted: &Wanted, ranks: u32, into: Option<&Path>) -> i32 {
    let probes = probes(wanted, ranks);
    if probes.is_empty() {
        return 0;
    }
    let mut words = vec!["tune"];
    let file = into.map(|file| file.to_string_lossy().into_owned());
    words.extend(file.iter().flat_map(|file| [INTO, file]));
    words.extend(probes.iter().map(|probe| probe.crossover.name));
    run::this_command(&["-n".into(), ranks.to_string().into()], &words)
}

fn be_a_rank(wanted: &Wanted) -> Result<()> {
    let engine = Engine::start()?;
    curves::measure(&engine, &probes(wanted, engine.size()), wanted.into.as_deref())?;
    engine.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_options_or_names() {
        let words = |words: &[&str]| parse(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let wanted = words(&["--output", "a file", "whole", "pulled"]).ok().unwrap();
        assert_eq!((wanted.output, wanted.names.len(), wanted.shows), (Some("a file".into()), 2, false));
        assert!(words(&["--show"]).is_ok_and(|wanted| wanted.shows && wanted.names.is_empty()));
        for (wrong, why) in [(&["hole"][..], "hole is no option"), (&["--output"], "--output wants a file")] {
            assert!(words(wrong).err().is_some_and(|found| found.contains(why)));
        }
    }

    #[test]
    fn each_probe_belongs_to_one_of_the_jobs() {
        let all = Wanted::default();
        assert_eq!(probes(&all, 2).len() + probes(&all, 4).len(), PROBES.len());
        let one = Wanted { names: vec!["whole".into()], ..Wanted::default() };
        assert_eq!((probes(&one, 2).len(), probes(&one, 4).len()), (0, 1));
    }
}
