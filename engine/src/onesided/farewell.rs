//! Who needs no more what several processes have in common.

use crate::world::Communicator;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Each member tells the others once that it needs it no more.
#[derive(Debug)]
pub(crate) struct Farewell {
    /// The members; the words are messages in its context.
    pub communicator: Arc<Communicator>,
    /// This member has told the others.
    pub has_said: AtomicBool,
    left: Mutex<Box<[bool]>>,
}

impl Farewell {
    /// Nobody but this member itself has said anything.
    pub fn new(communicator: &Arc<Communicator>) -> Farewell {
        let left = (0..communicator.size()).map(|member| member == communicator.rank);
        Farewell {
            communicator: communicator.clone(),
            has_said: AtomicBool::new(false),
            left: Mutex::new(left.collect()),
        }
    }

    /// A member has said so, or can say nothing any more.
    pub fn has_left(&self, member: u32) {
        if let Some(left) = self.left().get_mut(member as usize) {
            *left = true;
        }
    }

    /// Those of whom that is not known.
    pub fn missing(&self) -> Vec<u32> {
        (0..).zip(self.left().iter()).filter(|(_, &left)| !left).map(|(member, _)| member).collect()
    }

    fn left(&self) -> MutexGuard<'_, Box<[bool]>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
