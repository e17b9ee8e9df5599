//! The guard: the process that the user sees, above the launcher proper.
//!
//! ```text
//! guard ── launcher ── rank 0, rank 1, …
//! ```
//!
//! Each notices the other's death and ends everything below: so SIGKILL of
//! either leaves no process. The guard passes signals down and hands the
//! launcher's exit status up; it does nothing else that could fail.

use super::descendants::{become_subreaper, kill_all, reap_one, Reaped};
use super::signals::{self, Signals};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

const SWEEP: Duration = Duration::from_secs(5);

/// What the launcher knows of its guard.
#[derive(Debug)]
pub struct Guard {
    /// Closed (hung up) when the guard has died.
    pub pipe: OwnedFd,
    /// Process id; the launcher obeys only signals from it.
    pub process: i32,
}

/// Divides this process into guard and launcher; only the launcher returns.
/// Call while there is one thread.
///
/// # Errors
/// What the system says.
pub fn split(signals: &Signals) -> io::Result<Guard> {
    let (read_end, write_end) = super::descriptors::pipe()?;
    become_subreaper();
    let process = std::process::id() as i32;
    // SAFETY: there is one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(write_end);
            become_subreaper();
            Ok(Guard { pipe: read_end, process })
        }
        launcher => {
            drop(read_end);
            let status = watch(launcher, signals);
            drop(write_end);
            std::process::exit(status)
        }
    }
}

/// Waits for the end of the launcher; returns the exit status of the job.
fn watch(launcher: i32, signals: &Signals) -> i32 {
    loop {
        let mut entry = libc::pollfd { fd: signals.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `entry` is one valid pollfd.
        unsafe { libc::poll(&mut entry, 1, -1) };
        while let Some(received) = signals.next() {
            match received.signal {
                libc::SIGCHLD => {}
                libc::SIGTSTP => pause(launcher),
                signal => signals::send_with(launcher, signal, i32::from(received.from_kernel)),
            }
        }
        while let Reaped::One(process, status) = reap_one() {
            if process == launcher {
                return ended(launcher, status);
            }
        }
    }
}

/// The user stops the job from the terminal; we are back when it goes on.
fn pause(launcher: i32) {
    signals::send_with(launcher, libc::SIGTSTP, 0);
    signals::send(std::process::id() as i32, libc::SIGSTOP);
    signals::send(launcher, libc::SIGCONT);
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
