//! Finding the program to run, once for all its ranks, with an answer for
//! people when it cannot be run.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The path to execute for `name`, looked up as a shell would in `search` (a
/// PATH), seen from `directory` (where the ranks will run).
///
/// # Errors
/// A sentence that says why it cannot be run and what to try.
pub fn program(name: &OsStr, search: &OsStr, directory: &Path) -> Result<PathBuf, String> {
    if name.as_bytes().contains(&b'/') {
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
    (!allowed).then(|| format!("it is not executable; try: chmod +x {}", path.display()))
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
    fn refusals_say_why_and_what_to_try() {
        let say = |name: &str, directory: &str| {
            program(name.as_ref(), "/bin".as_ref(), Path::new(directory)).unwrap_err()
        };
        assert!(say("group", "/etc").contains("did you mean ./group"));
        assert!(say("/etc/passwd", "/").contains("chmod +x"));
        assert!(say("/etc/../etc", "/").contains("is a directory"));
        assert!(say("./absent", "/").contains("no such file"));
    }
}
