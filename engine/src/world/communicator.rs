//! A communicator (MPI-5.0 §7.4): a context in which a group exchanges
//! messages that no other communicator sees.

use super::Group;
use std::sync::Arc;

/// The part of a communicator that messages need. It never changes.
#[derive(Debug)]
pub struct Communicator {
    /// Context of point-to-point messages; `context + 1` is that of
    /// collectives. Unique in the job for ever: (job rank of the maker << 32) +
    /// a counter of the maker, times two.
    pub context: u64,
    /// The local group.
    pub group: Arc<Group>,
    /// The other group, if this is an intercommunicator.
    pub remote: Option<Arc<Group>>,
    /// My rank in `group`.
    pub rank: u32,
}

impl Communicator {
    /// The group that ranks of messages refer to: the remote one of an
    /// intercommunicator, else the only one.
    pub fn peers(&self) -> &Arc<Group> {
        self.remote.as_ref().unwrap_or(&self.group)
    }
}
