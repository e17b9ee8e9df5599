//! Epochs: fences, post and start, locks, flushes (MPI-5.0 §12.5).

use crate::engine::Engine;
use crate::onesided::{Assertions, Exposure, Lock};
use crate::world::Group;
use crate::{Error, Result};
use std::sync::Arc;

/// Epochs of all members.
impl Engine {
    /// `MPI_Win_fence`. Collective.
    ///
    /// # Errors
    /// `RmaSync` within an epoch of another kind.
    pub fn fence(&self, _exposure: &Exposure, _assertions: Assertions) -> Result<()> {
        Err(not_yet())
    }
}

/// Epochs of some members.
impl Engine {
    /// Lets the members of a group access the own segment (`MPI_Win_post`). Waits for nobody.
    ///
    /// # Errors
    /// `RmaSync` when one is exposed already, `Group` for processes that are no members.
    pub fn post_exposure(
        &self,
        _exposure: &Exposure,
        _group: &Arc<Group>,
        _assertions: Assertions,
    ) -> Result<()> {
        Err(not_yet())
    }

    /// Begins to access the segments of a group (`MPI_Win_start`); waits until they have posted.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, `Group` for processes that are no members.
    pub fn start_access(
        &self,
        _exposure: &Exposure,
        _group: &Arc<Group>,
        _assertions: Assertions,
    ) -> Result<()> {
        Err(not_yet())
    }

    /// Ends what [`Engine::start_access`] began (`MPI_Win_complete`).
    ///
    /// # Errors
    /// `RmaSync` when it did not.
    pub fn complete_access(&self, _exposure: &Exposure) -> Result<()> {
        Err(not_yet())
    }

    /// Waits until all of the group of [`Engine::post_exposure`] have completed (`MPI_Win_wait`).
    ///
    /// # Errors
    /// `RmaSync` when nothing was posted.
    pub fn wait_for_accesses(&self, _exposure: &Exposure) -> Result<()> {
        Err(not_yet())
    }

    /// Whether they have; then the epoch is over (`MPI_Win_test`).
    ///
    /// # Errors
    /// As [`Engine::wait_for_accesses`].
    pub fn test_for_accesses(&self, _exposure: &Exposure) -> Result<bool> {
        Err(not_yet())
    }
}

/// Epochs of the origin alone.
impl Engine {
    /// `MPI_Win_lock`: waits until it is held, except with `NOCHECK`.
    ///
    /// # Errors
    /// `RmaSync` within another epoch, or when this member holds it; `Rank`.
    pub fn lock(&self, _exposure: &Exposure, _lock: Lock, _rank: u32, _: Assertions) -> Result<()> {
        Err(not_yet())
    }

    /// `MPI_Win_unlock`: all is done at the target.
    ///
    /// # Errors
    /// `RmaSync` when this member does not hold it; `Rank`.
    pub fn unlock(&self, _exposure: &Exposure, _rank: u32) -> Result<()> {
        Err(not_yet())
    }

    /// `MPI_Win_lock_all`: a shared lock of each member.
    ///
    /// # Errors
    /// `RmaSync` within another epoch.
    pub fn lock_all(&self, _exposure: &Exposure, _assertions: Assertions) -> Result<()> {
        Err(not_yet())
    }

    /// `MPI_Win_unlock_all`.
    ///
    /// # Errors
    /// `RmaSync` without [`Engine::lock_all`].
    pub fn unlock_all(&self, _exposure: &Exposure) -> Result<()> {
        Err(not_yet())
    }

    /// All operations so far are done at the target (`MPI_Win_flush`; `None`: at all of them,
    /// `MPI_Win_flush_all`).
    ///
    /// # Errors
    /// `RmaSync` outside of a passive epoch; `Rank`.
    pub fn flush_target(&self, _exposure: &Exposure, _rank: Option<u32>) -> Result<()> {
        Err(not_yet())
    }

    /// The same, but only the origin's buffers may be used again (`MPI_Win_flush_local`, `_all`).
    ///
    /// # Errors
    /// As [`Engine::flush_target`].
    pub fn flush_origin(&self, _exposure: &Exposure, _rank: Option<u32>) -> Result<()> {
        Err(not_yet())
    }

    /// What others have stored is seen here, and the other way round (`MPI_Win_sync`).
    ///
    /// # Errors
    /// `RmaSync` outside of a passive epoch.
    pub fn sync(&self, _exposure: &Exposure) -> Result<()> {
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::not_there_yet("the synchronisation of one-sided operations")
}
