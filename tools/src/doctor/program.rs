//! The file that a person wants to run: what kind of file it is, and so who
//! tells which MPI it gets.

use super::elf::{Elf, Refusal};
use super::finding::Findings;
use super::{in_path, library, python};
use crate::system::programs;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// So much of a script is read.
const ENOUGH: u64 = 1 << 20;

/// Looks at it, and at the Python that it needs.
pub fn look(program: &OsStr, findings: &mut Findings) {
    let script = Path::new(program);
    if script.extension() == Some(OsStr::new("py")) && script.is_file() {
        return look_with(script, in_path(OsStr::new("python3")), findings);
    }
    let path = match in_path(program) {
        Ok(path) => path,
        Err(why) => return findings.fault("program", why, ""),
    };
    match Elf::read(&path) {
        Err(Refusal::Unreadable(why)) => {
            findings.note("program", format!("{} cannot be read: {why}", path.display()));
        }
        Err(Refusal::NotElf) => look_at_text(&path, findings),
        Ok(_) if programs::is_python(&path) => python::look(&path, findings),
        _ => library::look(&path, findings),
    }
}

/// What is no program by itself: a script, or nothing that can be started.
fn look_at_text(path: &Path, findings: &mut Findings) {
    let text = beginning(path);
    let name = path.display();
    let Some(first) = text.strip_prefix(b"#!") else {
        let (why, advice) = match text.is_empty() {
            true => ("it is empty".to_owned(), "build it again, or copy it again"),
            false => (programs::exec_failure(libc::ENOEXEC), ""),
        };
        return findings.fault("program", format!("{name} cannot be started: {why}"), advice);
    };
    let line = first.split(|&byte| byte == b'\n').next().unwrap_or_default();
    match interpreter(&String::from_utf8_lossy(line)) {
        Some(python) => look_with(path, python, findings),
        None if programs::is_python(path) => python::look(path, findings),
        None => findings.note("program", format!("{name} is a script; look at the program that it starts")),
    }
}

/// A script that this Python shall run.
fn look_with(script: &Path, python: Result<PathBuf, String>, findings: &mut Findings) {
    let python = match python {
        Ok(python) => python,
        Err(why) => {
            let text = format!("{} needs Python: {why}", script.display());
            return findings.fault("program", text, "install Python, or name another in its first line");
        }
    };
    let names_mpi4py = beginning(script).windows(6).any(|word| word == b"mpi4py");
    python::look_for(script, names_mpi4py, &python, findings);
}

/// The Python that the first line of a script names, if it names one.
fn interpreter(line: &str) -> Option<Result<PathBuf, String>> {
    let is_python = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        name.starts_with("python") || name.starts_with("pypy")
    };
    Some(in_path(OsStr::new(line.split_whitespace().find(is_python)?)))
}

fn beginning(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read is empty; that it can be opened has been seen.
    let _ = std::fs::File::open(path).and_then(|file| file.take(ENOUGH).read_to_end(&mut bytes));
    bytes
}
