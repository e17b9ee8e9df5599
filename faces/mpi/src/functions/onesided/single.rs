//! Operations on one element (MPI-5.0 §12.3.4).

use super::members::member;
use super::operands::act;
use crate::arguments::is_in_place;
use crate::common::buffers;
use crate::objects::{Datatype, Op, Win};
use serried_engine::datatype::Use;
use serried_engine::reduce::Builtin;
use serried_engine::{Class, Error, Result};
use std::ffi::c_void;
use std::sync::Arc;

/// The address of an element, which is there.
#[inline(always)]
fn element(name: &str, address: *const c_void, datatype: &Arc<Datatype>, used: Use) -> Result<*const u8> {
    match address.is_null() || is_in_place(address) {
        true => Err(no_element(name, address)),
        false => Ok(buffers::host(address.cast_mut().cast(), 1, datatype, used)?),
    }
}

#[cold]
fn no_element(name: &str, address: *const c_void) -> Error {
    let sentence = match address.is_null() {
        true => format!("argument {name} is a null pointer, but there is one element"),
        false => format!("argument {name} cannot be MPI_IN_PLACE here; pass the address of an element"),
    };
    Error::new(Class::Buffer, sentence)
}

/// `MPI_Fetch_and_op`.
pub fn fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: &Arc<Datatype>,
    target_rank: i32,
    target_disp: i64,
    op: &Arc<Op>,
    win: &Arc<Win>,
) -> Result<()> {
    let origin = match op.as_builtin() {
        Some(Builtin::NoOp) => origin_addr.cast(),
        _ => element("origin_addr", origin_addr, datatype, Use::Read)?,
    };
    let result = element("result_addr", result_addr, datatype, Use::Change)?.cast_mut();
    act(member("target_rank", win, target_rank)?, |engine, rank| {
        engine.fetch_and_op(win, origin, result, datatype, (rank, target_disp), op)
    })
}

/// `MPI_Compare_and_swap`.
pub fn compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: &Arc<Datatype>,
    target_rank: i32,
    target_disp: i64,
    win: &Arc<Win>,
) -> Result<()> {
    let (origin, compare) = (
        element("origin_addr", origin_addr, datatype, Use::Read)?,
        element("compare_addr", compare_addr, datatype, Use::Read)?,
    );
    let result = element("result_addr", result_addr, datatype, Use::Change)?.cast_mut();
    act(member("target_rank", win, target_rank)?, |engine, rank| {
        engine.compare_and_swap(win, (origin, compare, result), datatype, (rank, target_disp))
    })
}
