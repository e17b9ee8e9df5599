//! Everything that lives below this process, found and ended.
//!
//! The launcher and its guard are subreapers: whatever a rank starts, in
//! whatever session or group, comes to hang below them when its parents die.

use super::signals;
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// Makes orphans below this process its children.
pub fn become_subreaper() {
    // SAFETY: plain system call; an old kernel refuses it and loses only this.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Sends `signal` to every descendant of this process.
pub fn signal_all(signal: i32) {
    for process in list() {
        signals::send(process, signal);
    }
}

/// Kills every descendant and takes their statuses, until there is none or
/// `patience` is over (a process may be stuck inside the kernel).
pub fn kill_all(patience: Duration) {
    let deadline = Instant::now() + patience;
    loop {
        match reap_one() {
            Reaped::Nobody => return,
            Reaped::One(..) => continue,
            Reaped::NotYet if Instant::now() > deadline => return,
            Reaped::NotYet => {}
        }
        signal_all(libc::SIGKILL);
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What became of a look at the children.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reaped {
    /// This process has ended with this wait status.
    One(i32, i32),
    /// There are children; none has ended.
    NotYet,
    /// There are no children at all.
    Nobody,
}

/// Takes the status of one child that has ended.
pub fn reap_one() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` is a valid place.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Reaped::NotYet,
        -1 => Reaped::Nobody,
        process => Reaped::One(process, status),
    }
}

/// The ids of all descendants of this process.
fn list() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(parent) = parent_of(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![std::process::id() as i32];
    while let Some(parent) = open.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        found.extend(&below);
        open.extend(below);
    }
    found
}

fn parent_of(process: i32) -> Option<i32> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
