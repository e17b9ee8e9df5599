//! Locks of the members of a node, as its server takes and gives them back for ranks of other processes, and how it hears of those
//! that its own ranks have asked for.

use super::desk::{At, Desk, NO};
use super::moves::Word;
use super::served_members::Key;
use super::waiting_locks::Asker;
use super::wishes::{What, Wish, DONE, QUEUED};
use crate::onesided::{Ask, Lock, Locking, Taking};
use crate::transport::node::doorbell_of;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// For others.
impl At<'_> {
    /// Does several things under a lock that is taken or given back with them.
    pub(super) fn do_under_lock(
        &mut self,
        (key, Locking { take, give }): (Key, Locking),
        asker: Asker,
        records: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), u64> {
        if let Some(kind) = take {
            let is_held = self.lock((key, None, kind), asker)?;
            answer.push(if is_held { Taking::Done } else { Taking::Waits } as u8);
            if !is_held {
                return Ok(());
            }
        }
        let member = self.desk.members.get(&key).ok_or(NO)?;
        let done = self.engine.obey(member, Ask::Several(Locking::default()), records);
        // It is given back whatever has become of the rest, or nobody would ever have it again.
        give.map_or(Ok(()), |kind| self.unlock((key, None, kind)))?;
        match (done, take) {
            (Ok(told), _) => answer.extend(told),
            (Err(_), Some(_)) => answer[0] = Taking::Refused as u8,
            (Err(_), None) => return Err(NO),
        }
        Ok(())
    }

    /// Takes a lock for somebody, or puts it where those are who wait; whether it has it.
    pub(super) fn lock(&mut self, wanted: (Key, Option<u32>, Lock), asker: Asker) -> Result<bool, u64> {
        let (key, mutex, kind) = wanted;
        let member = self.desk.members.get(&key).ok_or(NO)?;
        let found = member.lock_of(self.engine, mutex).ok_or(NO)?;
        let turn = found.lock.ask();
        let is_held = found.lock.is_turn(kind, turn);
        if is_held {
            if found.lock.enter(kind, turn, asker.member) {
                member.turned(self.engine, found);
            }
        } else {
            self.desk.waiting.add(wanted, turn, asker);
        }
        // The owner tells of a turn only if it sees that somebody waits: so all are looked at after that is said.
        self.let_in();
        Ok(is_held)
    }

    /// Lets in those whose turn has come.
    pub fn let_in(&mut self) {
        self.server.words.queued.store(self.desk.waiting.number(), Ordering::SeqCst);
        if self.desk.waiting.number() == 0 {
            return;
        }
        let mut granted = Vec::new();
        let Desk { waiting, members, .. } = &mut *self.desk;
        waiting.let_in(self.engine, members, |asker| granted.push(asker));
        self.server.words.queued.store(self.desk.waiting.number(), Ordering::SeqCst);
        granted.into_iter().for_each(|asker| self.tell(asker.node, Word::Granted, asker.ticket));
    }

    /// Gives a lock back for the one who holds it.
    pub(super) fn unlock(&mut self, (key, mutex, kind): (Key, Option<u32>, Lock)) -> Result<(), u64> {
        let member = self.desk.members.get(&key).ok_or(NO)?;
        let found = member.lock_of(self.engine, mutex).ok_or(NO)?;
        found.lock.leave(kind);
        member.turned(self.engine, found);
        self.let_in();
        Ok(())
    }
}

/// For ranks of this node.
impl At<'_> {
    /// A lock that a rank of this node has asked for is granted, or its block is there. The answer that this has to be waited
    /// for may come later.
    pub(super) fn granted(&mut self, ticket: u64) {
        if let Some(taken) = self.desk.wishes.get_mut(&ticket) {
            taken.is_granted = true;
            if taken.is_queued {
                self.finish(ticket, DONE, &[]);
            }
        }
    }

    /// The server of another node has answered a wish for a lock: it is held, or it has to be waited for.
    pub(super) fn lock_is_answered(&mut self, ticket: u64, answer: &[u8]) {
        let Some(taken) = self.desk.wishes.get_mut(&ticket) else { return };
        taken.is_queued = true;
        let is_held = answer.first() != Some(&(Taking::Waits as u8));
        if !is_held && !taken.is_granted {
            let (from, place) = (taken.from, taken.address + offset_of!(Wish, ended) as u64);
            self.write(from, place, &[QUEUED]);
            return doorbell_of(&self.engine.job.node, from).ring();
        }
        let told = if is_held && taken.is(What::Locked) { answer } else { &[] };
        self.finish(ticket, DONE, told);
    }
}
