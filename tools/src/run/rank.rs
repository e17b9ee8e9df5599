//! A rank as the supervisor, or an agent, sees it.

use super::verdict::Ended;
use crate::system::process_numbers;
use serried_engine::observe::{Page, State};
use std::os::fd::{AsRawFd, OwnedFd};

/// A rank that was started, or was to be.
#[derive(Debug)]
pub struct Rank {
    /// The process that was started for it; 0: none so far.
    pub process: i32,
    /// Whether anything of it still runs.
    pub life: Life,
    /// Our end of its PMI socket; `None` once it has hung up, or if an agent has it.
    pub socket: Option<OwnedFd>,
    /// What it has said of a line that is not complete.
    pub heard: Vec<u8>,
}

/// Whether anything of a rank still runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Life {
    /// The process that was started.
    Alive,
    /// That one has ended well, and this one, which it started, is in MPI.
    Continued(i32),
    /// Nothing.
    Ended,
}

impl Rank {
    /// A rank that has just been started.
    pub fn new(process: i32, socket: OwnedFd) -> Rank {
        Rank { process, life: Life::Alive, socket: Some(socket), heard: Vec::new() }
    }

    /// A rank that will not be started any more.
    pub fn never_started() -> Rank {
        Rank { process: 0, life: Life::Ended, socket: None, heard: Vec::new() }
    }

    /// A rank that an agent starts on its host.
    pub fn elsewhere() -> Rank {
        Rank { life: Life::Alive, ..Rank::never_started() }
    }

    /// Whether a process of this machine is this rank now.
    pub fn is_process(&self, process: i32) -> bool {
        match self.life {
            Life::Alive => self.process == process,
            Life::Continued(other) => other == process,
            Life::Ended => false,
        }
    }

    /// The process that is in MPI as this rank, if another than `process` is, which has ended well:
    /// a wrapper may end before the program that it started.
    pub fn successor(&self, page: &Page, process: i32, ended: Ended) -> Option<i32> {
        let holder = process_numbers::process(page).unwrap_or(0) as i32;
        let takes_part = matches!(page.state(), State::Starting | State::Running);
        let other = ended == Ended::Exited(0) && holder != 0 && holder != process && takes_part;
        // SAFETY: signal 0 only asks whether the process exists.
        (other && unsafe { libc::kill(holder, 0) } == 0).then_some(holder)
    }

    /// Sends the rank an answer of the PMI server.
    pub fn answer(&mut self, text: &str) {
        let Some(socket) = &self.socket else { return };
        // SAFETY: `text` is valid for its length; a rank that has gone is an error, not a signal.
        let sent =
            unsafe { libc::send(socket.as_raw_fd(), text.as_ptr().cast(), text.len(), libc::MSG_NOSIGNAL) };
        if sent != text.len() as isize {
            self.socket = None; // it has died, or does not read its answers
        }
    }
}
