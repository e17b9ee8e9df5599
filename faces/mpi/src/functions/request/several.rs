//! Completing several requests (MPI-5.0 §3.7.5).

use super::{finish, look};
use crate::abi;
use crate::arguments::{OutArray, OutValue};
use crate::codes;
use crate::entry::engine;
use crate::functions::point_to_point::report;
use crate::request::Requests;
use crate::status::StatusOut;
use serried_engine::request::{Ended, RequestId, Status};
use serried_engine::{Class, Error, Result};
use std::cell::Cell;
use std::ffi::c_int;

/// The requests that are neither null nor inactive: index and id.
fn active(count: usize, requests: &Requests) -> Result<Vec<(usize, RequestId)>> {
    let engine = engine()?;
    let mut active = Vec::with_capacity(count);
    for index in 0..count {
        if let Some(id) = requests.get(index)? {
            if !engine.inactive(id)? {
                active.push((index, id));
            }
        }
    }
    Ok(active)
}

/// Which of them are complete; with `wait`, not before one is.
fn settled(active: &[(usize, RequestId)], wait: bool) -> Result<Vec<bool>> {
    let ids: Vec<RequestId> = active.iter().map(|&(_, id)| id).collect();
    engine()?.settled(&ids, wait)
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

/// Ends the first that is complete and plain, if there is one; its index.
fn end_one_plain(count: usize, requests: &Requests, status: StatusOut) -> Result<Option<usize>> {
    if super::any_watched() {
        return Ok(None);
    }
    let engine = engine()?;
    for index in 0..count {
        let (mut id, mut ended) = (requests.get(index)?, false);
        engine.end_plain(
            || id.take(),
            |done| {
                status.set(done);
                ended = true;
            },
        );
        if ended {
            requests.put_null(index);
            return Ok(Some(index));
        }
    }
    Ok(None)
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
    let active = active(count, &requests)?;
    let ids: Vec<RequestId> = active.iter().map(|&(_, id)| id).collect();
    let all = engine()?.all_settled(&ids)?;
    flag.set_flag(all);
    if !all {
        return Ok(());
    }
    waitall(count, requests, statuses)
}

/// `MPI_Waitany` (§3.7.5).
pub fn waitany(count: usize, requests: Requests, indx: OutValue<c_int>, status: StatusOut) -> Result<()> {
    if let Some(index) = end_one_plain(count, &requests, status)? {
        indx.set(index as c_int);
        return Ok(());
    }
    let active = active(count, &requests)?;
    if active.is_empty() {
        indx.set(abi::MPI_UNDEFINED);
        status.set(&Status::empty());
        return Ok(());
    }
    let first = settled(&active, true)?.iter().position(|&settled| settled);
    complete_one(first, &active, &requests, indx, status)
}

/// `MPI_Testany` (§3.7.5).
pub fn testany(
    count: usize,
    requests: Requests,
    indx: OutValue<c_int>,
    flag: OutValue<c_int>,
    status: StatusOut,
) -> Result<()> {
    if let Some(index) = end_one_plain(count, &requests, status)? {
        indx.set(index as c_int);
        flag.set_flag(true);
        return Ok(());
    }
    let active = active(count, &requests)?;
    let first = settled(&active, false)?.iter().position(|&settled| settled);
    flag.set_flag(first.is_some() || active.is_empty());
    if active.is_empty() {
        status.set(&Status::empty());
    }
    complete_one(first, &active, &requests, indx, status)
}

fn complete_one(
    first: Option<usize>,
    active: &[(usize, RequestId)],
    requests: &Requests,
    indx: OutValue<c_int>,
    status: StatusOut,
) -> Result<()> {
    let Some(first) = first else {
        indx.set(abi::MPI_UNDEFINED);
        return Ok(());
    };
    let (index, id) = active[first];
    indx.set(index as c_int);
    report(take(index, id, requests)?, status)
}

fn some(
    count: usize,
    requests: &Requests,
    outcount: OutValue<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusOut,
    wait: bool,
) -> Result<()> {
    let active = active(count, requests)?;
    if active.is_empty() {
        outcount.set(abi::MPI_UNDEFINED);
        return Ok(());
    }
    let settled = settled(&active, wait)?;
    let mut done = Vec::new();
    for (&(index, id), _) in active.iter().zip(settled).filter(|(_, settled)| *settled) {
        indices.set(done.len(), index as c_int)?;
        done.push(take(index, id, requests)?);
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
    some(incount, &requests, outcount, indices, statuses, true)
}

/// `MPI_Testsome` (§3.7.5).
pub fn testsome(
    incount: usize,
    requests: Requests,
    outcount: OutValue<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusOut,
) -> Result<()> {
    some(incount, &requests, outcount, indices, statuses, false)
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
    for (index, id) in active {
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
    for (index, id) in active {
        if let Some(found) = look(Some(id))? {
            indices.set(count, index as c_int)?;
            statuses.set_at(count, &found);
            count += 1;
        }
    }
    outcount.set(count as c_int);
    Ok(())
}
