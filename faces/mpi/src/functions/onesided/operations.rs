//! Operations on any number of elements, without a request and with one (MPI-5.0 §12.3.1 to §12.3.5).

use super::operands::{act, filled, origin, start, target, ORIGIN, RESULT};
use crate::handle_arguments::Late;
use crate::objects::{Datatype, Op, Win};
use crate::request::OutRequest;
use serried_engine::collective::Data;
use serried_engine::reduce::Builtin;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// Both forms of operations: their names in the engine and in MPI, their arguments, what is checked
/// of them (operands and target), and what the engine gets.
macro_rules! forms {
    ($($function:ident $name:literal, $with_request:ident $start:ident $request_name:literal,
       ($($argument:ident: $type:ty),* $(,)?) $checked:expr, |$operands:pat_param, $target:ident| ($($given:expr),*);)*) => {$(
        #[doc = concat!("`MPI_", $name, "`.")]
        #[inline(always)] // a call between would copy arguments on the stack, which waits for all stores before
        #[allow(clippy::too_many_arguments)] // those of MPI
        pub fn $function($($argument: $type),*) -> Result<()> {
            let ($operands, target) = $checked;
            act(target, |engine, $target| engine.$function($($given),*))
        }

        #[doc = concat!("`MPI_", $request_name, "`.")]
        #[inline(always)] // as above
        #[allow(clippy::too_many_arguments)] // those of MPI
        pub fn $with_request($($argument: $type,)* request: OutRequest) -> Result<()> {
            let ($operands, target) = $checked;
            start(target, request, |engine, $target| engine.$start($($given),*))
        }
    )*};
}

forms! {
    put "Put", rput start_put "Rput", (
        origin_addr: *const c_void, origin_count: i64, origin_datatype: &Arc<Datatype>,
        target_rank: i32, target_disp: i64, target_count: i64, target_datatype: &Arc<Datatype>, win: &Arc<Win>,
    ) (
        origin(origin_addr, origin_count, origin_datatype)?,
        target(win, (target_rank, target_disp), target_count, target_datatype)?,
    ), |origin, target| (win, &origin, &target);

    get "Get", rget start_get "Rget", (
        origin_addr: *mut c_void, origin_count: i64, origin_datatype: &Arc<Datatype>,
        target_rank: i32, target_disp: i64, target_count: i64, target_datatype: &Arc<Datatype>, win: &Arc<Win>,
    ) (
        filled(&ORIGIN, origin_addr, origin_count, origin_datatype)?,
        target(win, (target_rank, target_disp), target_count, target_datatype)?,
    ), |origin, target| (win, &origin, &target);

    accumulate "Accumulate", raccumulate start_accumulate "Raccumulate", (
        origin_addr: *const c_void, origin_count: i64, origin_datatype: &Arc<Datatype>,
        target_rank: i32, target_disp: i64, target_count: i64, target_datatype: &Arc<Datatype>,
        op: &Arc<Op>, win: &Arc<Win>,
    ) (
        origin(origin_addr, origin_count, origin_datatype)?,
        target(win, (target_rank, target_disp), target_count, target_datatype)?,
    ), |origin, target| (win, &origin, &target, op);

    get_accumulate "Get_accumulate", rget_accumulate start_get_accumulate "Rget_accumulate", (
        origin_addr: *const c_void, origin_count: i64, origin_datatype: Late<Datatype>,
        result_addr: *mut c_void, result_count: i64, result_datatype: &Arc<Datatype>,
        target_rank: i32, target_disp: i64, target_count: i64, target_datatype: &Arc<Datatype>,
        op: &Arc<Op>, win: &Arc<Win>,
    ) (
        (
            operand(op, origin_addr, origin_count, origin_datatype)?,
            filled(&RESULT, result_addr, result_count, result_datatype)?,
        ),
        target(win, (target_rank, target_disp), target_count, target_datatype)?,
    ), |(origin, result), target| (win, &origin, &result, &target, op);
}

/// What is combined with the target; with `MPI_NO_OP` nobody looks at it.
fn operand(op: &Op, address: *const c_void, count: i64, datatype: Late<Datatype>) -> Result<Data> {
    match op.as_builtin() {
        Some(Builtin::NoOp) => Ok(Data::nothing()),
        _ => origin(address, count, datatype.get()?),
    }
}
