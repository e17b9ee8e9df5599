//! What a completed operation reports (MPI-5.0 §3.2.5).

use crate::message::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::Error;

/// Source, tag, size and outcome of a completed operation.
#[derive(Clone, Debug)]
pub struct Status {
    /// Rank of the sender in the communicator (remote group of an
    /// intercommunicator), or `ANY_SOURCE` if there was no message.
    pub source: i32,
    /// Tag of the message, or `ANY_TAG`.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
    /// Why it failed, if it did.
    pub error: Option<Error>,
}

/// What has become of a complete request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its status has been shown, and it is gone.
    Gone,
    /// Its status has been shown. It is persistent, and inactive now.
    Inactive,
    /// There is something special about it, so it is still there.
    Not,
}

impl Status {
    /// The empty status (MPI-5.0 §3.7.3): for null and inactive requests, and
    /// for operations that receive nothing.
    pub fn empty() -> Status {
        Status { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0, cancelled: false, error: None }
    }

    /// The status of a receive from the null process (MPI-5.0 §3.10).
    pub fn null_process() -> Status {
        Status { source: PROC_NULL, ..Status::empty() }
    }
}
