//! Accumulates of any length (MPI-5.0 §12.3.4, §12.3.5).

use super::operands::{act, origin, start, target, RESULT};
use crate::handle_arguments::Late;
use crate::objects::{Datatype, Op, Win};
use crate::request::OutRequest;
use serried_engine::collective::Data;
use serried_engine::reduce::Builtin;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// `MPI_Accumulate`.
#[allow(clippy::too_many_arguments)] // those of MPI
pub fn accumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Arc<Datatype>,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
) -> Result<()> {
    let origin = origin(origin_addr, origin_count, origin_datatype)?;
    let target = target(win, (target_rank, target_disp), target_count, target_datatype)?;
    act(target, |engine, target| engine.accumulate(win, &origin, &target, op))
}

/// `MPI_Raccumulate`.
#[allow(clippy::too_many_arguments)] // those of MPI
pub fn raccumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Arc<Datatype>,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
    request: OutRequest,
) -> Result<()> {
    let origin = origin(origin_addr, origin_count, origin_datatype)?;
    let target = target(win, (target_rank, target_disp), target_count, target_datatype)?;
    start(target, request, |engine, target| engine.start_accumulate(win, &origin, &target, op))
}

/// What is combined, and where the result goes; with `MPI_NO_OP` nobody looks at the first.
fn operands(
    op: &Op,
    (origin_addr, origin_count): (*const c_void, i64),
    origin_datatype: Late<Datatype>,
    (result_addr, result_count): (*mut c_void, i64),
    result_datatype: &Arc<Datatype>,
) -> Result<(Data, Data)> {
    let origin = match op.as_builtin() {
        Some(Builtin::NoOp) => Data::nothing(),
        _ => origin(origin_addr, origin_count, origin_datatype.get()?)?,
    };
    Ok((origin, RESULT.data(result_addr, result_count, result_datatype)?))
}

/// `MPI_Get_accumulate`.
#[allow(clippy::too_many_arguments)] // those of MPI
pub fn get_accumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Late<Datatype>,
    result_addr: *mut c_void,
    result_count: i64,
    result_datatype: &Arc<Datatype>,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
) -> Result<()> {
    let (origin, result) = ((origin_addr, origin_count), (result_addr, result_count));
    let (origin, result) = operands(op, origin, origin_datatype, result, result_datatype)?;
    let target = target(win, (target_rank, target_disp), target_count, target_datatype)?;
    act(target, |engine, target| engine.get_accumulate(win, &origin, &result, &target, op))
}

/// `MPI_Rget_accumulate`.
#[allow(clippy::too_many_arguments)] // those of MPI
pub fn rget_accumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Late<Datatype>,
    result_addr: *mut c_void,
    result_count: i64,
    result_datatype: &Arc<Datatype>,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Arc<Datatype>,
    op: &Arc<Op>,
    win: &Arc<Win>,
    request: OutRequest,
) -> Result<()> {
    let (origin, result) = ((origin_addr, origin_count), (result_addr, result_count));
    let (origin, result) = operands(op, origin, origin_datatype, result, result_datatype)?;
    let target = target(win, (target_rank, target_disp), target_count, target_datatype)?;
    start(target, request, |engine, target| engine.start_get_accumulate(win, &origin, &result, &target, op))
}
