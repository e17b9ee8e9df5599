//! Extensions of MPICH and Open MPI that programs ask for before they use what is not there:
//! GPUs and communicators of threads.

use crate::arguments::OutValue;
use crate::common::settings;
use crate::objects::Comm;
use serried_engine::device;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// The kind of GPU that MPICH calls `MPIX_GPU_SUPPORT_CUDA`.
const CUDA: c_int = 0;
/// The last kind that there is, `MPIX_GPU_SUPPORT_HIP`.
const LAST: c_int = 2;

/// `MPIX_GPU_query_support`
pub fn mpix_gpu_query_support(gpu_type: c_int, is_supported: OutValue<c_int>) -> Result<()> {
    if !(0..=LAST).contains(&gpu_type) {
        let sentence =
            format!("argument gpu_type is {gpu_type}; it must be one of MPIX_GPU_SUPPORT_CUDA, _ZE, _HIP");
        return Err(Error::new(Class::Arg, sentence));
    }
    is_supported.set_flag(gpu_type == CUDA && takes_cuda());
    Ok(())
}

/// `MPIX_Query_cuda_support`
pub fn mpix_query_cuda_support() -> c_int {
    c_int::from(takes_cuda())
}

/// Whether buffers may lie in memory of CUDA devices: there is one, and its driver can be loaded.
fn takes_cuda() -> bool {
    settings::current().is_ok_and(|settings| device::is_offered(settings.gpu))
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
