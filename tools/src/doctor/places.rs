//! File systems: of the working directory and of temporary files.

use super::finding::{size, Findings};
use serried_engine::file::FileSystem as Kind;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Debug)]
pub struct FileSystem {
    /// Its kind, such as ext4.
    pub kind: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes that are free for this user.
    pub free: u64,
    /// Nothing can be written.
    pub read_only: bool,
    /// No program can be executed.
    pub no_exec: bool,
}

/// The file system of a path; `None` if there is no such path.
pub fn about(path: &str) -> Option<FileSystem> {
    let name = CString::new(path).ok()?;
    // SAFETY: an all-zero value may be overwritten.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is a C string, `found` a valid place.
    if unsafe { libc::statvfs(name.as_ptr(), &mut found) } != 0 {
        return None;
    }
    Some(FileSystem {
        kind: kind_of(path),
        bytes: found.f_blocks.saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
        read_only: found.f_flag & libc::ST_RDONLY != 0,
        no_exec: found.f_flag & libc::ST_NOEXEC != 0,
    })
}

/// From the table of mounts: the last one on the longest way to the path.
fn kind_of(path: &str) -> String {
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let rows = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (_, place, kind) = (words.next()?, words.next()?, words.next()?);
        full.starts_with(place.replace("\\040", " ")).then_some((place.len(), kind))
    });
    rows.fold((0, "unknown"), |best, row| if row.0 >= best.0 { row } else { best }).1.to_owned()
}

/// Says how MPI accesses a file of some name.
pub fn file(path: &Path, findings: &mut Findings) {
    let name = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let kind = match Kind::of_path(path) {
        Ok(kind) => kind,
        Err(error) => {
            let advice = "check the path, and that its folder exists";
            return findings.fault("file-system", format!("{name} cannot be opened: {error}"), advice);
        }
    };
    if path.is_dir() {
        return findings.fault("file-system", format!("{name} is a folder"), "name a file");
    }
    let found = about(&folder.to_string_lossy());
    let free = found.as_ref().map_or(String::new(), |found| format!(", {} free", size(found.free)));
    let text = format!("{name} lies on {}{free}: {}", kind.name, kind.consequence());
    match found.is_some_and(|found| found.read_only) {
        true => findings.note("file-system", format!("{text}; it can only be read")),
        false => findings.fine("file-system", text),
    }
    for (ending, what) in [
        (".serried-new", "a new one is being written beside it, or a job was killed while it was"),
        (".serried-sums", "there are checksums of it, which the hint serried_checksum verifies"),
    ] {
        let beside = PathBuf::from(format!("{name}{ending}"));
        if beside.exists() {
            findings.note("beside", format!("{}: {what}", beside.display()));
        }
    }
}

/// Says what there is.
pub fn look(findings: &mut Findings) {
    let here = std::env::current_dir().map_or_else(|_| ".".into(), |path| path.display().to_string());
    let temporary = std::env::temp_dir().display().to_string();
    for (what, path) in [("working-directory", &here), ("temporary-files", &temporary)] {
        let Some(found) = about(path) else {
            findings.warn(what, format!("{path} does not exist"), "set TMPDIR to a folder that does");
            continue;
        };
        let mut text = format!("{path} is on {}, {} free", found.kind, size(found.free));
        if found.no_exec {
            text.push_str("; programs on it cannot be executed (noexec)");
        }
        match found.read_only {
            true => findings.note(what, format!("{text}; it is read-only. Serried writes no file there")),
            false => findings.fine(what, text),
        }
    }
}
