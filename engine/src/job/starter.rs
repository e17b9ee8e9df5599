//! Starting a job from within a rank: by a launcher of its own, `serried spawned`, which stands beside our library.
//!
//! ```text
//! serried spawned CONTROL,UNIVERSE,BIRTH,LINE,COUNTER TAKEN abort|continue PROGRAMS
//!                 { RANKS DIRECTORY HOSTS HOSTFILE VARIABLES {NAME VALUE}… WORDS {WORD}… }…
//! ```
//!
//! Over the control socket the launcher says where the processes are, and `ok`, when all programs run, or a sentence; and `!`
//! when the job has failed. It ends the job if the socket ends before it has been let go of: then the process at this end has
//! died. TAKEN says where the jobs are that this process has started and that still run. With `continue` the job goes on without
//! ranks that fail, and without this process, as the one does that starts it.

use super::switchboard::Line;
use crate::own_file::own_file;
use crate::settings::HOSTS;
use crate::{Class, Error, Result};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The command of the launcher that this is for.
pub const COMMAND: &str = "spawned";
/// What is to become of the job when one of its ranks fails: it ends, or goes on.
pub const ON_FAILURE: [&str; 2] = ["abort", "continue"];
/// What it says when all programs run.
pub const STARTED: &[u8] = b"ok\n";
/// Stands for a descriptor that there is not.
pub const NOTHING: &str = "-";
/// What it is told when the job shall go on without this process.
pub const LET_GO: u8 = b'.';

/// What it says at the end of a job that has failed.
pub const FAILED: u8 = b'!';

/// A program to be started on some ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// How many ranks.
    pub ranks: u32,
    /// Its name and its arguments.
    pub words: Vec<OsString>,
    /// Where it shall run, if not here.
    pub directory: OsString,
    /// What it shall have in its environment beside what this process has.
    pub variables: Vec<(OsString, OsString)>,
    /// The hosts on which it shall run, as for `serried run --hosts`; nothing: where the launcher finds room.
    pub hosts: OsString,
    /// A file with such hosts.
    pub host_file: OsString,
}

impl Program {
    /// Whether it may run on another host than this one.
    fn may_be_elsewhere(&self) -> bool {
        let hosts = self.hosts.to_string_lossy();
        let mut names = hosts.split([',', ' ']).filter(|host| !host.is_empty()).peekable();
        let names_none = names.peek().is_none();
        !self.host_file.is_empty() || !names.all(is_surely_here) || names_none && slots().is_some()
    }
}

/// Whether a process of another host may be started: such jobs have no part in the universe of this one.
pub fn may_be_elsewhere(programs: &[Program]) -> bool {
    programs.iter().any(Program::may_be_elsewhere)
}

/// Whether a name is one of this host, whatever name servers say.
fn is_surely_here(host: &str) -> bool {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = own.trim();
    ["localhost", "127.0.0.1", "::1", own, own.split('.').next().unwrap_or(own)].contains(&host)
}

/// How many processes the hosts have room for that the launcher of this job knows, if there are several.
pub fn slots() -> Option<u32> {
    std::env::var(HOSTS).ok()?.lines().next()?.trim().parse().ok()
}

/// The launcher of a job that has been started.
#[derive(Debug)]
pub struct Child {
    socket: UnixStream,
    /// Where its processes are, as the launcher has said it.
    places: String,
    ended: OnceLock<Instant>,
}

/// What a launcher is given beside the programs.
#[derive(Debug)]
pub struct Start<'a> {
    /// The universe in which the job is.
    pub universe: BorrowedFd<'a>,
    /// How it comes about.
    pub birth: &'a OwnedFd,
    /// The line of this process to its launcher: the processes of the job and this one find each other by it.
    pub line: Option<&'a Line>,
    /// The segment whose universe counts the job while it runs, if that is another one.
    pub counter: Option<BorrowedFd<'a>>,
    /// Where those jobs are that this process has started before.
    pub taken: String,
    /// Whether the job goes on without ranks that fail.
    pub goes_on: bool,
}

impl Child {
    /// Where the processes are, for the launchers of further jobs.
    pub fn places(&self) -> &str {
        &self.places
    }

    /// Whether the job has ended badly.
    pub fn has_failed(&self) -> bool {
        self.said() == Some(Some(FAILED))
    }

    /// Whether the job has ended.
    pub fn has_ended(&self) -> bool {
        self.said().is_some()
    }

    /// For how long it has been known that the job has ended.
    pub fn has_ended_for(&self) -> Option<Duration> {
        self.has_ended().then(|| self.ended.get_or_init(Instant::now).elapsed())
    }

    /// What the launcher has said after the start, or that it has gone.
    fn said(&self) -> Option<Option<u8>> {
        let mut byte = 0_u8;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // SAFETY: there is room for one byte.
        match unsafe { libc::recv(self.socket.as_raw_fd(), (&raw mut byte).cast(), 1, flags) } {
            1 => Some(Some(byte)),
            0 => Some(None),
            _ => None,
        }
    }

    /// Lets the job go on whatever becomes of this process.
    pub fn let_go(mut self) {
        // A launcher that is gone has no job either.
        let _ = self.socket.write_all(&[LET_GO]);
    }
}

/// Starts programs as one job. Waits until all of them run.
///
/// # Errors
/// `Spawn`, and why.
pub fn start(given: &Start, programs: &[Program]) -> Result<Child> {
    let launcher = find()?;
    let refused = |cause: io::Error| failed(format!("{} cannot be started: {cause}", launcher.display()));
    let (mut ours, theirs) = UnixStream::pair().map_err(refused)?;
    let all = [
        Some(theirs.as_raw_fd()),
        Some(given.universe.as_raw_fd()),
        Some(given.birth.as_raw_fd()),
        given.line.map(AsRawFd::as_raw_fd),
        given.counter.map(|counter| counter.as_raw_fd()),
    ];
    let numbers = all.map(|one| one.map_or(NOTHING.to_owned(), |one| one.to_string()));
    let passed: Vec<RawFd> = all.into_iter().flatten().collect();
    let mut command = Command::new(&launcher);
    let on_failure = ON_FAILURE[usize::from(given.goes_on)];
    command.arg(COMMAND).arg(numbers.join(",")).arg(&given.taken).arg(on_failure).args(words_of(programs));
    command.stdin(Stdio::null());
    // SAFETY: between fork and exec there are system calls only.
    unsafe { command.pre_exec(move || passed.iter().try_for_each(|&one| keep_open(one))) };
    // What is started divides at once, so that the program never has a child that it does not know.
    let mut dividing = command.spawn().map_err(refused)?;
    // Where the program ignores SIGCHLD the system has taken the status.
    let _ = dividing.wait();
    drop(theirs);
    let mut said = Vec::new();
    while !said.ends_with(STARTED) {
        let mut bytes = [0; 512];
        match ours.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => said.extend(&bytes[..count]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(refused(cause)),
        }
    }
    match said.strip_suffix(STARTED) {
        Some(places) => {
            let places = String::from_utf8_lossy(places).trim_end().to_owned();
            Ok(Child { socket: ours, places, ended: OnceLock::new() })
        }
        None if said.is_empty() => Err(failed(format!("{} has ended", launcher.display()))),
        None => Err(failed(String::from_utf8_lossy(&said).trim_end().to_owned())),
    }
}

fn words_of(programs: &[Program]) -> Vec<OsString> {
    let number = |number: usize| OsString::from(number.to_string());
    let mut words = vec![number(programs.len())];
    for program in programs {
        words.extend([
            number(program.ranks as usize),
            program.directory.clone(),
            program.hosts.clone(),
            program.host_file.clone(),
            number(program.variables.len()),
        ]);
        words.extend(program.variables.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
        words.push(number(program.words.len()));
        words.extend(program.words.iter().cloned());
    }
    words
}

/// Reads the programs in such words; `None` if they are none.
pub fn read(words: &[OsString]) -> Option<Vec<Program>> {
    let mut words = words.iter().cloned();
    let number = |word: Option<OsString>| word?.to_str()?.parse::<usize>().ok();
    let mut programs = Vec::new();
    for _ in 0..number(words.next())? {
        let (ranks, directory) = (number(words.next())? as u32, words.next()?);
        let (hosts, host_file) = (words.next()?, words.next()?);
        let variables: Option<_> =
            (0..number(words.next())?).map(|_| Some((words.next()?, words.next()?))).collect();
        let count = number(words.next())?;
        let own: Option<Vec<OsString>> = (0..count).map(|_| words.next()).collect();
        programs.push(Program {
            ranks,
            words: own.filter(|own| !own.is_empty())?,
            directory,
            variables: variables?,
            hosts,
            host_file,
        });
    }
    words.next().is_none().then_some(programs)
}

fn failed(text: String) -> Error {
    Error::new(Class::Spawn, format!("the processes could not be started: {text}"))
}

fn keep_open(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: plain system call.
    match unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The launcher: beside the folder of this library, else on the path.
fn find() -> Result<PathBuf> {
    let beside = own_file().and_then(|file| Some(file.parent()?.parent()?.join("bin/serried")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("serried"));
    let found = beside.clone().into_iter().chain(on_path).find(|file| file.is_file());
    found.ok_or_else(|| {
        let place = beside.map(|file| format!("neither {} nor ", file.display())).unwrap_or_default();
        failed(format!("the launcher is not there: {place}a `serried` in a folder of PATH"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_as_they_were_written() {
        let one = Program {
            ranks: 3,
            words: ["./solver", "", ":", "-n"].map(OsString::from).to_vec(),
            directory: "/some where".into(),
            variables: vec![("A".into(), "1 2".into()), ("B".into(), "".into())],
            hosts: "n1:2,n2".into(),
            host_file: "a file".into(),
        };
        let other = Program { ranks: 1, words: vec!["x".into()], ..Program::default() };
        assert!(one.may_be_elsewhere() && !other.may_be_elsewhere());
        for hosts in ["localhost", " 127.0.0.1, ::1,"] {
            assert!(!Program { hosts: hosts.into(), ..other.clone() }.may_be_elsewhere());
        }
        assert!(Program { hosts: "localhost,no-such-host".into(), ..other.clone() }.may_be_elsewhere());
        for programs in [vec![one.clone()], vec![one.clone(), other.clone(), one], vec![other]] {
            let words = words_of(&programs);
            assert_eq!(read(&words), Some(programs));
            assert_eq!(read(&words[..words.len() - 1]), None);
            assert_eq!(read(&[&words[..], &["more".into()]].concat()), None);
        }
    }
}
