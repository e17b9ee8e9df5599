//! Collective operations at places in shared memory, beside others (`collective/node/nonblocking.rs`).
//!
//! They are begun, and go on, with no lock held. Here is what is known of each; what can be done now is in
//! `placed`.

use super::turn::Turn;
use crate::collective::node::{ControlBlock, Member, Places, Task, Until};
use crate::collective::Operation;
use crate::world::Communicator;
use std::sync::Arc;

/// A collective operation that has a place, or may get one.
#[derive(Clone)]
pub struct Placed {
    /// What is to be done.
    pub operation: Arc<Operation>,
    /// Where there may be one.
    pub places: Arc<Places>,
    /// Which of the operations at these places it is.
    pub number: u32,
}

/// One that was started.
pub struct Started {
    /// Its request.
    pub(crate) request: u32,
    /// Where. Kept alive until the end.
    pub(crate) communicator: Arc<Communicator>,
    /// Which operation of the communicator it is.
    pub(crate) turn: Turn,
    /// The persistent request that it is a run of.
    pub(crate) persistent: Option<u32>,
    pub(super) placed: Placed,
    pub(super) stage: Stage,
}

/// How far it is.
pub(super) enum Stage {
    /// Not begun: another is at its place, or it is not known whether there is one.
    Waiting,
    /// Begun.
    UnderWay(Task),
    /// Some thread takes care of it.
    Away,
}

/// What has to be done with no lock held.
pub enum Step {
    /// Begins an operation at a place.
    Begin(u32, Arc<Member>, Arc<Operation>),
    /// One goes on.
    GoOn(u32, Task),
    /// One has no place, and goes by messages.
    Write(u32),
}

/// What one waits for: for observers.
pub enum Stands<'a> {
    /// Members at its place.
    At(&'a Member, Until),
    /// That its places are known.
    Unsettled,
    /// Nobody: a thread takes care of it.
    Away,
}

/// Places that the members of a communicator settle.
pub struct Settling {
    /// The request of the message that tells.
    pub(crate) request: u32,
    /// Whose they are.
    pub(crate) communicator: Arc<Communicator>,
    /// What is settled.
    pub(crate) places: Arc<Places>,
    /// What was told: 1 + the offset of each in the leader's area, or 0.
    pub(crate) told: Box<[u64]>,
}

/// Operations that a rank looks at while it spins; others are found now and then.
const WATCHED: usize = 4;

/// What to look at while spinning.
#[derive(Default)]
pub struct Watched {
    pub(super) places: [Option<(ControlBlock, Until)>; WATCHED],
    /// A request waits for what servers answer.
    pub(crate) answers: bool,
}

impl Watched {
    /// Whether one of them can go on.
    #[inline]
    pub fn any(&self) -> bool {
        self.places.iter().map_while(|place| *place).any(|(block, until)| block.holds(until))
    }
}
