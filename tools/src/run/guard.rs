//! The guard: the process that the user sees, above the launcher proper.
//!
//! ```text
//! guard ── launcher ── rank 0, rank 1, …
//! ```
//!
//! Each notices the other's death and ends everything below: so SIGKILL of
//! either leaves no process. The guard passes signals down and hands the
//! launcher's exit status up; it does nothing else that could fail.
//!
//! Signals go down as bytes in a pipe: sent as signals, one would be lost while
//! another of its kind is pending (`timeout` signals its whole process group).
//!
//! A launcher that is stopped hears nothing. A signal that asks the job to end
//! wakes it, and so does the death of the guard. If it still does not hear (a
//! debugger holds it), the guard ends the job itself.

use super::descendants::{become_subreaper, kill_all, reap_one, signal_all, Reaped};
use super::descriptors;
use crate::system::signals::{self, Signals};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

const SWEEP: Duration = Duration::from_secs(5);
/// How long the launcher may take to hear that the job is to end.
const HEARING: Duration = Duration::from_secs(3);
/// How long an agent whose launcher has gone may take to end everything.
const ENDING: Duration = Duration::from_secs(5);
/// From asking the ranks to end until they are killed.
const LAST_SECOND: Duration = Duration::from_secs(1);

/// What the guard looks at besides the process below it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Watched {
    /// Nothing.
    Nothing,
    /// Whether the other end of standard input is there: an agent ends with it.
    StandardInput,
}

/// What the launcher knows of its guard.
#[derive(Debug)]
pub struct Guard {
    pipe: File,
    /// What was heard while the job was starting.
    heard: Vec<Option<Passed>>,
}

/// A signal that the guard has passed down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passed {
    /// Its number.
    pub signal: i32,
    /// Whether it came from a key on the terminal, and so to all of its group.
    pub from_terminal: bool,
}

impl Guard {
    /// To poll on.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// The next signal, once the descriptor is ready; `None` when the guard has
    /// died.
    pub fn next(&mut self) -> Option<Passed> {
        let mut message = [0; 2];
        self.pipe.read_exact(&mut message).ok()?;
        Some(Passed { signal: i32::from(message[0]), from_terminal: message[1] != 0 })
    }

    /// Listens while the job is starting; returns whether it is to end.
    pub fn wants_the_end(&mut self) -> bool {
        while descriptors::is_ready(self.pipe.as_fd()) {
            let next = self.next();
            self.heard.push(next);
            if next.is_none_or(|passed| signals::asks_to_end(passed.signal)) {
                return true;
            }
        }
        false
    }

    /// What was heard while the job was starting.
    pub fn take_heard(&mut self) -> Vec<Option<Passed>> {
        std::mem::take(&mut self.heard)
    }
}

/// Passes a signal down. Two bytes are written whole or not at all; a launcher
/// that is gone is noticed elsewhere, and one that has not heard thousands of
/// signals need not hear more.
fn pass(pipe: &mut File, signal: i32, from_terminal: bool) {
    let _ = pipe.write_all(&[signal as u8, u8::from(from_terminal)]);
}

/// Divides this process into guard and launcher; only the launcher returns.
/// Call while there is one thread.
///
/// # Errors
/// What the system says.
pub fn split(signals: &Signals, watched: Watched) -> io::Result<Guard> {
    let (read_end, write_end) = descriptors::pipe()?;
    become_subreaper();
    // SAFETY: there is one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(write_end);
            become_subreaper();
            // SAFETY: plain system call.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT) };
            Ok(Guard { pipe: File::from(read_end), heard: Vec::new() })
        }
        launcher => {
            drop(read_end);
            descriptors::never_block(&write_end);
            std::process::exit(watch(launcher, signals, write_end, watched))
        }
    }
}

/// Waits for the end of the launcher; returns the exit status of the job.
fn watch(launcher: i32, signals: &Signals, pipe: OwnedFd, mut watched: Watched) -> i32 {
    let mut pipe = File::from(pipe);
    // A signal that asks to end, and when it was passed down.
    let mut asked: Option<(i32, Instant)> = None;
    let mut alone: Option<Instant> = None;
    loop {
        let limits = [asked.map(|(_, when)| when + HEARING), alone.map(|since| since + ENDING)];
        let until = limits.into_iter().flatten().min();
        let patience = until.map(|until| until.saturating_duration_since(Instant::now()));
        if wait(signals, patience, watched) {
            // The process below sees it too, unless it is stopped.
            signals::send(launcher, libc::SIGCONT);
            (watched, alone) = (Watched::Nothing, Some(Instant::now()));
        }
        while let Some(received) = signals.next() {
            match received.signal {
                libc::SIGCHLD | libc::SIGXFSZ => {}
                libc::SIGTSTP => pause(launcher, &mut pipe),
                signal => pass(&mut pipe, signal, received.from_kernel),
            }
            if signals::asks_to_end(received.signal) {
                signals::send(launcher, libc::SIGCONT);
                asked.get_or_insert((received.signal, Instant::now()));
            }
        }
        while let Reaped::One(child) = reap_one() {
            if child.process == launcher {
                return ended(launcher, child.status);
            }
        }
        if let Some((signal, _)) = asked.take_if(|(_, when)| when.elapsed() >= HEARING) {
            if descriptors::unread(pipe.as_fd()) > 0 {
                return end_instead(launcher, signal);
            }
        }
        if alone.is_some_and(|since| since.elapsed() >= ENDING) {
            kill_all(SWEEP, &[]);
            return 128 + libc::SIGHUP;
        }
    }
}

/// Waits for a signal, or until the other end of what is watched has gone; returns whether it has.
fn wait(signals: &Signals, patience: Option<Duration>, watched: Watched) -> bool {
    if watched == Watched::Nothing {
        signals.wait(patience);
        return false;
    }
    let patience = patience.map_or(-1, |time| time.as_millis() as i32 + 1);
    let entry = |fd: i32, events: i16| libc::pollfd { fd, events, revents: 0 };
    let mut entries =
        [entry(signals.descriptor(), libc::POLLIN), entry(io::stdin().as_raw_fd(), libc::POLLRDHUP)];
    // SAFETY: `entries` is a valid array of its length.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, patience) };
    entries[1].revents != 0
}

/// Ends the job in the place of a launcher that does not hear.
fn end_instead(launcher: i32, signal: i32) -> i32 {
    signal_all(libc::SIGTERM, &[], &[]);
    std::thread::sleep(LAST_SECOND);
    kill_all(SWEEP, &[]);
    super::say(&format!(
        "serried: received {}; the launcher (process {launcher}) did not react, so the job has been ended\n",
        signals::name(signal)
    ));
    128 + signal
}

/// The user stops the job from the terminal; we are back when it goes on. That may be before the
/// launcher has stopped, which it will, and must not do after it has been told to go on.
fn pause(launcher: i32, pipe: &mut File) {
    pass(pipe, libc::SIGTSTP, false);
    signals::send(std::process::id() as i32, libc::SIGSTOP);
    wait_until_stopped(launcher);
    signals::send(launcher, libc::SIGCONT);
}

/// Waits until a child has stopped, or ended.
fn wait_until_stopped(child: i32) {
    let what = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
    // SAFETY: zeros are a `siginfo_t`, which is a valid place for the result.
    unsafe {
        let mut told: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, child as libc::id_t, &mut told, what) == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

fn ended(launcher: i32, status: i32) -> i32 {
    if libc::WIFEXITED(status) {
        return libc::WEXITSTATUS(status);
    }
    kill_all(SWEEP, &[]);
    let signal = libc::WTERMSIG(status);
    super::say(&format!(
        "serried: the launcher (process {launcher}) was killed by {}; the job has been ended\n",
        signals::name(signal)
    ));
    128 + signal
}
