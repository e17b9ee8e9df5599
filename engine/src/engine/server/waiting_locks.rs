//! Ranks of other processes that wait for a lock of a member of this node: in words in shared memory each has a ticket,
//! and here stands who has to be told that its turn has come.

use super::served_members::{Key, Member};
use crate::engine::Engine;
use crate::onesided::Lock;
use std::collections::HashMap;

/// Who has asked: the node, the ticket by which its server knows it, and its rank in the exposure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    pub node: u32,
    pub ticket: u64,
    pub member: u32,
}

/// One that waits.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    key: Key,
    mutex: Option<u32>,
    kind: Lock,
    /// Its ticket in the words of the lock.
    turn: u32,
    asker: Asker,
}

/// All that wait at a server, in the order of asking.
#[derive(Debug, Default)]
pub struct WaitingLocks(Vec<Waiter>);

impl WaitingLocks {
    /// How many wait.
    pub fn number(&self) -> u32 {
        self.0.len() as u32
    }

    /// One asks, and waits from now on.
    pub fn add(&mut self, (key, mutex, kind): (Key, Option<u32>, Lock), turn: u32, asker: Asker) {
        self.0.push(Waiter { key, mutex, kind, turn, asker });
    }

    /// Lets in all whose turn it is, and tells of each.
    pub fn let_in(&mut self, engine: &Engine, members: &HashMap<Key, Member>, mut tell: impl FnMut(Asker)) {
        let mut place = 0;
        while let Some(&Waiter { key, mutex, kind, turn, asker }) = self.0.get(place) {
            let Some(member) = members.get(&key) else {
                self.0.remove(place);
                continue;
            };
            let Some(found) = member.lock_of(engine, mutex).filter(|found| found.lock.is_turn(kind, turn))
            else {
                place += 1;
                continue;
            };
            found.lock.enter(kind, turn, asker.member);
            self.0.remove(place);
            tell(asker);
            member.turned(engine, found);
            // Who shares a lock may let in one that stands before in this list, of another lock than the first.
            place = 0;
        }
    }
}
