//! MPI under one ABI, and the root of a shared library: each package that has the file
//! of an ABI (`standard`, `mpich`) compiles this tree over the types of that ABI.
//!
//! Everything here is written once; what an ABI has of its own is data, which the
//! build script makes into [`abi`], [`calls`] and [`exports`]. Other faces, and what
//! all share, are modules of the same crate (see `faces/common`).

mod abi;
mod arguments;
#[path = "../../armci/src/mod.rs"]
mod armci;
#[allow(dead_code)] // where the ABI exports them
mod attribute_functions;
mod callbacks;
mod calls;
mod class;
mod codes;
#[path = "../../common/src/mod.rs"]
mod common;
mod entry;
mod error_handler;
mod exports;
mod functions;
mod handle;
mod handle_arguments;
mod initial_error_handler;
#[allow(dead_code)] // where the ABI exports them
mod internals;
#[cfg(target_env = "gnu")]
#[path = "../../malloc/src/symbols.rs"]
mod malloc;
mod memory_kinds;
mod objects;
mod predefined;
mod predefined_datatypes;
mod request;
#[path = "../../shmem/src/mod.rs"]
mod shmem;
mod start;
mod status;
mod window;
mod wording;

/// What the engine is told of all faces of this library when it starts.
static LIBRARY: common::engine::Library = common::engine::Library {
    names: &[&calls::NAMES, armci::NAMES, &shmem::NAMES],
    directory: each_communicator,
};

/// Shows all communicators that a call can be on: those of the program, of windows, of files, of ARMCI and of OpenSHMEM.
fn each_communicator(visit: &mut dyn FnMut(&std::sync::Arc<objects::Comm>)) {
    handle::COMMS.each(visit);
    handle::WINS.each(&mut |window| visit(window.members()));
    handle::FILES.each(&mut |file| visit(&file.communicator));
    armci::each_communicator(visit);
    shmem::each_communicator(visit);
}
