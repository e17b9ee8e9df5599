//! What one-sided operations take and where it goes, checked; and the two forms that an
//! operation has, without and with a request.

use super::members::member;
use crate::arguments::count;
use crate::common::buffers;
use crate::entry::engine;
use crate::functions::collective::check::Names;
use crate::objects::{Datatype, Win};
use crate::request::OutRequest;
use serried_engine::collective::Data;
use serried_engine::datatype::Use;
use serried_engine::engine::Engine;
use serried_engine::onesided::Target;
use serried_engine::request::{RequestId, Status};
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// What an operation takes, or where it puts what it gets.
pub const ORIGIN: Names = Names::new("origin_addr", "origin_count", "origin_datatype");
/// Where it puts what was at the target.
pub const RESULT: Names = Names::new("result_addr", "result_count", "result_datatype");
/// The place at the target: it has no address here.
const TARGET: Names = Names::new("target_disp", "target_count", "target_datatype");

/// The place at the target; `None` for `MPI_PROC_NULL`.
///
/// # Errors
/// `Rank`, `Count`, `Type`, with the argument that is wrong.
#[inline(always)]
pub fn target<'a>(
    win: &Win,
    (target_rank, target_disp): (i32, i64),
    target_count: i64,
    target_datatype: &'a Arc<Datatype>,
) -> Result<Option<Target<'a>>> {
    count("target_count", target_count)?;
    TARGET.committed(target_datatype)?;
    let place =
        |rank| Target { rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    Ok(member("target_rank", win, target_rank)?.map(place))
}

/// Does an operation, or nothing where there is no target.
#[inline(always)]
pub fn act<T>(target: Option<T>, operation: impl FnOnce(&Engine, T) -> Result<()>) -> Result<()> {
    match target {
        Some(target) => operation(engine()?, target),
        None => Ok(()),
    }
}

/// Starts an operation; one without a target is complete.
pub fn start<T>(
    target: Option<T>,
    request: OutRequest,
    operation: impl FnOnce(&Engine, T) -> Result<RequestId>,
) -> Result<()> {
    let engine = engine()?;
    request.put(match target {
        Some(target) => operation(engine, target)?,
        None => engine.completed(Status::empty())?,
    });
    Ok(())
}

/// The data of a buffer.
///
/// # Errors
/// `Count`, `Type` or `Buffer`, with the argument that is wrong.
#[inline(always)]
pub fn origin(address: *const c_void, count: i64, datatype: &Arc<Datatype>) -> Result<Data> {
    on_host(ORIGIN.data(address, count, datatype)?, Use::Read)
}

/// The same of a buffer that an operation fills.
///
/// # Errors
/// As there.
#[inline(always)]
pub fn filled(names: &Names, address: *mut c_void, count: i64, datatype: &Arc<Datatype>) -> Result<Data> {
    on_host(names.data(address, count, datatype)?, Use::Change)
}

#[inline(always)]
fn on_host(mut data: Data, used: Use) -> Result<Data> {
    data.address = buffers::host(data.address, data.count, &data.datatype, used)?;
    Ok(data)
}
