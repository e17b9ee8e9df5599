//! Broadcasts over packets that go to many at once, where the transport has such (`transport::multicast`).
//!
//! The root cuts its data in pieces and sends each to all. What is lost is asked for along the broadcast tree: a rank
//! asks its parent, and that answers it alone; the root sends to all once more what more than a quarter of its children
//! miss. Nothing is asked for because of silence: gaps, and notes that come down the tree ("so much has been sent"),
//! tell what is missing.
//!
//! | message | from | to | when |
//! |---|---|---|---|
//! | note | a rank | its children | a half window has been sent |
//! | acknowledgement | a rank | its parent | a half window is here and at all below |
//!
//! These are messages as any others: who waits for a rank that does not come waits for one of them, so failures and
//! verdicts need nothing of their own. Their number follows from the bytes alone. What goes beside them is [`Said`].
//! The root is never further ahead than a window, two halves, of what the last rank has acknowledged. No rank goes
//! before all below it have everything, so nobody keeps data for others.

mod choice;
mod group;
mod halves;
mod pacing;
mod pieces;
mod relay;
mod repair;
#[cfg(test)]
mod tests;

pub use choice::{may_fit, Agreed, Choice, Turn, Wanted};
pub use group::{Group, Heard, Tally};
pub use halves::Halves;
pub use relay::Relay;

use super::{Data, Schedule};
use crate::Result;
use std::sync::{Arc, Mutex};

/// A group that an operation and the lane that hears for it share. It is locked with the lane held.
pub type Shared = Arc<Mutex<Group>>;

/// What a rank says to another one beside messages, in a round of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A child misses these pieces: its rank, and runs of first and number.
    Ask(u32, Vec<(u32, u32)>),
    /// To a child of the root: what it has asked for has been sent to all once more.
    Again,
    /// A piece that was asked for, with its number.
    Piece(u32, Box<[u8]>),
}

/// Runs that one [`Said::Ask`] has at most.
pub const RUNS: usize = 64;

/// Where a rank stands in the tree of a broadcast: ranks of the communicator.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// My rank.
    pub me: u32,
    /// None at the root.
    pub parent: Option<u32>,
    /// Those below me, next to me.
    pub children: Vec<u32>,
}

impl Tree {
    /// The binomial tree of some ranks, I among them, under the one at place `root`.
    pub fn new(ranks: &[u32], place: u32, root: u32) -> Tree {
        let size = ranks.len() as u32;
        let branch = super::broadcast::Branch::new((place + size - root) % size, size);
        let rank = |relative: u32| ranks[((relative + root) % size) as usize];
        Tree {
            me: ranks[place as usize],
            parent: branch.parent().map(rank),
            children: branch.children().map(|child| rank(child.relative())).collect(),
        }
    }
}

/// The part of one rank in a broadcast of `data`, which is round `epoch` of a group.
///
/// # Errors
/// `NoMem`.
pub fn broadcast(group: Shared, epoch: u32, tree: Tree, data: &Data) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    let is_root = tree.parent.is_none();
    let dense = data.as_packed();
    let staged = dense.is_none();
    let whole = match dense {
        Some(whole) => whole,
        None => schedule.packed(data.bytes())?,
    };
    if staged && is_root {
        schedule.copy(data.clone(), whole.clone());
    }
    schedule.stage(Box::new(Relay::new(group, epoch, tree, &whole)));
    if staged && !is_root {
        schedule.copy(whole, data.clone());
    }
    Ok(schedule)
}
