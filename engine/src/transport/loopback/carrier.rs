//! What carries frames from rank to rank: queues within a process, or sockets between processes.

use super::frame::{Frame, Head};
use crate::progress::Doorbell;
use crate::transport::Ready;
use crate::{JobRank, Result};
use std::os::fd::RawFd;

/// What has become of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Away,
    /// There is no room for it now.
    NoRoom,
    /// The peer is gone.
    Gone,
}

/// What has come.
#[derive(Debug)]
pub enum Came {
    /// A frame, from this rank.
    Frame(JobRank, Frame),
    /// This rank is gone, and no more will come from it.
    End(JobRank),
}

/// Frames of one sender arrive in order; the loopback itself counts on no more than that none is lost.
pub trait Wire: Send + std::fmt::Debug {
    /// Sends a frame, whole or not at all, and sees to it that the peer wakes.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    fn send(&mut self, peer: JobRank, head: &Head, payload: &[u8]) -> Result<Sent>;

    /// What has come next.
    fn receive(&mut self) -> Option<Came>;

    /// The rank wants to be woken when there is room for frames to `peer`.
    fn want_room(&mut self, peer: JobRank);

    /// Whether something has come or there is room that was wanted.
    fn ready(&self) -> &'static dyn Ready;

    /// What a rank that sleeps has to wait for beside its doorbell.
    fn descriptor(&self) -> Option<RawFd>;

    /// Where the rank sleeps.
    fn doorbell(&self) -> &'static Doorbell;

    /// The wire of another lane.
    ///
    /// # Errors
    /// What the system refuses.
    fn beside(&self, lane: usize) -> Result<Box<dyn Wire>>;
}
