//! Mutexes of the members of a communicator: each has a number of its own, and any may take those of all.

use super::exposing::Memory;
use crate::engine::Engine;
use crate::onesided::{Ask, Exposure, Lock, LockOf};
use crate::world::Communicator;
use crate::{Class, Error, Result};
use std::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// Mutexes are locks as segments have them: a rank that waits sleeps, and enters in the order of asking.
impl Engine {
    /// Makes so many mutexes of this member. Collective; the numbers may differ. Freed by [`Engine::unexpose`].
    ///
    /// # Errors
    /// `Count`, `NoMem`; all members fail if one does.
    pub fn make_mutexes(&self, parent: &Arc<Communicator>, number: i64) -> Result<Arc<Exposure>> {
        let nothing = Memory::Given { address: std::ptr::null_mut(), bytes: 0 };
        self.expose_with(parent, (nothing, 1), number)
    }

    /// Waits until this member holds a mutex.
    ///
    /// # Errors
    /// `Arg` when there is none, or this process holds it already and nobody else could give it back.
    pub fn lock_mutex(&self, exposure: &Exposure, member: u32, mutex: u32) -> Result<()> {
        let lock = mutex_of(exposure, member, mutex)?;
        if !self.is_threaded() && self.holds(exposure, lock) {
            let sentence = format!(
                "this process holds mutex {mutex} of rank {member} already: it would wait for itself"
            );
            return Err(Error::new(Class::Arg, sentence));
        }
        self.acquire_lock(exposure, Lock::Exclusive, lock)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Takes a mutex if nobody has it or waits for it; whether that was so.
    ///
    /// # Errors
    /// `Arg` when there is none.
    pub fn try_mutex(&self, exposure: &Exposure, member: u32, mutex: u32) -> Result<bool> {
        let lock = mutex_of(exposure, member, mutex)?;
        if exposure.is_spread && member != exposure.rank() {
            let mut got = [0u8; 8];
            self.ask(self.servant_of(exposure, member), Ask::TryLock(lock.mutex), &[], &mut got)?;
            return Ok(got != [0; 8]);
        }
        let found = exposure.lock_of(lock).ok_or_else(super::locking::no_such_lock)?;
        let ticket = found.lock.try_to_ask();
        if let Some(ticket) = ticket {
            found.lock.enter(Lock::Exclusive, ticket, exposure.rank());
        }
        Ok(ticket.is_some())
    }

    /// Gives a mutex back; what was done meanwhile comes before what the next one does.
    ///
    /// # Errors
    /// `Arg` when there is none, or this process does not hold it.
    pub fn unlock_mutex(&self, exposure: &Exposure, member: u32, mutex: u32) -> Result<()> {
        let lock = mutex_of(exposure, member, mutex)?;
        if exposure.lock_of(lock).is_some() && !self.holds(exposure, lock) {
            let sentence = format!(
                "this process does not hold mutex {mutex} of rank {member}, so it cannot give it back"
            );
            return Err(Error::new(Class::Arg, sentence));
        }
        let settled = self.order_accesses();
        self.release_lock(exposure, Lock::Exclusive, lock)?;
        settled
    }

    /// Whether this process holds a lock alone, as far as it can see that.
    fn holds(&self, exposure: &Exposure, lock: LockOf) -> bool {
        exposure.lock_of(lock).is_some_and(|found| found.lock.writer() == Some(exposure.rank()))
    }
}

fn mutex_of(exposure: &Exposure, member: u32, mutex: u32) -> Result<LockOf> {
    match exposure.mutexes(member)? {
        number if u64::from(mutex) < number => Ok(LockOf { member, mutex: Some(mutex) }),
        0 => Err(Error::new(
            Class::Arg,
            format!("mutex {mutex} is asked for, but rank {member} has made none"),
        )),
        number => {
            let sentence =
                format!("mutex {mutex} is asked for, but those of rank {member} are 0 to {}", number - 1);
            Err(Error::new(Class::Arg, sentence))
        }
    }
}
