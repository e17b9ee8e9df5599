//! Finding the program to run, once for all its ranks, with an answer for
//! people when it cannot be run.

use std::ffi::{CString, OsStr};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The path to execute for `name`, looked up as a shell would in `search` (a
/// PATH), seen from `directory` (where the ranks will run).
///
/// # Errors
/// A sentence that says why it cannot be run and what to try.
pub fn program(name: &OsStr, search: &OsStr, directory: &Path) -> Result<PathBuf, String> {
    if name.as_bytes().contains(&b'/') || name == "." || name == ".." {
        let seen = directory.join(name);
        return match refusal(&seen) {
            None => Ok(PathBuf::from(name)),
            Some(reason) => Err(format!("cannot start {}: {reason}", name.to_string_lossy())),
        };
    }
    let mut found_but = None;
    for folder in std::env::split_paths(search) {
        let candidate = folder.join(name);
        match refusal(&directory.join(&candidate)) {
            None => return Ok(candidate),
            Some(reason) if directory.join(&candidate).is_file() => found_but = Some((candidate, reason)),
            Some(_) => {}
        }
    }
    let name = name.to_string_lossy();
    Err(match found_but {
        Some((path, reason)) => format!("cannot start {}: {reason}", path.display()),
        None if directory.join(&*name).is_file() => {
            format!("cannot start {name}: there is no such program in PATH; did you mean ./{name} ?")
        }
        None => format!("cannot start {name}: there is no such program in PATH"),
    })
}

/// Why this file cannot be executed, if it cannot.
fn refusal(path: &Path) -> Option<String> {
    match path.metadata() {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            return Some("there is no such file".into())
        }
        Err(cause) => return Some(cause.to_string()),
        Ok(about) if about.is_dir() => return Some("it is a directory".into()),
        Ok(_) => {}
    }
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: `name` is a C string.
    let allowed = unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0;
    let shown = path.display().to_string();
    (!allowed).then(|| format!("it is not executable; try: chmod +x {}", shown.replace("/./", "/")))
}

/// Whether a program is Python, or a script for it: it loads its MPI library
/// when it runs, and not at its start.
pub fn is_python(path: &Path) -> bool {
    let python = |name: &[u8]| name.starts_with(b"python") || name.starts_with(b"pypy");
    if path.file_name().is_some_and(|name| python(name.as_bytes()) && !name.as_bytes().ends_with(b".py")) {
        return true;
    }
    let mut line = [0u8; 256];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut line)).unwrap_or(0);
    let line = line[..read].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let words = line
        .strip_prefix(b"#!")
        .unwrap_or_default()
        .split(|byte| byte.is_ascii_whitespace() || *byte == b'/');
    words.into_iter().any(python)
}

/// What a refused `execve` means to a person.
pub fn exec_failure(code: i32) -> String {
    match code {
        libc::ENOENT => {
            "the interpreter that it names (first line of a script, or loader of a program) is missing"
        }
        libc::ENOEXEC => "it is no program for this machine; a script needs a first line such as #!/bin/sh",
        libc::E2BIG => "its arguments and environment are too long for the system",
        libc::EACCES => "the system does not permit it (is its file system mounted noexec?)",
        libc::EAGAIN | libc::ENOMEM => "the limits on processes or memory are used up",
        _ => return std::io::Error::from_raw_os_error(code).to_string(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_path() {
        let found = program("sh".as_ref(), "/nowhere:/bin".as_ref(), Path::new("/")).unwrap();
        assert_eq!(found, Path::new("/bin/sh"));
    }

    #[test]
    fn python_is_known_by_its_name_and_by_the_first_line_of_a_script() {
        let folder = std::env::temp_dir().join(format!("unit-test-find-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (first, expected) in
            [("#!/usr/bin/env python3", true), ("#!/opt/x/python -u", true), ("#!/bin/sh", false)]
        {
            let script = folder.join("script");
            std::fs::write(&script, format!("{first}\npython")).unwrap();
            assert_eq!(is_python(&script), expected, "{first}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(is_python(Path::new("/nowhere/python3.11")) && !is_python(Path::new("/bin/sh")));
    }

    #[test]
    fn refusals_say_why_and_what_to_try() {
        let say = |name: &str, directory: &str| {
            program(name.as_ref(), "/bin".as_ref(), Path::new(directory)).unwrap_err()
        };
        assert!(say("group", "/etc").contains("did you mean ./group"));
        assert!(say("/etc/passwd", "/").contains("chmod +x"));
        assert!(say("/etc/../etc", "/").contains("is a directory"));
        assert!(say("./absent", "/").contains("no such file"));
        assert!([".", ".."].iter().all(|name| say(name, "/").ends_with(": it is a directory")));
    }
}
