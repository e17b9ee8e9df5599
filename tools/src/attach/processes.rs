//! What /proc and the kernel tell of processes.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;

/// Name of the node segment as /proc shows it, and of one that is a part of a job on several hosts.
const SEGMENT: &str = "/memfd:serried-node";
const PART: &str = "/memfd:serried-node-part";

/// A node segment that a process holds open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Which segment.
    pub inode: u64,
    /// The process's descriptor.
    pub descriptor: i32,
    /// It is a part of a job on several hosts.
    pub is_part: bool,
}

/// Parents of all processes that can be seen.
pub fn parents() -> HashMap<i32, i32> {
    numbers("/proc").into_iter().filter_map(|process| Some((process, parent(process)?))).collect()
}

fn parent(process: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything, also parentheses.
    status[status.rfind(')')? + 2..].split(' ').nth(1)?.parse().ok()
}

/// Who owns a process; `None` if there is no such process.
pub fn owner(process: i32) -> Option<u32> {
    fs::metadata(format!("/proc/{process}")).ok().map(|about| about.st_uid())
}

/// The user that we are.
pub fn me() -> u32 {
    // SAFETY: getting one's own user id cannot fail.
    unsafe { libc::geteuid() }
}

/// The node segments that a process holds; an error if it must not be looked at.
pub fn segments(process: i32) -> io::Result<Vec<Held>> {
    let folder = format!("/proc/{process}/fd");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default().to_string_lossy().into_owned();
        let (is_one, is_part) = (target.starts_with(SEGMENT), target.starts_with(PART));
        let number = entry.file_name().to_string_lossy().parse();
        if let (true, Ok(descriptor), Ok(about)) = (is_one, number, fs::metadata(entry.path())) {
            found.push(Held { inode: about.st_ino(), descriptor, is_part });
        }
    }
    found.sort_by_key(|held| held.descriptor);
    Ok(found)
}

/// The command line of a process, in one line.
pub fn command(process: i32) -> String {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words: Vec<_> = bytes.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ").trim().replace(char::is_control, " ");
    if line.is_empty() {
        "(no command line)".to_owned()
    } else {
        line
    }
}

/// Why a process cannot be looked at, in a sentence.
pub fn not_mine(process: i32, cause: &io::Error) -> String {
    match owner(process) {
        None => format!("there is no process {process}"),
        Some(user) if user != me() => format!(
            "process {process} belongs to user {user} and you are user {}: only its owner and root can look at a job",
            me()
        ),
        Some(_) => format!("process {process} cannot be looked at: {cause}"),
    }
}

/// All numbers that are names in a folder.
pub fn numbers(folder: &str) -> Vec<i32> {
    let entries =
        fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let mut found: Vec<i32> = entries.iter().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    found.sort_unstable();
    found
}

/// A process whose end is noticed, also if its number is given to another.
#[derive(Debug)]
pub struct Watch {
    descriptor: OwnedFd,
}

impl Watch {
    /// `None` if there is no such process.
    pub fn new(process: i32) -> Option<Watch> {
        // SAFETY: a plain system call.
        let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) } as i32;
        // SAFETY: just got, and nobody else owns it.
        (raw >= 0).then(|| Watch { descriptor: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        let mut entry = libc::pollfd { fd: self.descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `entry` is one valid pollfd.
        unsafe { libc::poll(&mut entry, 1, 0) > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_parent_and_owner() {
        let this = std::process::id() as i32;
        // SAFETY: a plain system call.
        assert_eq!(parents()[&this], unsafe { libc::getppid() });
        assert_eq!(owner(this), Some(me()));
        assert!(command(this).contains("serried"));
    }

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let watch = Watch::new(child.id() as i32).unwrap();
        assert!(!watch.has_ended());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(watch.has_ended());
    }

    #[test]
    fn what_must_not_be_looked_at_is_said_in_a_sentence() {
        let cause = io::Error::from_raw_os_error(libc::EACCES);
        assert!(not_mine(i32::MAX, &cause).starts_with("there is no process"));
    }
}
