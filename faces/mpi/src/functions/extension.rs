//! Extensions of MPICH and Open MPI that programs ask for before they use what is not there:
//! GPUs and communicators of threads.

use crate::arguments::OutValue;
use crate::objects::Comm;
use serried_engine::Result;
use std::ffi::c_int;
use std::sync::Arc;

/// `MPIX_GPU_query_support`: no kind of GPU memory can be sent from.
pub fn mpix_gpu_query_support(_gpu_type: c_int, is_supported: OutValue<c_int>) -> Result<()> {
    is_supported.set_flag(false);
    Ok(())
}

/// `MPIX_Query_cuda_support`
pub fn mpix_query_cuda_support() -> c_int {
    0
}

/// `MPIX_Query_rocm_support`
pub fn mpix_query_rocm_support() -> c_int {
    0
}

/// `MPIX_Query_ze_support`
pub fn mpix_query_ze_support() -> c_int {
    0
}

/// `MPIX_Query_hip_support`
pub fn mpix_query_hip_support() -> c_int {
    0
}

/// `MPIX_Comm_test_threadcomm`: there are none.
pub fn mpix_comm_test_threadcomm(_comm: &Arc<Comm>, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(false);
    Ok(())
}
