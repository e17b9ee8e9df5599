//! Put and get (MPI-5.0 §12.3.1, §12.3.2, §12.3.5).

use super::operands::{act, origin, start, target};
use crate::objects::{Datatype, Win};
use crate::request::OutRequest;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

macro_rules! transfers {
    ($($function:ident $with_request:ident $start:ident $buffer:ty, $name:literal $request_name:literal;)*) => {$(
        #[doc = concat!("`MPI_", $name, "`.")]
        #[allow(clippy::too_many_arguments)] // those of MPI
        pub fn $function(
            origin_addr: $buffer, origin_count: i64, origin_datatype: &Arc<Datatype>, target_rank: i32,
            target_disp: i64, target_count: i64, target_datatype: &Arc<Datatype>, win: &Arc<Win>,
        ) -> Result<()> {
            let origin = origin(origin_addr, origin_count, origin_datatype)?;
            let target = target(win, (target_rank, target_disp), target_count, target_datatype)?;
            act(target, |engine, target| engine.$function(win, &origin, &target))
        }

        #[doc = concat!("`MPI_", $request_name, "`.")]
        #[allow(clippy::too_many_arguments)] // those of MPI
        pub fn $with_request(
            origin_addr: $buffer, origin_count: i64, origin_datatype: &Arc<Datatype>, target_rank: i32,
            target_disp: i64, target_count: i64, target_datatype: &Arc<Datatype>, win: &Arc<Win>,
            request: OutRequest,
        ) -> Result<()> {
            let origin = origin(origin_addr, origin_count, origin_datatype)?;
            let target = target(win, (target_rank, target_disp), target_count, target_datatype)?;
            start(target, request, |engine, target| engine.$start(win, &origin, &target))
        }
    )*};
}

transfers! {
    put rput start_put *const c_void, "Put" "Rput";
    get rget start_get *mut c_void, "Get" "Rget";
}
