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
}

impl Turn {
    /// The one that has been begun last.
    pub fn latest(communicator: &Communicator, tag: i32) -> Turn {
        Turn { tag, call: communicator.calls.latest() }
    }
}
