//! Dynamic processes (MPI-5.0 §11.8, §11.10): what is true without them.

use super::communicator::comm_free;
use crate::handle_arguments::{InOut, Out};
use crate::objects::Comm;
use serried_engine::Result;

/// `MPI_Comm_get_parent`: no process has been spawned.
pub fn comm_get_parent(parent: Out<Comm>) -> Result<()> {
    parent.put_null();
    Ok(())
}

/// `MPI_Comm_disconnect`: as `MPI_Comm_free`, since the program has completed
/// its operations and all processes are of one job.
pub fn comm_disconnect(comm: InOut<Comm>) -> Result<()> {
    comm_free(comm)
}
