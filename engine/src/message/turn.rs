//! Which of the operations of a communicator one is.

use crate::world::calls::Numbered;
use crate::world::Communicator;

/// Which operation of a communicator a collective is.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Its tag in the collective context, taken alike at all members.
    pub tag: i32,
    /// The call that began it, or made it.
    pub call: Numbered,
    /// Which start of a persistent operation, from 1 on; 0 for others.
    pub round: u32,
}

impl Turn {
    /// The one that has been begun last.
    pub fn latest(communicator: &Communicator, tag: i32) -> Turn {
        Turn { tag, call: communicator.calls.latest(), round: 0 }
    }

    /// The same at a start of a persistent operation.
    pub fn of_round(self, starts: u64) -> Turn {
        Turn { round: (starts % u64::from(u32::MAX)) as u32, ..self }
    }

    /// A part of that one, or what the engine does for itself.
    pub fn within(communicator: &Communicator, tag: i32) -> Turn {
        Turn { round: u32::MAX, ..Turn::latest(communicator, tag) }
    }
}
