//! The same operations with a request: complete when the origin may be used again, and
//! for what fetches when it is there. In passive epochs only (locks).

use crate::collective::Data;
use crate::engine::Engine;
use crate::onesided::{Exposure, Target};
use crate::reduce::Operator;
use crate::request::RequestId;
use crate::{Error, Result};

impl Engine {
    /// `MPI_Rput`.
    ///
    /// # Errors
    /// As [`Engine::put`]; `RmaSync` outside of a passive epoch.
    pub fn start_put(&self, _exposure: &Exposure, _origin: &Data, _target: &Target) -> Result<RequestId> {
        Err(not_yet())
    }

    /// `MPI_Rget`.
    ///
    /// # Errors
    /// As [`Engine::start_put`].
    pub fn start_get(&self, _exposure: &Exposure, _origin: &Data, _target: &Target) -> Result<RequestId> {
        Err(not_yet())
    }

    /// `MPI_Raccumulate`.
    ///
    /// # Errors
    /// As [`Engine::accumulate`]; `RmaSync` outside of a passive epoch.
    pub fn start_accumulate(
        &self,
        _exposure: &Exposure,
        _origin: &Data,
        _target: &Target,
        _operator: &Operator,
    ) -> Result<RequestId> {
        Err(not_yet())
    }

    /// `MPI_Rget_accumulate`.
    ///
    /// # Errors
    /// As [`Engine::start_accumulate`].
    pub fn start_get_accumulate(
        &self,
        _exposure: &Exposure,
        _origin: &Data,
        _result: &Data,
        _target: &Target,
        _operator: &Operator,
    ) -> Result<RequestId> {
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::not_there_yet("a one-sided operation with a request")
}
