//! Completing operations (MPI-5.0 §3.7, §3.9): one request at a time here,
//! several in `several`, requests of the program in `generalized`, what a language's library
//! does around a request in `hooks`.

pub mod generalized;
pub mod hooks;
mod several;
mod status;

pub use generalized::{grequest_complete, grequest_start};
pub use several::*;
pub use status::*;

use self::hooks::Event;
use crate::arguments::OutValue;
use crate::entry::engine;
use crate::functions::point_to_point::report;
use crate::request::{InOutRequest, Requests};
use crate::status::StatusOut;
use serried_engine::request::{Ended, RequestId, Status};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;

/// Waits for a request and tells whether its handle is null now.
#[inline]
fn finish(id: RequestId) -> Result<(Status, bool)> {
    let (status, gone) = engine()?.wait(id)?;
    Ok((ended(id, status, gone), gone))
}

/// As [`finish`] if the request is complete.
fn try_finish(id: RequestId) -> Result<Option<(Status, bool)>> {
    Ok(engine()?.test(id)?.map(|(status, gone)| (ended(id, status, gone), gone)))
}

/// The status of a request that has just ended, after all that have to know of it do.
#[inline]
fn ended(id: RequestId, status: Status, gone: bool) -> Status {
    hooks::tell(id, Event::End);
    if gone {
        hooks::tell(id, Event::Gone);
    }
    generalized::ended(id, status)
}

/// Whether somebody has to know when some request ends.
#[inline]
fn any_watched() -> bool {
    generalized::any() || hooks::any()
}

/// Begins a persistent operation once more.
fn begin(request: Option<RequestId>) -> Result<()> {
    let id = present(request)?;
    hooks::tell(id, Event::Begin);
    engine()?.start_persistent(id)
}

/// `MPI_Wait` (§3.7.3).
pub fn wait(request: InOutRequest, status: StatusOut) -> Result<()> {
    let Some(id) = request.get()? else {
        status.set(&Status::empty());
        return Ok(());
    };
    if !any_watched() {
        match engine()?.wait_for_plain(id, |done| status.set(done))? {
            Ended::Gone => {
                request.put_null();
                return Ok(());
            }
            Ended::Inactive => return Ok(()),
            Ended::Not => {}
        }
    }
    let (done, gone) = finish(id)?;
    if gone {
        request.put_null();
    }
    report(done, status)
}

/// `MPI_Test` (§3.7.3).
pub fn test(request: InOutRequest, flag: OutValue<c_int>, status: StatusOut) -> Result<()> {
    let Some(id) = request.get()? else {
        flag.set_flag(true);
        status.set(&Status::empty());
        return Ok(());
    };
    // A complete request without anything special is shown where it is: a status that is moved is copied in parts of words.
    if !any_watched() {
        let ended = engine()?.test_plain(id, |done| status.set(done))?;
        if ended != Some(Ended::Not) {
            flag.set_flag(ended.is_some());
            if ended == Some(Ended::Gone) {
                request.put_null();
            }
            return Ok(());
        }
    }
    let done = try_finish(id)?;
    flag.set_flag(done.is_some());
    let Some((done, gone)) = done else { return Ok(()) };
    if gone {
        request.put_null();
    }
    report(done, status)
}

/// `MPI_Request_free` (§3.7.3).
pub fn request_free(request: InOutRequest) -> Result<()> {
    let id = present(request.get()?)?;
    generalized::released(id)?;
    // The operation goes on where it has begun, and what it needs with it.
    let idle = hooks::any() && engine()?.status(id)?.is_some();
    engine()?.release(id)?;
    if idle {
        hooks::tell(id, Event::Gone);
    }
    request.put_null();
    Ok(())
}

/// `MPI_Cancel` (§3.8.4).
pub fn cancel(request: InOutRequest) -> Result<()> {
    let id = present(request.get()?)?;
    generalized::cancelled(id)?;
    engine()?.cancel(id)
}

/// `MPI_Request_get_status` (§3.7.6).
pub fn request_get_status(
    request: Option<RequestId>,
    flag: OutValue<c_int>,
    status: StatusOut,
) -> Result<()> {
    let found = look(request)?;
    flag.set_flag(found.is_some());
    if let Some(found) = found {
        status.set(&found);
    }
    Ok(())
}

/// `MPIX_Request_is_complete`: gives 1 or 0 and no error code.
pub fn mpix_request_is_complete(request: crate::abi::Handle) -> c_int {
    let found = crate::request::get("request", request).and_then(look);
    c_int::from(matches!(found, Ok(Some(_))))
}

/// The status of a request that is complete; it stays.
fn look(request: Option<RequestId>) -> Result<Option<Status>> {
    match request {
        Some(id) => Ok(engine()?.status(id)?.map(|status| generalized::looked_at(id, status))),
        None => Ok(Some(Status::empty())),
    }
}

/// `MPI_Start` (§3.9).
pub fn start(request: InOutRequest) -> Result<()> {
    begin(request.get()?)
}

/// `MPI_Startall` (§3.9).
pub fn startall(count: usize, requests: Requests) -> Result<()> {
    for index in 0..count {
        begin(requests.get(index)?)?;
    }
    Ok(())
}

pub fn present(request: Option<RequestId>) -> Result<RequestId> {
    request.ok_or_else(|| Error::new(Class::Request, "argument request is MPI_REQUEST_NULL"))
}
