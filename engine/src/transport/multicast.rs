//! Packets from one rank to many at once: what a transport may offer beside packets to one.
//!
//! They may be lost, come twice and come in any order. That they come from a rank of the job is proven; what to do
//! about the rest is for whoever uses them.

use crate::Result;
use std::fmt::Debug;

/// What has groups of ranks to which one packet goes at once.
pub trait Multicast {
    /// The way to a group, which all its members call by this number. Who does not `receive` only sends.
    ///
    /// # Errors
    /// What the system refuses, or why this transport has no such groups.
    fn join(&self, group: u64, receive: bool) -> Result<Box<dyn Channel>>;
}

/// A piece of what a group is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// In which round of the group.
    pub epoch: u32,
    /// Its number in it.
    pub index: u32,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The way of a rank to a group.
pub trait Channel: Send + Debug {
    /// The most bytes of a piece.
    fn longest(&self) -> u32;

    /// Bytes of pieces that wait here for a rank that does not look, before some are lost.
    fn room(&self) -> u64;

    /// Bytes that the link of this host carries in a second, as far as is known.
    fn rate(&self) -> u64;

    /// Sends pieces of one length, of which the last may be shorter, to all others: how many went before there was no
    /// room. Those that are lost on the way count.
    fn send(&mut self, pieces: &[Piece<'_>]) -> usize;

    /// The next piece that has come. What no rank of the job has sent is left out.
    fn receive(&mut self) -> Option<Piece<'_>>;

    /// Whether who waits in this lane is woken when a piece comes.
    fn attend(&mut self, is_wanted: bool);

    /// Who waits in this lane is woken after so many nanoseconds, if it attends.
    fn wake_after(&mut self, nanoseconds: u64);
}

/// The channel of a rank that has none: what it sends is lost, and nothing comes.
#[derive(Debug)]
pub struct Mute;

impl Channel for Mute {
    fn longest(&self) -> u32 {
        u32::MAX
    }

    fn room(&self) -> u64 {
        u64::MAX
    }

    fn rate(&self) -> u64 {
        u64::MAX
    }

    fn send(&mut self, pieces: &[Piece<'_>]) -> usize {
        pieces.len()
    }

    fn receive(&mut self) -> Option<Piece<'_>> {
        None
    }

    fn attend(&mut self, _: bool) {}

    fn wake_after(&mut self, _: u64) {}
}
