//! Signals: which the launcher passes on, reading them as data, their names.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Signals that the launcher passes on to its ranks.
pub const FORWARDED: [i32; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that has come.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Its number.
    pub signal: i32,
    /// Whether the kernel sent it (a key on the terminal), not a process.
    pub from_kernel: bool,
}

/// Signals blocked and read from a descriptor instead.
#[derive(Debug)]
pub struct Signals {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the forwarded signals (those that were ignored stay so: nohup)
    /// and `others` from here on.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(others: &[i32]) -> io::Result<Signals> {
        let forwarded = FORWARDED.iter().filter(|&&signal| !is_ignored(signal));
        // SAFETY: an all-zero set is a valid place; every call gets valid sets
        // and signal numbers.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for &signal in forwarded.chain(others) {
                libc::sigaddset(&mut set, signal);
            }
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigprocmask(libc::SIG_BLOCK, &set, &mut before);
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Signals { descriptor: OwnedFd::from_raw_fd(descriptor), before })
        }
    }

    /// The signal mask before.
    pub fn before(&self) -> &libc::sigset_t {
        &self.before
    }

    /// To poll on.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Waits for a signal, at most so long.
    pub fn wait(&self, patience: Option<Duration>) {
        let patience = patience.map_or(-1, |time| time.as_millis() as i32 + 1);
        let mut entry = libc::pollfd { fd: self.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `entry` is one valid pollfd.
        unsafe { libc::poll(&mut entry, 1, patience) };
    }

    /// The next signal that has come, if one has.
    pub fn next(&self) -> Option<Received> {
        // SAFETY: an all-zero record is a valid value to be overwritten.
        let mut record: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = std::mem::size_of_val(&record);
        // SAFETY: `record` is a valid place of `size` bytes.
        let got = unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut record).cast(), size) };
        (got == size as isize)
            .then_some(Received { signal: record.ssi_signo as i32, from_kernel: record.ssi_code > 0 })
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: asking for a disposition changes nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether a signal asks a process to end.
pub fn asks_to_end(signal: i32) -> bool {
    matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP)
}

/// Sends `signal` to a process or, if negative, to a process group. One that asks
/// to end wakes those who are stopped, for they would hear it only later.
pub fn send(process: i32, signal: i32) {
    // SAFETY: plain system calls; a process that is gone is an error, not a fault.
    unsafe {
        libc::kill(process, signal);
        if asks_to_end(signal) {
            libc::kill(process, libc::SIGCONT);
        }
    }
}

/// The name of a signal.
pub fn name(signal: i32) -> String {
    let known = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal}, {known}")
}
