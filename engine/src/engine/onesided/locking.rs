//! Epochs of the origin alone: locks and flushes (MPI-5.0 §12.5.3, §12.5.4).

use crate::engine::reason::Reason;
use crate::engine::waiting::Beside;
use crate::engine::Engine;
use crate::observe::description::{self, Kind, Need};
use crate::observe::page::NONE;
use crate::onesided::{Assertions, Exposure, Lock, LockOf, Numbered};
use crate::transport::node::doorbell_of;
use crate::{Class, Error, Result};
use std::sync::atomic::{fence, AtomicBool, Ordering};

/// Locks.
impl Engine {
    /// `MPI_Win_lock`: waits until it is held, except with `NOCHECK`; that of a member on another node is asked for when
    /// that member is.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, or when this member holds it; `Rank`.
    pub fn lock(&self, exposure: &Exposure, lock: Lock, rank: u32, assertions: Assertions) -> Result<()> {
        exposure.check_rank(rank)?;
        exposure.epochs.check_lock(rank)?;
        match assertions.has(Assertions::NOCHECK) {
            true => {}
            false if self.locks_later(exposure, rank) => {
                self.have_locks()?;
                self.want_lock(exposure, lock, rank);
            }
            false => self.acquire_lock(exposure, lock, of_segment(rank))?,
        }
        exposure.epochs.lock(rank, lock, assertions);
        Ok(())
    }

    /// `MPI_Win_unlock`: all is done at the target.
    ///
    /// # Errors
    /// `RmaSync` when this member does not hold it; `Rank`.
    pub fn unlock(&self, exposure: &Exposure, rank: u32) -> Result<()> {
        exposure.check_rank(rank)?;
        let held = exposure.epochs.unlock(rank)?;
        fence(Ordering::SeqCst);
        let moved = self.settle_blocks(exposure.settled(Some(rank)));
        let released = self.release_all(exposure, held.map(|lock| (lock, rank)), false);
        self.settle_accesses(exposure.settled(Some(rank))).and(moved).and(released)
    }

    /// `MPI_Win_lock_all`: a shared lock of each member.
    ///
    /// # Errors
    /// `RmaSync` within another epoch.
    pub fn lock_all(&self, exposure: &Exposure, assertions: Assertions) -> Result<()> {
        exposure.epochs.check_lock_all()?;
        if !assertions.has(Assertions::NOCHECK) {
            let mut at_once = (0..exposure.size()).filter(|&rank| !self.locks_later(exposure, rank));
            at_once.try_for_each(|rank| self.acquire_lock(exposure, Lock::Shared, of_segment(rank)))?;
            self.count_locks_of_all(exposure, true);
        }
        exposure.epochs.lock_all(assertions);
        Ok(())
    }

    /// `MPI_Win_unlock_all`.
    ///
    /// # Errors
    /// `RmaSync` without [`Engine::lock_all`].
    pub fn unlock_all(&self, exposure: &Exposure) -> Result<()> {
        let held = exposure.epochs.unlock_all()?;
        if held {
            self.count_locks_of_all(exposure, false);
        }
        fence(Ordering::SeqCst);
        let ranks = if held { 0..exposure.size() } else { 0..0 };
        let moved = self.settle_blocks(exposure.settled(None));
        let is_held = |&rank: &u32| {
            let was_asked_for = exposure.epochs.has_asked_for_lock(rank);
            was_asked_for || !self.locks_later(exposure, rank)
        };
        let released =
            self.release_all(exposure, ranks.filter(is_held).map(|rank| (Lock::Shared, rank)), true);
        self.settle_accesses(exposure.settled(None)).and(moved).and(released)
    }

    /// Waits until a lock is held.
    pub(super) fn acquire_lock(&self, exposure: &Exposure, kind: Lock, lock: LockOf) -> Result<()> {
        self.have_locks()?;
        if exposure.is_spread && lock.member != exposure.rank() {
            return self.ask_to_lock(exposure, kind, lock, true);
        }
        let found = exposure.lock_of(lock).ok_or_else(no_such_lock)?;
        let ticket = found.lock.ask();
        if !found.lock.is_turn(kind, ticket) {
            self.await_turn((exposure, lock), kind, (found, ticket))?;
        }
        if found.lock.enter(kind, ticket, exposure.rank()) {
            match exposure.is_spread {
                true => self.let_in(exposure, lock.mutex),
                false => self.turned(exposure, found),
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn await_turn(
        &self,
        (exposure, lock): (&Exposure, LockOf),
        kind: Lock,
        (found, ticket): (Numbered, u32),
    ) -> Result<()> {
        self.crowd.wait_for(|| None);
        let beside = AtLock { exposure, kind, found, ticket, asleep: AtomicBool::new(false) };
        let lane = self.lane(exposure.communicator.context());
        self.wait_beside(lane, Reason::Lock(exposure, lock), &beside, |_| beside.holds().then_some(()))
    }

    /// Gives locks of segments back. A server does that after all that it has been asked for before, so nothing but blocks that
    /// go whole is settled first; those of several nodes do it at the same time. `all`: the locks of all are.
    fn release_all(
        &self,
        exposure: &Exposure,
        locks: impl IntoIterator<Item = (Lock, u32)>,
        all: bool,
    ) -> Result<()> {
        let release = |(kind, member)| match self.locks_later(exposure, member) {
            true => self.give_lock_later(exposure, (kind, member), all),
            false => self.release_lock(exposure, kind, of_segment(member)),
        };
        locks.into_iter().map(release).fold(Ok(()), Result::and)
    }

    /// Gives a lock back.
    pub(super) fn release_lock(&self, exposure: &Exposure, kind: Lock, lock: LockOf) -> Result<()> {
        if exposure.is_spread {
            if lock.member != exposure.rank() {
                return gone_with_its_owner(self.ask_to_lock(exposure, kind, lock, false));
            }
            self.leave_lock(exposure, kind, lock.mutex);
            return Ok(());
        }
        let found = exposure.lock_of(lock).ok_or_else(no_such_lock)?;
        found.lock.leave(kind);
        self.turned(exposure, found);
        Ok(())
    }

    /// The turns of a lock have changed: wakes who sleeps for one of them.
    #[inline]
    pub(super) fn turned(&self, exposure: &Exposure, lock: Numbered) {
        exposure.control.turned(lock, |member| {
            if let Some(local) = self.local_rank(exposure.communicator(), member) {
                doorbell_of(&self.job.node, local).ring();
            }
        });
    }
}

/// A lock that cannot be given back, as its owner has failed, is gone.
fn gone_with_its_owner(released: Result<()>) -> Result<()> {
    match released {
        Err(error) if error.class() == Class::ProcFailed => Ok(()),
        done => done,
    }
}

/// The lock of the segment of a member.
fn of_segment(member: u32) -> LockOf {
    LockOf { member, mutex: None }
}

#[cold]
pub(super) fn no_such_lock() -> Error {
    Error::new(Class::Intern, "a lock is asked for that no member on this node has")
}

impl Exposure {
    /// For observers: a lock of a member. Any other may hold it, if none is known to hold it alone. The tag is the number
    /// of a mutex.
    pub(in crate::engine) fn need_of_lock(&self, lock: LockOf) -> Need {
        let context = self.communicator().context();
        let job_rank = |member: u32| self.group().job_rank(member).0;
        let peers = match self.lock_of(lock).and_then(|found| found.lock.writer()) {
            Some(writer) => vec![job_rank(writer)],
            None => (0..self.size()).filter(|&member| member != self.rank()).map(job_rank).collect(),
        };
        let tag = lock.mutex.map_or(NONE, |mutex| mutex as i32);
        let message = description::Envelope { context, source: lock.member as i32, tag, bytes: 0 };
        Need { kind: Kind::Lock, peers, message, collective: None }
    }
}

/// A wait for a lock.
struct AtLock<'a> {
    exposure: &'a Exposure,
    kind: Lock,
    found: Numbered<'a>,
    ticket: u32,
    asleep: AtomicBool,
}

impl Beside for AtLock<'_> {
    #[inline]
    fn holds(&self) -> bool {
        self.found.lock.is_turn(self.kind, self.ticket)
    }

    fn lie_down(&self) {
        if !self.asleep.swap(true, Ordering::Relaxed) {
            let several = self.exposure.waiters.fetch_add(1, Ordering::SeqCst) > 0;
            let wish = (self.found.number, self.ticket);
            self.exposure.control.lie_down(self.exposure.rank(), wish, several);
        }
    }

    fn get_up(&self) {
        if self.asleep.swap(false, Ordering::Relaxed) {
            let last = self.exposure.waiters.fetch_sub(1, Ordering::SeqCst) == 1;
            self.exposure.control.get_up(self.exposure.rank(), last);
        }
    }
}

/// Flushes: on a node operations are done when they return, so only the order in which others see
/// them is left.
impl Engine {
    /// All operations so far are done at the target (`MPI_Win_flush`; `None`: at all of them,
    /// `MPI_Win_flush_all`).
    ///
    /// # Errors
    /// `RmaSync` outside of a passive epoch; `Rank`; what progress reports.
    #[inline]
    pub fn flush_target(&self, exposure: &Exposure, rank: Option<u32>) -> Result<()> {
        self.check_flush(exposure, rank)?;
        self.send_all_held()?;
        self.settle_accesses(exposure.settled(rank))?;
        self.answer_askers(exposure)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// The same, but only the origin's buffers may be used again (`MPI_Win_flush_local`, `_all`).
    ///
    /// # Errors
    /// As [`Engine::flush_target`].
    #[inline]
    pub fn flush_origin(&self, exposure: &Exposure, rank: Option<u32>) -> Result<()> {
        self.check_flush(exposure, rank)?;
        self.send_all_held()?;
        self.settle_answers(exposure.settled(rank))
    }

    #[inline]
    fn check_flush(&self, exposure: &Exposure, rank: Option<u32>) -> Result<()> {
        if let Some(rank) = rank {
            exposure.check_rank(rank)?;
        }
        exposure.epochs.check_passive(rank)
    }

    /// What others have stored is seen here, and the other way round (`MPI_Win_sync`). In any epoch, and
    /// in none: programs that store to shared memory by themselves need it there. A member that waits for a change of its
    /// memory may call nothing else, so where others ask it for what they cannot reach, they are answered here.
    ///
    /// # Errors
    /// What progress reports.
    pub fn sync(&self, exposure: &Exposure) -> Result<()> {
        fence(Ordering::SeqCst);
        self.send_all_held()?;
        self.answer_askers(exposure)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Where others ask this member for what they cannot reach, they are answered, in all its windows.
    #[inline]
    fn answer_askers(&self, exposure: &Exposure) -> Result<()> {
        if exposure.is_served.load(Ordering::Relaxed) {
            let lane = self.look(self.lane(exposure.communicator.context()), |core| core.lane())?;
            self.serve_others(lane)?;
        }
        Ok(())
    }
}
