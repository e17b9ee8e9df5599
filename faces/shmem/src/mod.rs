//! OpenSHMEM 1.6 over the engine: a module of each shared library.
//!
//! The functions are declared once in `../api`, in all their types; the generator makes the `extern "C"` functions
//! ([`exports`]) of these. A rank is a PE.

mod calls;
mod element;
mod entry;
mod environment;
mod exports;
mod functions;
mod handles;
mod long_double;
mod start;
mod state;

use serried_engine::world::Communicator;
use std::sync::Arc;

pub use calls::NAMES;

/// Shows all communicators that a call can be on.
pub fn each_communicator(visit: &mut dyn FnMut(&Arc<Communicator>)) {
    if let Some(shmem) = state::known() {
        visit(shmem.symmetric.world());
    }
    handles::TEAMS.each(&mut |team| visit(&team.communicator));
    functions::active_set::each_communicator(visit);
}
