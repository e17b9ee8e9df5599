//! The error handler with which the communicators of the World Model begin (MPI-5.0 §9.3, §11.2.1): what
//! `mpiexec --initial-errhandler` says, or the info of the spawn by which this process was started.

use crate::objects::ErrorHandler;
use crate::predefined;
use serried_engine::settings::INITIAL_ERROR_HANDLER as VARIABLE;
use std::sync::Arc;

/// The key that says so, in the info of a spawn and in `MPI_INFO_ENV`.
pub const KEY: &str = "mpi_initial_errhandler";

/// What this process was told, if it is one of MPI's own handlers.
pub fn told() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|name| predefined::error_handler_named(name).is_some())
}

/// The handler itself; without a word it is the one that ends the job.
pub fn handler() -> Option<Arc<ErrorHandler>> {
    predefined::error_handler_named(&told()?)
}
