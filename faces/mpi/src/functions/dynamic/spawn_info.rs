//! The info keys with which processes are started (MPI-5.0 §11.8.4): `wdir`, `path`, `host`, `soft`,
//! `mpi_memory_alloc_kinds`, `mpi_initial_errhandler`; and what other libraries have too: `env`, lines `NAME=VALUE`; `hosts`, `add-host`, `hostfile`
//! and `add-hostfile`. Keys that are not known are ignored, as MPI says.

use crate::objects::Info;
use crate::{initial_error_handler, memory_kinds};
use serried_engine::job::starter::Program;
use serried_engine::settings::{INITIAL_ERROR_HANDLER, MEMORY_KINDS};
use serried_engine::{Class, Error, Result};
use std::ffi::OsString;
use std::path::Path;

/// Keys whose values are lists of hosts, as for `serried run --hosts`.
const HOST_KEYS: [&str; 3] = ["host", "hosts", "add-host"];
/// Keys whose values are files of hosts, as for `serried run --hostfile`.
const HOST_FILE_KEYS: [&str; 2] = ["hostfile", "add-hostfile"];

/// What the keys say of a program.
pub fn apply(info: &Info, mut program: Program) -> Result<Program> {
    let hosts: Vec<String> = HOST_KEYS.iter().filter_map(|key| info.get(key)).collect();
    // Some separate hosts by blanks.
    program.hosts =
        hosts.iter().flat_map(|hosts| hosts.split_whitespace()).collect::<Vec<_>>().join(",").into();
    if let Some(file) = HOST_FILE_KEYS.iter().find_map(|key| info.get(key)) {
        if !program.hosts.is_empty() {
            return Err(refused(format!(
                "the keys name hosts, and the file {file} too; one of both is enough"
            )));
        }
        program.host_file = file.into();
    }
    if let Some(directory) = info.get("wdir") {
        program.directory = directory.into();
    }
    if let Some(folders) = info.get("path") {
        let name = program.words[0].clone();
        if let Some(found) = find(&name, &folders) {
            program.words[0] = found;
        }
    }
    if let Some(lines) = info.get("env") {
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let Some((name, value)) = line.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                return Err(refused(format!("the line {line:?} of the key env is no NAME=VALUE")));
            };
            program.variables.push((name.into(), value.into()));
        }
    }
    if let Some(kinds) = info.get(memory_kinds::SUPPORTED) {
        program.variables.push((MEMORY_KINDS.into(), kinds.into()));
    }
    if let Some(name) = info.get(initial_error_handler::KEY) {
        program.variables.push((INITIAL_ERROR_HANDLER.into(), name.into()));
    }
    if let Some(counts) = info.get("soft") {
        program.ranks = of_soft(&counts, program.ranks)?;
    }
    Ok(program)
}

fn refused(text: String) -> Error {
    Error::new(Class::Spawn, text)
}

/// A program by its name in one of the folders.
fn find(name: &OsString, folders: &str) -> Option<OsString> {
    if name.to_string_lossy().contains('/') {
        return None;
    }
    let files = folders.split([':', ' ', ';']).filter(|folder| !folder.is_empty());
    files.map(|folder| Path::new(folder).join(name)).find(|file| file.is_file()).map(Into::into)
}

/// The largest of the counts that are wanted, not above `most`: `a`, `a:b` or `a:b:step`, with commas between them.
fn of_soft(counts: &str, most: u32) -> Result<u32> {
    let garbled = || {
        refused(format!(
            "the key soft is {counts:?}; wanted are numbers, or ranges a:b or a:b:step, with commas"
        ))
    };
    let mut best = None;
    for part in counts.split(',') {
        let numbers: Vec<i64> = part
            .split(':')
            .map(|word| word.trim().parse())
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| garbled())?;
        let (first, last, step) = match numbers[..] {
            [one] => (one, one, 1),
            [first, last] => (first, last, 1),
            [first, last, step] if step != 0 => (first, last, step),
            _ => return Err(garbled()),
        };
        // The members of the range, downwards from the largest that is not above `most`.
        let (low, high, step) = if step > 0 { (first, last, step) } else { (last, first, -step) };
        let anchor = if numbers.get(2).is_some_and(|&step| step < 0) { high } else { low };
        let largest = anchor + (high.min(i64::from(most)) - anchor).div_euclid(step) * step;
        if largest >= low.max(0) && largest <= high {
            best = best.max(Some(largest as u32));
        }
    }
    best.ok_or_else(|| refused(format!("the key soft, {counts:?}, has no number from 0 to maxprocs, {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_takes_the_largest_count_that_is_possible() {
        let largest = |counts, most| of_soft(counts, most).ok();
        assert_eq!([largest("3", 4), largest("0:100", 7), largest("1,5,2", 4)], [Some(3), Some(7), Some(2)]);
        assert_eq!(
            [largest("1:9:4", 8), largest("9:1:-4", 8), largest("9:1:-5", 8)],
            [Some(5), Some(5), Some(4)]
        );
        assert_eq!([largest("5:9", 4), largest("x", 4), largest("1:2:0", 4), largest("", 4)], [None; 4]);
    }

    #[test]
    fn hosts_are_named_by_the_keys_of_other_libraries_too() {
        let with = |pairs: &[(&str, &str)]| {
            let info = Info::default();
            pairs.iter().for_each(|(key, value)| info.set(key, value).unwrap());
            apply(&info, Program { words: vec!["x".into()], ..Program::default() })
        };
        let hosts = |pairs| with(pairs).unwrap().hosts;
        assert_eq!(hosts(&[("host", "a:2, b")]), "a:2,,b");
        assert_eq!(hosts(&[("hosts", "a b:3")]), "a,b:3");
        assert_eq!(hosts(&[("add-host", "c"), ("host", "a")]), "a,c");
        assert_eq!(with(&[("hostfile", "/a file")]).unwrap().host_file, "/a file");
        assert_eq!(with(&[("hostfile", "f"), ("host", "a")]).unwrap_err().class(), Class::Spawn);
    }

    #[test]
    fn the_environment_has_lines_of_names_and_values() {
        let info = Info::default();
        info.set("env", "A=1\nB=x=y\n").unwrap();
        info.set("wdir", "/tmp").unwrap();
        let program = Program { words: vec!["x".into()], ..Program::default() };
        let applied = apply(&info, program.clone()).unwrap();
        assert_eq!(applied.variables, [("A".into(), "1".into()), ("B".into(), "x=y".into())]);
        assert_eq!(applied.directory, "/tmp");
        info.set(memory_kinds::SUPPORTED, "cuda:device").unwrap();
        let asked = apply(&info, program.clone()).unwrap().variables;
        assert_eq!(asked[2], (MEMORY_KINDS.into(), "cuda:device".into()));
        info.set("env", "nonsense").unwrap();
        assert_eq!(apply(&info, program).unwrap_err().class(), Class::Spawn);
    }
}
