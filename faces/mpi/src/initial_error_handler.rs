//! The error handler with which the communicators of the World Model begin (MPI-5.0 §9.3, §11.2.1): what
//! `mpiexec --initial-errhandler` says, or the info of the spawn by which this process was started.

use serried_engine::settings::{ERROR_HANDLERS, INITIAL_ERROR_HANDLER as VARIABLE};

/// The key that says so, in the info of a spawn and in `MPI_INFO_ENV`.
pub const KEY: &str = "mpi_initial_errhandler";

/// What this process was told, and the place of that handler among those of MPI: fatal, abort, return.
pub fn told() -> Option<(String, usize)> {
    let name = std::env::var(VARIABLE).ok()?;
    let place = ERROR_HANDLERS.iter().position(|one| *one == name)?;
    Some((name, place))
}
