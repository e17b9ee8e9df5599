//! Everything that lives below this process, found and ended.
//!
//! The launcher and its guard are subreapers: whatever a rank starts, in
//! whatever session or group, comes to hang below them when its parents die.

use crate::system::signals;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

/// Makes orphans below this process its children.
pub fn become_subreaper() {
    // SAFETY: plain system call; an old kernel refuses it and loses only this.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Sends `signal` to every descendant of this process: to whole process groups
/// where that spares our own, so that nothing forks itself away meanwhile. Those
/// that are known (groups are negative) get it first: looking around takes long
/// where hundreds of ranks want the cores. Those in `spared`, and what is below them,
/// do not get it.
pub fn signal_all(signal: i32, known: &[i32], spared: &[i32]) {
    known.iter().for_each(|&target| signals::send(target, signal));
    // SAFETY: asking for one's own group cannot fail.
    let own_group = unsafe { libc::getpgrp() };
    let mut done: HashSet<i32> = known.iter().copied().collect();
    for process in list(spared) {
        let target = if process.group == own_group { process.id } else { -process.group };
        if done.insert(target) {
            signals::send(target, signal);
        }
    }
}

/// Whether nothing is below this process but these and what is below them.
pub fn are_all(spared: &[i32]) -> bool {
    list(spared).is_empty()
}

/// Kills every descendant, those that are known first, and takes their statuses,
/// until there is none or `patience` is over (a process may be stuck inside the
/// kernel).
pub fn kill_all(patience: Duration, known: &[i32]) {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(2);
    loop {
        match reap_one() {
            Reaped::Nobody => return,
            Reaped::One(..) => continue,
            Reaped::NotYet if Instant::now() > deadline => return,
            Reaped::NotYet => {}
        }
        signal_all(libc::SIGKILL, known, &[]);
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(100));
    }
}

/// What became of a look at the children.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reaped {
    /// This one has ended.
    One(Child),
    /// There are children; none has ended.
    NotYet,
    /// There are no children at all.
    Nobody,
}

/// A child that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Child {
    /// Its process id.
    pub process: i32,
    /// How it ended, as `waitpid` tells it.
    pub status: i32,
    /// CPU time of it, and of those that it has waited for.
    pub cpu: Duration,
}

/// Takes the status of one child that has ended.
pub fn reap_one() -> Reaped {
    let mut status = 0;
    // SAFETY: zeros are times; both places are valid.
    let (process, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage), usage)
    };
    let time = |of: libc::timeval| Duration::new(of.tv_sec as u64, of.tv_usec as u32 * 1000);
    match process {
        0 => Reaped::NotYet,
        -1 => Reaped::Nobody,
        process => Reaped::One(Child { process, status, cpu: time(usage.ru_utime) + time(usage.ru_stime) }),
    }
}

/// A process below this one.
struct Process {
    id: i32,
    parent: i32,
    group: i32,
}

/// All descendants of this process but these and theirs.
fn list(spared: &[i32]) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(process) = look_at(id) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![std::process::id() as i32];
    while let Some(parent) = open.pop() {
        let mut below = children.remove(&parent).unwrap_or_default();
        below.retain(|process| !spared.contains(&process.id));
        open.extend(below.iter().map(|process| process.id));
        found.extend(below);
    }
    found
}

fn look_at(id: i32) -> Option<Process> {
    let text = fs::read(format!("/proc/{id}/stat")).ok()?;
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(&text[name_end + 1..]).ok()?.split_ascii_whitespace().skip(1);
    Some(Process { id, parent: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
}
