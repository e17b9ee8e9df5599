//! What a request is working on.

use super::buffer::Buffer;
use super::turn::Turn;
use super::wire::{Envelope, Offer, Ticket};
use crate::collective::Schedule;
use crate::datatype::HostCopies;
use crate::device::slab_transfers::{FromDevice, ToDevice};
use crate::transport::{AccessDescriptor, Task};
use crate::world::Communicator;
use crate::JobRank;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

/// What a request is working on.
pub enum Work {
    /// Nothing: complete, or inactive.
    Nothing,
    /// A send that has not left its buffer yet.
    Send(Send),
    /// A receive.
    Receive(Receive),
    /// A receive into a block that waits for its message in this context: what it
    /// matches and where it goes is in the queue (`matching::Posted`).
    Posted(u64),
    /// A collective operation.
    Collective(Box<Collective>),
    /// A collective operation in this context that has a place, or may get one
    /// (`later::Started`).
    Placed(u64),
    /// An operation of the program (MPI-5.0 §13.2): completed by the program.
    Generalized,
    /// A receive and a send that are complete together; reports the receive.
    Both {
        /// The receive's request.
        receive: u32,
        /// The send's request.
        send: u32,
    },
    /// Another request, whose buffers in device memory have host copies: it is complete when that one is
    /// and they are stored.
    WithHostCopies(Box<WithHostCopies>),
    /// Something that the engine polls (`Core::background`).
    Background,
    /// A persistent request, with its recipe (also while it is active; the
    /// operation itself is then request `active`).
    Persistent(Box<Persistent>),
}

impl Work {
    /// Whether it is a receive whose message has been found and is on its way, however it comes: it is fetched, or its
    /// sender sends it in parts from whatever call it is in. That may take as long as the network likes.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self, Work::Receive(receive) if receive.expected > 0)
    }
}

/// State of a send.
#[derive(Debug)]
pub struct Send {
    /// What is sent.
    pub buffer: Buffer,
    /// A copy of the message that the buffer points into, if it was copied.
    pub owned: Option<Box<[u8]>>,
    /// Where the data are, as it was told to the receiver.
    pub memory: AccessDescriptor,
    /// The receiver does not know where the data are.
    pub private: bool,
    /// The receiver has it in hand: it cannot be withdrawn any more.
    pub taken: bool,
    /// It has been withdrawn, and its receiver shall say whether it came in time.
    pub in_doubt: bool,
    /// The context it is sent in.
    pub context: u64,
    /// Its tag.
    pub tag: i32,
    /// Job rank of the receiver.
    pub peer: JobRank,
    /// Streaming: bytes handed over so far.
    pub streamed: u64,
    /// Streaming: bytes that the receiver wants.
    pub wanted: u64,
    /// Streaming: the receiver's request.
    pub receiver_request: u32,
    /// Streaming out of device memory.
    pub from_device: Option<Box<FromDevice>>,
}

impl Send {
    /// One that has not begun.
    pub fn new(buffer: Buffer, owned: Option<Box<[u8]>>, envelope: Envelope, peer: JobRank) -> Send {
        let Envelope { context, tag, .. } = envelope;
        Send {
            buffer,
            owned,
            memory: AccessDescriptor::unreachable(0),
            private: false,
            taken: false,
            in_doubt: false,
            context,
            tag,
            peer,
            streamed: 0,
            wanted: 0,
            receiver_request: 0,
            from_device: None,
        }
    }
}

/// State of a receive.
#[derive(Debug)]
pub struct Receive {
    /// Where it goes.
    pub buffer: Buffer,
    /// What it matches; wildcards allowed.
    pub wanted: Envelope,
    /// Bytes to come by streaming or shared copying, once matched.
    pub expected: u64,
    /// Bytes that have come.
    pub received: u64,
    /// The copying, while the sender shares it.
    pub task: Option<Task>,
    /// The send, while its message is being fetched.
    pub sender: Option<Ticket>,
    /// What goes through slabs to device memory.
    pub to_device: Option<Box<ToDevice>>,
}

impl Receive {
    /// A receive that has got nothing yet.
    pub fn new(wanted: Envelope, buffer: Buffer) -> Receive {
        Receive { buffer, wanted, expected: 0, received: 0, task: None, sender: None, to_device: None }
    }
}

/// A receive that waits for descriptors of the sender's device memory.
pub(crate) struct Passing {
    /// The receive.
    pub request: u32,
    /// Where they come.
    pub listener: UnixListener,
    /// What is received.
    pub offer: Offer,
    /// Bytes of it that fit.
    pub taken: u64,
}

/// State of a collective.
pub struct Collective {
    /// What is left to do.
    pub schedule: Schedule,
    /// Where. Kept alive until the end.
    pub communicator: Arc<Communicator>,
    /// Which operation of the communicator it is.
    pub turn: Turn,
    /// Its schedule waits for a call of the program's code, which is queued or
    /// running.
    pub calling: bool,
    /// The persistent request that gets the schedule back.
    pub persistent: Option<u32>,
}

/// A request with host copies of its buffers.
pub struct WithHostCopies {
    /// The request that works on them.
    pub request: u32,
    /// The host copies.
    pub copies: HostCopies,
}

/// Host copies of operations that nobody will ask for again: stored when the last of these has ended.
pub struct Left(pub HostCopies);

impl Drop for Left {
    fn drop(&mut self) {
        // SAFETY: the operations have ended, and the program has lent the buffers until then. A failure
        // has nobody to whom it could be told.
        let _ = unsafe { self.0.store() };
    }
}

/// Recipe of a persistent request.
pub struct Persistent {
    /// What `start` does.
    pub recipe: Recipe,
    /// Host copies of its buffers in device memory.
    pub copies: HostCopies,
    /// Index of the active operation's request.
    pub running: Option<u32>,
}

/// What starting a persistent request does.
pub enum Recipe {
    /// Sends.
    Send {
        /// From where.
        buffer: Buffer,
        /// How.
        mode: super::Mode,
        /// As whom, with what tag.
        envelope: Envelope,
        /// To which job rank.
        peer: JobRank,
    },
    /// Receives.
    Receive {
        /// To where.
        buffer: Buffer,
        /// What it matches.
        wanted: Envelope,
        /// Who sends, if that is known.
        peer: Option<JobRank>,
    },
    /// Does nothing: the peer is the null process.
    NullProcess {
        /// A receive reports the null process as its source.
        receive: bool,
    },
    /// A round of a partitioned operation.
    Partitioned(Box<super::partitioned::Partitioned>),
    /// A collective.
    Collective {
        /// The schedule at rest; taken while it runs. Of one that has a place, none.
        schedule: Option<Schedule>,
        /// What is done at its place, if it has one or may get one.
        placed: Option<super::later::Placed>,
        /// Where.
        communicator: Arc<Communicator>,
        /// Its turn, taken when it was made: all ranks make persistent
        /// collectives in one order, but may start them in another (§6.13).
        turn: Turn,
        /// Whose results have data of this rank, if there may be devices.
        readers: Vec<u32>,
        /// How often it has been started.
        starts: u64,
    },
}

impl Recipe {
    /// The context of its communicator; 0 for the null process.
    pub(crate) fn context(&self) -> u64 {
        match self {
            Recipe::Send { envelope, .. } => envelope.context,
            Recipe::Receive { wanted, .. } => wanted.context,
            Recipe::Collective { communicator, .. } => communicator.context(),
            Recipe::NullProcess { .. } | Recipe::Partitioned(_) => 0,
        }
    }
}

// SAFETY: the raw addresses inside belong to the program, which by MPI's rules
// leaves that memory alone until the operation is complete, whichever of its
// threads completes it; the engine's lock guards everything else.
unsafe impl std::marker::Send for Work {}
