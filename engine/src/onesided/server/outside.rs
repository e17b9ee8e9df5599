//! What a server gets from outside, and what it wants done there.

use super::{Header, Kind};

/// What has gone wrong: a message that makes no sense, or a peer that does not keep to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub &'static str);

/// Something that a rank of this node wants done at another node, or at this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Asked {
    /// One of the requests.
    pub kind: Kind,
    /// Flags of the request.
    pub flags: u8,
    /// Job rank of the one who asks.
    pub rank: u32,
    /// The node that shall do it.
    pub target: u32,
    /// The job rank there whose memory or lock it is.
    pub target_rank: u32,
    /// By what the outside knows it; it is not used again before it is complete.
    pub ticket: u64,
    /// Which lock.
    pub number: u64,
}

/// What happens to a server.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A rank of this node asks for something.
    Asked(Asked),
    /// A message has come from a node. Those of one node come in the order in which they were sent.
    Arrived {
        /// The node that has sent it: not always the one that asks.
        from: u32,
        /// All of it.
        message: &'a [u8],
    },
    /// What [`Outside::fetch`] has begun to fetch has come, or will not come so: the origin is asked for it then.
    Fetched {
        /// The node whose request it is for.
        origin: u32,
        /// The ticket of that request.
        ticket: u64,
        /// The data.
        data: Option<&'a [u8]>,
    },
    /// There is nothing more for now: what has waited for company goes alone.
    Polled,
    /// [`Outside::has_room`] is true again for somebody.
    Room,
    /// A rank of this node is gone.
    RankGone(u32),
    /// A node is gone, with its server.
    NodeGone(u32),
}

/// Where the body of a message comes from. What a rank has, the outside adds, with its length in the header.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// A rank of this node has it: description and data of what it asks for, or the description alone if the header
    /// has [`FETCH`](super::FETCH). What the rank has it in can be used again afterwards.
    Own(u64),
    /// The data of it.
    Data(u64),
}

/// How something that was asked for has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// It is done. Of a lock: it is held.
    Done,
    /// The lock is held, but its last holder has died with it.
    Inherited,
    /// It was refused, by a number of the one who does such things.
    Refused(u64),
    /// The target is gone, or a node on the way. It is not known whether it was done.
    Gone,
}

/// What a server wants done. None of these waits for anybody.
pub trait Outside {
    /// Sends a message to a node.
    fn send(&mut self, to: u32, header: &Header, body: Body<'_>);

    /// Does what a request asks for with the memory of a rank of this node, and appends what the answer tells. The
    /// body has the description, and the data behind it unless they were `fetched`.
    ///
    /// # Errors
    /// The number of a refusal.
    fn execute(
        &mut self,
        request: &Header,
        body: &[u8],
        fetched: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), u64>;

    /// Begins to fetch the data of a request that has [`FETCH`](super::FETCH) by the outside's own means, for which
    /// its body may have a description; [`Event::Fetched`] comes then. `false`: the origin is asked for them by a message.
    fn fetch(&mut self, _request: &Header, _body: &[u8]) -> bool {
        false
    }

    /// Whether an answer can be sent to a node now. Where not, its requests wait in their buffers until
    /// [`Event::Room`].
    fn has_room(&self, _to: u32) -> bool {
        true
    }

    /// What a rank of this node has asked for has ended, with these data as an answer.
    fn complete(&mut self, ticket: u64, end: End, data: &[u8]);
}
