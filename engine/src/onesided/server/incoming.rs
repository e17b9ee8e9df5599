//! The buffers of this server, by the one who sends into them.
//!
//! A sender has `c` of them, and for each at any time exactly one of these is true: it has the credit; a message is on
//! its way to the buffer; the buffer is in use; it is free and its credit is owed; the credit is on its way back.

use super::{Fault, Sender};
use std::collections::{BTreeMap, BTreeSet};

/// The buffers of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Buffers {
    in_use: u8,
    owed: u8,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Incoming {
    senders: BTreeMap<Sender, Buffers>,
    /// Nodes that are owed so much that they are told even if nothing else goes to them.
    urgent: BTreeSet<u32>,
}

impl Incoming {
    /// A request has come and is in a buffer now.
    ///
    /// # Errors
    /// When the sender had no credit.
    pub fn take(&mut self, sender: Sender, credits: u8) -> Result<(), Fault> {
        let buffers = self.senders.entry(sender).or_default();
        if buffers.in_use + buffers.owed >= credits {
            return Err(Fault("a node sends more than it has credits for"));
        }
        buffers.in_use += 1;
        Ok(())
    }

    /// The buffer is free. Credits of processes come back with answers.
    pub fn free(&mut self, sender: Sender, credits: u8) {
        let Some(buffers) = self.senders.get_mut(&sender) else { return };
        buffers.in_use -= 1;
        if let Sender::Node(node) = sender {
            buffers.owed += 1;
            if u16::from(buffers.owed) * 2 >= u16::from(credits) {
                self.urgent.insert(node);
            }
        }
    }

    /// What is owed to a node, which is being given back.
    pub fn repay(&mut self, node: u32) -> u8 {
        self.urgent.remove(&node);
        self.senders.get_mut(&Sender::Node(node)).map_or(0, |buffers| std::mem::take(&mut buffers.owed))
    }

    /// A node that is owed half of its credits or more.
    pub fn urgent(&self) -> Option<u32> {
        self.urgent.first().copied()
    }

    /// A sender is gone. What is in its buffers is used all the same.
    pub fn lose(&mut self, node: u32) {
        self.repay(node);
    }

    /// Buffers in use, and credits owed, of a sender.
    pub fn of(&self, sender: Sender) -> (u8, u8) {
        self.senders.get(&sender).map_or((0, 0), |buffers| (buffers.in_use, buffers.owed))
    }

    /// How many senders there have been.
    pub fn senders(&self) -> usize {
        self.senders.len()
    }
}
