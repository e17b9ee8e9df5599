//! Whether the broadcasts of a communicator go to a group.

use super::{Group, Shared};
use crate::collective::selection::{self, Across};
use crate::lock_order::{self, Level};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// So many fitting broadcasts go along the tree before a group is tried.
const BEFORE: u32 = 4;
/// Rounds before which members compare how much was lost: after the first ones, and then now and then.
const FIRST_COMPARED: u32 = 5;
const COMPARED: u32 = 32;

/// When broadcasts go to groups, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Never.
    Never,
    /// Over many nodes.
    ManyNodes,
    /// Over two and more, for tests.
    Always,
}

/// What a broadcast does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It goes along the tree.
    Tree,
    /// It is tried first whether there can be a group.
    Try,
    /// It goes to the group, as its round of this number.
    Round(u32),
    /// The same, and first the members compare their losses.
    Compare(u32),
}

/// What all members of a group can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Bytes of a piece.
    pub piece: u32,
    /// Bytes that each keeps unread.
    pub room: u64,
    /// Bytes a second of the slowest link.
    pub rate: u64,
}

/// What the members of a communicator have agreed about its group. All count alike.
#[derive(Debug, Default)]
pub struct Choice {
    fitting: AtomicU32,
    rounds: AtomicU32,
    /// The lowest rank of each node: these are in the group.
    members: OnceLock<Box<[u32]>>,
    group: OnceLock<Shared>,
    agreed: OnceLock<Agreed>,
    refusal: OnceLock<String>,
}

impl Choice {
    /// The members of the group, found out at the first call.
    pub fn members(&self, find: impl FnOnce() -> Box<[u32]>) -> &[u32] {
        self.members.get_or_init(find)
    }

    /// What the next blocking broadcast of so many bytes does, over so many nodes.
    pub fn turn(&self, wanted: Wanted, nodes: u32, bytes: u64) -> Turn {
        if !fits(wanted, nodes, bytes) || self.refusal.get().is_some() {
            return Turn::Tree;
        }
        if self.agreed.get().is_none() {
            return match self.fitting.fetch_add(1, Relaxed) {
                BEFORE => Turn::Try,
                _ => Turn::Tree,
            };
        }
        let round = self.rounds.fetch_add(1, Relaxed) + 1;
        match round == FIRST_COMPARED || round.is_multiple_of(COMPARED) {
            true => Turn::Compare(round),
            false => Turn::Round(round),
        }
    }

    /// The number of the round that begins, where its turn was something else.
    pub fn next_round(&self) -> u32 {
        self.rounds.fetch_add(1, Relaxed) + 1
    }

    /// The group is used from now on.
    pub fn agree(&self, agreed: Agreed) {
        let _ = self.agreed.set(agreed);
    }

    /// What all can do, if it is used.
    pub fn agreed(&self) -> Option<Agreed> {
        self.agreed.get().copied()
    }

    /// Whether it is.
    pub fn is_used(&self) -> bool {
        self.agreed.get().is_some() && self.refusal.get().is_none()
    }

    /// It is not, or not any more, and why.
    pub fn refuse(&self, why: String) {
        if let Some(group) = self.group.get() {
            lock_order::lock(group, Level::GROUP).silence();
        }
        let _ = self.refusal.set(why);
    }

    /// Why it is not used; `None` if it is, or nothing was tried.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.get().map(String::as_str)
    }

    /// The way of this rank to the group, if it has one.
    pub fn group(&self) -> Option<&Shared> {
        self.group.get()
    }

    /// The same, made if there is none.
    pub fn group_or(&self, make: impl FnOnce() -> Group) -> &Shared {
        self.group.get_or_init(|| Arc::new(Mutex::new(make())))
    }
}

/// Whether a broadcast of so many bytes may go to a group, over enough nodes.
pub fn may_fit(wanted: Wanted, bytes: u64) -> bool {
    fits(wanted, u32::MAX, bytes)
}

/// Whether a broadcast of so many bytes over so many nodes may go to a group.
fn fits(wanted: Wanted, nodes: u32, bytes: u64) -> bool {
    let nodes = match wanted {
        Wanted::Never => return false,
        Wanted::ManyNodes => nodes,
        Wanted::Always if nodes < 2 => return false,
        Wanted::Always => u32::MAX,
    };
    selection::choose(&selection::ACROSS, nodes, bytes) == Across::Group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts_of_middle_length_over_many_nodes_go_to_a_group() {
        for (nodes, bytes, goes) in [
            (8, 8 << 10, true),
            (8, (8 << 10) - 1, false),
            (7, 64 << 10, false),
            (1000, 4 << 20, true),
            (1000, (4 << 20) + 1, false),
        ] {
            assert_eq!(fits(Wanted::ManyNodes, nodes, bytes), goes, "{nodes} nodes, {bytes} bytes");
            assert!(!fits(Wanted::Never, nodes, bytes));
        }
        assert!(fits(Wanted::Always, 2, 8 << 10) && !fits(Wanted::Always, 1, 8 << 10));
    }

    #[test]
    fn the_fifth_one_tries_and_from_then_on_rounds_are_counted() {
        let choice = Choice::default();
        let turn = |bytes| choice.turn(Wanted::ManyNodes, 8, bytes);
        assert!((0..4).all(|_| turn(1 << 20) == Turn::Tree && turn(8) == Turn::Tree));
        assert_eq!((turn(1 << 20), turn(1 << 20)), (Turn::Try, Turn::Tree));
        choice.agree(Agreed { piece: 1, room: 1, rate: 1 });
        assert_eq!(choice.next_round(), 1);
        assert_eq!((turn(8), turn(1 << 20)), (Turn::Tree, Turn::Round(2)));
        assert_eq!((2..32).map(|_| turn(1 << 20)).filter(|turn| matches!(turn, Turn::Compare(_))).count(), 2);
        choice.refuse("for a test".to_owned());
        assert_eq!((turn(1 << 20), choice.is_used()), (Turn::Tree, false));
    }
}
