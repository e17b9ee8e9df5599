//! Synchronisation around one-sided operations (MPI-5.0 §12.4, §12.5).

use super::assertions::{assertions, lock_type as kind_of_lock};
use super::members::{about, member};
use crate::arguments::OutValue;
use crate::entry::engine;
use crate::objects::{Group, Win};
use serried_engine::onesided::Assertions;
use serried_engine::Result;
use std::ffi::c_int;
use std::sync::Arc;

const FOR_FENCE: Assertions =
    Assertions::NOSTORE.and(Assertions::NOPUT).and(Assertions::NOPRECEDE).and(Assertions::NOSUCCEED);
const FOR_POST: Assertions = Assertions::NOCHECK.and(Assertions::NOSTORE).and(Assertions::NOPUT);

/// `MPI_Win_fence` (§12.5.1).
pub fn win_fence(assert: c_int, win: &Arc<Win>) -> Result<()> {
    let assertions = assertions(assert, FOR_FENCE)?;
    about(win);
    engine()?.fence(win, assertions)
}

/// `MPI_Win_post` (§12.5.2).
pub fn win_post(group: &Arc<Group>, assert: c_int, win: &Arc<Win>) -> Result<()> {
    engine()?.post_exposure(win, group, assertions(assert, FOR_POST)?)
}

/// `MPI_Win_start` (§12.5.2).
pub fn win_start(group: &Arc<Group>, assert: c_int, win: &Arc<Win>) -> Result<()> {
    let assertions = assertions(assert, Assertions::NOCHECK)?;
    about(win);
    engine()?.start_access(win, group, assertions)
}

/// `MPI_Win_complete` (§12.5.2).
pub fn win_complete(win: &Arc<Win>) -> Result<()> {
    about(win);
    engine()?.complete_access(win)
}

/// `MPI_Win_wait` (§12.5.2).
pub fn win_wait(win: &Arc<Win>) -> Result<()> {
    about(win);
    engine()?.wait_for_accesses(win)
}

/// `MPI_Win_test` (§12.5.2).
pub fn win_test(win: &Arc<Win>, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(engine()?.test_for_accesses(win)?);
    Ok(())
}

/// `MPI_Win_lock` (§12.5.3).
pub fn win_lock(lock_type: c_int, rank: i32, assert: c_int, win: &Arc<Win>) -> Result<()> {
    let (lock, assertions) = (kind_of_lock(lock_type)?, assertions(assert, Assertions::NOCHECK)?);
    match member("rank", win, rank)? {
        Some(rank) => engine()?.lock(win, lock, rank, assertions),
        None => Ok(()),
    }
}

/// `MPI_Win_unlock` (§12.5.3).
pub fn win_unlock(rank: i32, win: &Arc<Win>) -> Result<()> {
    match member("rank", win, rank)? {
        Some(rank) => engine()?.unlock(win, rank),
        None => Ok(()),
    }
}

/// `MPI_Win_lock_all` (§12.5.3).
pub fn win_lock_all(assert: c_int, win: &Arc<Win>) -> Result<()> {
    let assertions = assertions(assert, Assertions::NOCHECK)?;
    about(win);
    engine()?.lock_all(win, assertions)
}

/// `MPI_Win_unlock_all` (§12.5.3).
pub fn win_unlock_all(win: &Arc<Win>) -> Result<()> {
    about(win);
    engine()?.unlock_all(win)
}

/// `MPI_Win_flush` (§12.5.4).
pub fn win_flush(rank: i32, win: &Arc<Win>) -> Result<()> {
    match member("rank", win, rank)? {
        Some(rank) => engine()?.flush_target(win, Some(rank)),
        None => Ok(()),
    }
}

/// `MPI_Win_flush_all` (§12.5.4).
pub fn win_flush_all(win: &Arc<Win>) -> Result<()> {
    engine()?.flush_target(win, None)
}

/// `MPI_Win_flush_local` (§12.5.4).
pub fn win_flush_local(rank: i32, win: &Arc<Win>) -> Result<()> {
    match member("rank", win, rank)? {
        Some(rank) => engine()?.flush_origin(win, Some(rank)),
        None => Ok(()),
    }
}

/// `MPI_Win_flush_local_all` (§12.5.4).
pub fn win_flush_local_all(win: &Arc<Win>) -> Result<()> {
    engine()?.flush_origin(win, None)
}

/// `MPI_Win_sync` (§12.5.4).
pub fn win_sync(win: &Arc<Win>) -> Result<()> {
    engine()?.sync(win)
}
