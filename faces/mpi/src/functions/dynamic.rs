//! Dynamic processes (MPI-5.0 §11.8, §11.10): what is true without them.

use super::communicator::comm_free;
use crate::entry::engine;
use crate::handle_arguments::{InOut, Out};
use crate::objects::Comm;
use serried_engine::Result;

/// `MPI_Comm_get_parent`: no process has been spawned.
pub fn comm_get_parent(parent: Out<Comm>) -> Result<()> {
    parent.put_null();
    Ok(())
}

/// `MPI_Comm_disconnect` (§11.10.4): as `MPI_Comm_free` (all processes are of
/// one job), but not before pending communication has ended.
pub fn comm_disconnect(comm: InOut<Comm>) -> Result<()> {
    let contexts: Vec<u64> = comm.get()?.contexts().collect();
    engine()?.settle(&contexts)?;
    comm_free(comm)
}
