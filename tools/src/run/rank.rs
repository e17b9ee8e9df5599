//! A rank as the supervisor sees it.

use std::os::fd::OwnedFd;

/// A rank that was started, or was to be.
#[derive(Debug)]
pub struct Rank {
    /// The process that the launcher started.
    pub process: i32,
    /// Whether anything of it still runs.
    pub life: Life,
    /// Our end of its PMI socket; `None` once it has hung up.
    pub socket: Option<OwnedFd>,
    /// What it has said of a line that is not complete.
    pub heard: Vec<u8>,
}

/// Whether anything of a rank still runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Life {
    /// The process that the launcher started.
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
}
