//! What a thread waits for, as its wait says it: a few words on its stack, which
//! nobody reads before an observer asks.

use crate::collective::node::{Member, Until};
use crate::message::Envelope;
use crate::onesided::{Exposure, Farewell, GroupWord, LockOf};
use crate::request::RequestId;

/// What a wait is for.
#[derive(Clone, Copy)]
pub(crate) enum Reason<'a> {
    /// A request.
    Request(u32),
    /// The same, as the faces name it.
    Id(RequestId),
    /// A request whose message may depend on more members of its communicator, which has this context, than its sender.
    Word(u64, u32),
    /// Any of these requests.
    Any(&'a [u32]),
    /// All of these.
    All(&'a [u32]),
    /// A message that a probe would find.
    Probe(Envelope),
    /// Other members, at a block.
    Block(&'a Member, Until),
    /// A lock of a member of an exposure.
    Lock(&'a Exposure, LockOf),
    /// A word of these members of an exposure.
    Group(&'a Exposure, &'a [u32], GroupWord),
    /// That other members need something no more.
    Farewell(&'a Farewell),
    /// That another rank changes memory of this one: that rank, or any.
    Memory(Option<u32>),
    /// That the server of this node has had something done.
    Server,
    /// A byte string of a rank, for making a communicator.
    BootstrapChannel,
    /// That what was left to the engine has gone.
    Flush,
    /// That what is under way in these contexts has ended.
    Settle(&'a [u64]),
}

impl Reason<'_> {
    /// The request, if it is one.
    #[inline]
    pub(crate) fn request(&self) -> Option<u32> {
        match self {
            Reason::Request(request) => Some(*request),
            _ => None,
        }
    }
}
