//! MPI as a user of the engine: the world model and each session are one use.

use crate::common::engine::Participant;
use crate::{predefined, LIBRARY};
use serried_engine::engine::Engine;
use serried_engine::Result;

/// MPI among the faces of this library.
pub static MPI: Participant = Participant::new(
    "MPI is not initialised; call MPI_Init, MPI_Init_thread or MPI_Session_init before",
    "MPI has been finalized; this function must be called before",
    |engine| {
        predefined::install();
        predefined::install_communicators(engine);
        Ok(())
    },
    predefined::withdraw_communicators,
);

/// Starts the engine for one more user, also again after its last user has left it.
///
/// # Errors
/// What the engine says when it cannot start.
pub fn acquire_engine() -> Result<&'static Engine> {
    MPI.acquire(&LIBRARY)
}

/// Ends one user's use; the last one ends the engine.
///
/// # Errors
/// What the engine says when it cannot end in order.
pub fn release_engine() -> Result<()> {
    MPI.release()
}
