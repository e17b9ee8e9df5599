//! Completing several requests (MPI-5.0 §3.7.5).

use super::{finish, look};
use crate::abi;
use crate::arguments::{OutArray, OutValue};
use crate::codes;
use crate::entry::engine;
use crate::functions::point_to_point::report;
use crate::request::Requests;
use crate::status::StatusOut;
use serried_engine::engine::several::{Active, First, Patience};
use serried_engine::request::{Ended, RequestId, Status};
use serried_engine::{Class, Error, Result};
use std::cell::Cell;
use std::ffi::c_int;

/// The requests of a call.
fn ids(count: usize, requests: &Requests) -> impl Iterator<Item = Result<Option<RequestId>>> + '_ {
    (0..count).map(|index| requests.get(index))
}

/// The requests that are neither null nor inactive.
fn active(count: usize, requests: &Requests) -> Result<Vec<Active>> {
    let mut all = Vec::with_capacity(count);
    engine()?.each_active(ids(count, requests), |active| all.push(active))?;
    Ok(all)
}

/// Takes the status of a complete request, and nulls its handle.
fn take(index: usize, id: RequestId, requests: &Requests) -> Result<Status> {
    let (status, gone) = finish(id)?;
    if gone {
        requests.put_null(index);
    }
    Ok(status)
}

/// An error that has a code already: the same for its status and for an error handler (§9.3.1).
fn with_code(error: &Error) -> Error {
    let same = Error::new(Class::User(codes::code(error)), error.message());
    match error.context() {
        Some(context) => same.in_context(context),
        None => same,
    }
}

/// Ends those that are complete and plain, up to the first that is not, or is
/// null; its index. Most are of this sort: statuses move straight to their place.
fn end_plain(first: usize, count: usize, requests: Requests, statuses: StatusOut) -> Result<usize> {
    if super::any_watched() {
        return Ok(first);
    }
    let index = Cell::new(first);
    let next = || if index.get() < count { requests.get(index.get()).ok().flatten() } else { None };
    let end = |status: &Status| {
        statuses.set_at(index.get(), status);
        requests.put_null(index.get());
        index.set(index.get() + 1);
    };
    engine()?.end_plain(next, end);
    Ok(index.get())
}

/// `MPI_Waitall` (§3.7.5).
pub fn waitall(count: usize, requests: Requests, statuses: StatusOut) -> Result<()> {
    let mut failed = None;
    let mut next = 0;
    loop {
        if failed.is_none() {
            next = end_plain(next, count, requests, statuses)?;
        }
        let index = next;
        if index >= count {
            break;
        }
        next += 1;
        let id = requests.get(index)?;
        if let (Some(id), None, false) = (id, &failed, super::any_watched()) {
            let ended = engine()?.wait_for_plain(id, |done| statuses.set_at(index, done))?;
            if ended == Ended::Gone {
                requests.put_null(index);
            }
            if ended != Ended::Not {
                continue;
            }
        }
        let mut status = match id {
            Some(id) => take(index, id, &requests)?,
            None => Status::empty(),
        };
        if let (Some(error), None) = (&status.error, &failed) {
            // Now `MPI_ERROR` of each matters, of those before too.
            (0..index).for_each(|earlier| statuses.set_error_at(earlier, abi::MPI_SUCCESS));
            failed = Some(with_code(error));
            status.error.clone_from(&failed);
        }
        if failed.is_some() {
            statuses.set_at_with_error(index, &status);
        } else {
            statuses.set_at(index, &status);
        }
    }
    failed.map_or(Ok(()), |first| Err(Error::in_status(first)))
}

/// Fills the statuses; `MPI_ERROR` of each only if one has failed.
fn report_all(done: &[Status], statuses: StatusOut) -> Result<()> {
    let Some(at) = done.iter().position(|status| status.error.is_some()) else {
        done.iter().enumerate().for_each(|(index, status)| statuses.set_at(index, status));
        return Ok(());
    };
    let mut first = done[at].clone();
    first.error = first.error.as_ref().map(with_code);
    for (index, status) in done.iter().enumerate() {
        statuses.set_at_with_error(index, if index == at { &first } else { status });
    }
    first.error.map_or(Ok(()), |first| Err(Error::in_status(first)))
}

/// `MPI_Testall` (§3.7.5).
pub fn testall(count: usize, requests: Requests, flag: OutValue<c_int>, statuses: StatusOut) -> Result<()> {
    let all = engine()?.all_complete(|| ids(count, &requests))?;
    flag.set_flag(all);
    if !all {
        return Ok(());
    }
    waitall(count, requests, statuses)
}

/// Ends the first of the requests that is complete, and tells its index. `found` hears first what there is.
#[inline]
fn end_first(
    count: usize,
    requests: &Requests,
    patience: Patience,
    (indx, status): (OutValue<c_int>, StatusOut),
    found: impl FnOnce(First),
) -> Result<()> {
    let may_end = !super::any_watched();
    let first = engine()?.end_first(|| ids(count, requests), patience, may_end, |done| status.set(done))?;
    found(first);
    let First::Complete(place, ended) = first else {
        indx.set(abi::MPI_UNDEFINED);
        if first == First::Nothing {
            status.set(&Status::empty());
        }
        return Ok(());
    };
    indx.set(place as c_int);
    match (ended, requests.get(place)?) {
        (Ended::Not, Some(id)) => report(take(place, id, requests)?, status),
        (Ended::Gone, _) => {
            requests.put_null(place);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `MPI_Waitany` (§3.7.5).
pub fn waitany(count: usize, requests: Requests, indx: OutValue<c_int>, status: StatusOut) -> Result<()> {
    end_first(count, &requests, Patience::UntilOne, (indx, status), |_| ())
}

/// `MPI_Testany` (§3.7.5).
pub fn testany(
    count: usize,
    requests: Requests,
    indx: OutValue<c_int>,
    flag: OutValue<c_int>,
    status: StatusOut,
) -> Result<()> {
    end_first(count, &requests, Patience::None, (indx, status), |first| {
        flag.set_flag(first != First::UnderWay);
    })
}

fn some(
    count: usize,
    requests: &Requests,
    outcount: OutValue<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusOut,
    patience: Patience,
) -> Result<()> {
    let (mut complete, mut is_idle) = (Vec::new(), true);
    engine()?.any_complete(
        || ids(count, requests),
        patience,
        |active| {
            is_idle = false;
            complete.extend(active.is_complete.then_some(active));
        },
    )?;
    if is_idle {
        outcount.set(abi::MPI_UNDEFINED);
        return Ok(());
    }
    let mut done = Vec::with_capacity(complete.len());
    for Active { place, id, .. } in complete {
        indices.set(done.len(), place as c_int)?;
        done.push(take(place, id, requests)?);
    }
    outcount.set(done.len() as c_int);
    report_all(&done, statuses)
}

/// `MPI_Waitsome` (§3.7.5).
pub fn waitsome(
    incount: usize,
    requests: Requests,
    outcount: OutValue<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusOut,
) -> Result<()> {
    some(incount, &requests, outcount, indices, statuses, Patience::UntilOne)
}

/// `MPI_Testsome` (§3.7.5).
pub fn testsome(
    incount: usize,
    requests: Requests,
    outcount: OutValue<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusOut,
) -> Result<()> {
    some(incount, &requests, outcount, indices, statuses, Patience::None)
}

/// `MPI_Request_get_status_any` (§3.7.6).
pub fn request_get_status_any(
    count: usize,
    requests: Requests,
    indx: OutValue<c_int>,
    flag: OutValue<c_int>,
    status: StatusOut,
) -> Result<()> {
    let active = active(count, &requests)?;
    if active.is_empty() {
        flag.set_flag(true);
        indx.set(abi::MPI_UNDEFINED);
        status.set(&Status::empty());
        return Ok(());
    }
    for Active { place: index, id, .. } in active {
        if let Some(found) = look(Some(id))? {
            flag.set_flag(true);
            indx.set(index as c_int);
            status.set(&found);
            return Ok(());
        }
    }
    flag.set_flag(false);
    indx.set(abi::MPI_UNDEFINED);
    Ok(())
}

/// `MPI_Request_get_status_all` (§3.7.6).
pub fn request_get_status_all(
    count: usize,
    requests: Requests,
    flag: OutValue<c_int>,
    statuses: StatusOut,
) -> Result<()> {
    let mut found = Vec::with_capacity(count);
    for index in 0..count {
        match look(requests.get(index)?)? {
            Some(status) => found.push(status),
            None => {
                flag.set_flag(false);
                return Ok(());
            }
        }
    }
    flag.set_flag(true);
    found.iter().enumerate().for_each(|(index, status)| statuses.set_at(index, status));
    Ok(())
}

/// `MPI_Request_get_status_some` (§3.7.6).
pub fn request_get_status_some(
    incount: usize,
    requests: Requests,
    outcount: OutValue<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusOut,
) -> Result<()> {
    let active = active(incount, &requests)?;
    if active.is_empty() {
        outcount.set(abi::MPI_UNDEFINED);
        return Ok(());
    }
    let mut count = 0;
    for Active { place: index, id, .. } in active {
        if let Some(found) = look(Some(id))? {
            indices.set(count, index as c_int)?;
            statuses.set_at(count, &found);
            count += 1;
        }
    }
    outcount.set(count as c_int);
    Ok(())
}
