//! Puts, gets and accumulates.

use crate::collective::Data;
use crate::datatype::Datatype;
use crate::engine::Engine;
use crate::onesided::{Exposure, Target};
use crate::reduce::Operator;
use crate::{Error, Result};
use std::sync::Arc;

/// What is not done when a call returns is done at the next flush, unlock, fence or
/// completion. The caller keeps origins alive until then.
///
/// # Errors
/// All: `RmaSync` outside of an epoch, `RmaRange` beyond the segment, `Rank`, `Count`, `Disp`; for
/// accumulates `Op` and `Type`. Nothing is written then.
impl Engine {
    /// Copies the origin to the target (`MPI_Put`, MPI-5.0 §12.3.1).
    ///
    /// # Errors
    /// As above; `Truncate` when there is more of one than of the other.
    pub fn put(&self, _exposure: &Exposure, _origin: &Data, _target: &Target) -> Result<()> {
        Err(not_yet())
    }

    /// Copies the target to the origin (`MPI_Get`).
    ///
    /// # Errors
    /// As [`Engine::put`].
    pub fn get(&self, _exposure: &Exposure, _origin: &Data, _target: &Target) -> Result<()> {
        Err(not_yet())
    }

    /// Combines each element of the target with that of the origin (`MPI_Accumulate`).
    /// The operator is one of MPI's own.
    ///
    /// # Errors
    /// As above.
    pub fn accumulate(
        &self,
        _exposure: &Exposure,
        _origin: &Data,
        _target: &Target,
        _operator: &Operator,
    ) -> Result<()> {
        Err(not_yet())
    }

    /// The same, and copies what the target was to `result` (`MPI_Get_accumulate`). With
    /// `NoOp` the origin is not looked at.
    ///
    /// # Errors
    /// As above.
    pub fn get_accumulate(
        &self,
        _exposure: &Exposure,
        _origin: &Data,
        _result: &Data,
        _target: &Target,
        _operator: &Operator,
    ) -> Result<()> {
        Err(not_yet())
    }

    /// The same for one element of a predefined type (`MPI_Fetch_and_op`).
    ///
    /// # Errors
    /// As above.
    #[allow(clippy::too_many_arguments)] // as the operation has
    pub fn fetch_and_op(
        &self,
        _exposure: &Exposure,
        _origin: *const u8,
        _result: *mut u8,
        _datatype: &Arc<Datatype>,
        (_rank, _displacement): (u32, i64),
        _operator: &Operator,
    ) -> Result<()> {
        Err(not_yet())
    }

    /// Puts the origin in the place of an element that is `compare`; `result` gets what it
    /// was (`MPI_Compare_and_swap`). For integers, truth values, characters and bytes.
    ///
    /// # Errors
    /// As above.
    pub fn compare_and_swap(
        &self,
        _exposure: &Exposure,
        (_origin, _compare, _result): (*const u8, *const u8, *mut u8),
        _datatype: &Arc<Datatype>,
        (_rank, _displacement): (u32, i64),
    ) -> Result<()> {
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::not_there_yet("a one-sided operation")
}
