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

use super::descendants::{become_subreaper, kill_all, reap_one, Reaped};
use super::signals::{self, Signals};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

const SWEEP: Duration = Duration::from_secs(5);

/// What the launcher knows of its guard.
#[derive(Debug)]
pub struct Guard {
    pipe: File,
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
}

/// Passes a signal down. Two bytes are written whole or not at all; a launcher
/// that is gone is noticed elsewhere.
fn pass(pipe: &mut File, signal: i32, from_terminal: bool) {
    let _ = pipe.write_all(&[signal as u8, u8::from(from_terminal)]);
}

/// Divides this process into guard and launcher; only the launcher returns.
/// Call while there is one thread.
///
/// # Errors
/// What the system says.
pub fn split(signals: &Signals) -> io::Result<Guard> {
    let (read_end, write_end) = super::descriptors::pipe()?;
    become_subreaper();
    // SAFETY: there is one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(write_end);
            become_subreaper();
            Ok(Guard { pipe: File::from(read_end) })
        }
        launcher => {
            drop(read_end);
            std::process::exit(watch(launcher, signals, write_end))
        }
    }
}

/// Waits for the end of the launcher; returns the exit status of the job.
fn watch(launcher: i32, signals: &Signals, pipe: OwnedFd) -> i32 {
    let mut pipe = File::from(pipe);
    loop {
        let mut entry = libc::pollfd { fd: signals.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `entry` is one valid pollfd.
        unsafe { libc::poll(&mut entry, 1, -1) };
        while let Some(received) = signals.next() {
            match received.signal {
                libc::SIGCHLD => {}
                libc::SIGTSTP => pause(launcher, &mut pipe),
                signal => pass(&mut pipe, signal, received.from_kernel),
            }
        }
        while let Reaped::One(process, status) = reap_one() {
            if process == launcher {
                return ended(launcher, status);
            }
        }
    }
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
    kill_all(SWEEP);
    let signal = libc::WTERMSIG(status);
    eprintln!(
        "serried: the launcher (process {launcher}) was killed by {}; the job has been ended",
        signals::name(signal)
    );
    128 + signal
}
