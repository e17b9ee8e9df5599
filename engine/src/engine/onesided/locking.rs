//! Epochs of the origin alone: locks and flushes (MPI-5.0 §12.5.3, §12.5.4).

use crate::engine::reason::Reason;
use crate::engine::waiting::Beside;
use crate::engine::Engine;
use crate::onesided::{Assertions, Exposure, Lock};
use crate::transport::node::doorbell_of;
use crate::Result;
use std::sync::atomic::{fence, AtomicBool, Ordering};

/// Locks.
impl Engine {
    /// `MPI_Win_lock`: waits until it is held, except with `NOCHECK`.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, or when this member holds it; `Rank`.
    pub fn lock(&self, exposure: &Exposure, lock: Lock, rank: u32, assertions: Assertions) -> Result<()> {
        exposure.check_rank(rank)?;
        exposure.epochs.check_lock(rank)?;
        if !assertions.has(Assertions::NOCHECK) {
            self.acquire_lock(exposure, lock, rank)?;
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
        if let Some(lock) = held {
            self.release_lock(exposure, lock, rank)?;
        }
        Ok(())
    }

    /// `MPI_Win_lock_all`: a shared lock of each member.
    ///
    /// # Errors
    /// `RmaSync` within another epoch.
    pub fn lock_all(&self, exposure: &Exposure, assertions: Assertions) -> Result<()> {
        exposure.epochs.check_lock_all()?;
        if !assertions.has(Assertions::NOCHECK) {
            (0..exposure.size()).try_for_each(|rank| self.acquire_lock(exposure, Lock::Shared, rank))?;
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
        fence(Ordering::SeqCst);
        if held {
            (0..exposure.size()).try_for_each(|rank| self.release_lock(exposure, Lock::Shared, rank))?;
        }
        Ok(())
    }

    fn acquire_lock(&self, exposure: &Exposure, kind: Lock, rank: u32) -> Result<()> {
        if exposure.is_spread && rank != exposure.rank() {
            return self.ask_to_lock(exposure, kind, rank, true);
        }
        let lock = &exposure.control.seat(rank).lock;
        let ticket = lock.ask();
        if !lock.is_turn(kind, ticket) {
            self.await_turn(exposure, kind, (rank, ticket))?;
        }
        if lock.enter(kind, ticket, exposure.rank()) {
            match exposure.is_spread {
                true => self.let_in(exposure),
                false => self.turned(exposure, rank),
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn await_turn(&self, exposure: &Exposure, kind: Lock, ticket: (u32, u32)) -> Result<()> {
        self.crowd.wait_for(|| None);
        let beside = AtLock { exposure, kind, ticket, asleep: AtomicBool::new(false) };
        let lane = self.lane(exposure.communicator.context());
        let reason = Reason::Lock(exposure, ticket.0);
        self.wait_beside(lane, reason, &beside, |_| beside.holds().then_some(()))
    }

    fn release_lock(&self, exposure: &Exposure, kind: Lock, rank: u32) -> Result<()> {
        if exposure.is_spread {
            if rank != exposure.rank() {
                return self.ask_to_lock(exposure, kind, rank, false);
            }
            self.leave_lock(exposure, kind);
            return Ok(());
        }
        exposure.control.seat(rank).lock.leave(kind);
        self.turned(exposure, rank);
        Ok(())
    }

    /// The turns of a lock have changed: wakes who sleeps for one of them.
    #[inline]
    pub(super) fn turned(&self, exposure: &Exposure, rank: u32) {
        exposure.control.turned(rank, |member| {
            if let Some(local) = self.local_rank(exposure.communicator(), member) {
                doorbell_of(&self.job.node, local).ring();
            }
        });
    }
}

/// A wait for a lock.
struct AtLock<'a> {
    exposure: &'a Exposure,
    kind: Lock,
    /// Of whom, and when.
    ticket: (u32, u32),
    asleep: AtomicBool,
}

impl Beside for AtLock<'_> {
    #[inline]
    fn holds(&self) -> bool {
        let (rank, ticket) = self.ticket;
        self.exposure.control.seat(rank).lock.is_turn(self.kind, ticket)
    }

    fn lie_down(&self) {
        if !self.asleep.swap(true, Ordering::Relaxed) {
            let several = self.exposure.waiters.fetch_add(1, Ordering::SeqCst) > 0;
            self.exposure.control.lie_down(self.exposure.rank(), self.ticket, several);
        }
    }

    fn get_up(&self) {
        if self.asleep.swap(false, Ordering::Relaxed) {
            let last = self.exposure.waiters.fetch_sub(1, Ordering::SeqCst) == 1;
            self.exposure.control.get_up(self.exposure.rank(), last);
        }
    }
}

/// Flushes: operations are done when they return, so only the order in which others see
/// them is left.
impl Engine {
    /// All operations so far are done at the target (`MPI_Win_flush`; `None`: at all of them,
    /// `MPI_Win_flush_all`).
    ///
    /// # Errors
    /// `RmaSync` outside of a passive epoch; `Rank`.
    #[inline]
    pub fn flush_target(&self, exposure: &Exposure, rank: Option<u32>) -> Result<()> {
        self.flush_origin(exposure, rank)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// The same, but only the origin's buffers may be used again (`MPI_Win_flush_local`, `_all`).
    ///
    /// # Errors
    /// As [`Engine::flush_target`].
    #[inline]
    pub fn flush_origin(&self, exposure: &Exposure, rank: Option<u32>) -> Result<()> {
        if let Some(rank) = rank {
            exposure.check_rank(rank)?;
        }
        exposure.epochs.check_passive(rank)
    }

    /// What others have stored is seen here, and the other way round (`MPI_Win_sync`). In any epoch, and
    /// in none: programs that store to shared memory by themselves need it there.
    ///
    /// # Errors
    /// None.
    pub fn sync(&self, _: &Exposure) -> Result<()> {
        fence(Ordering::SeqCst);
        Ok(())
    }
}
