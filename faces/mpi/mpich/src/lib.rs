//! MPI under the ABI of MPICH.
//!
//! Everything but `abi` is written once, in `faces/mpi/src`, over the types of
//! that module.

mod abi;
#[path = "../../src/arguments.rs"]
mod arguments;
#[path = "../../src/blame.rs"]
mod blame;
#[path = "../../src/border.rs"]
mod border;
#[path = "../../src/callbacks.rs"]
mod callbacks;
#[path = "../../src/class.rs"]
mod class;
#[path = "../../src/codes.rs"]
mod codes;
#[path = "../../src/functions/mod.rs"]
mod functions;
#[path = "../../src/handle.rs"]
mod handle;
#[path = "../../src/handle_arguments.rs"]
mod handle_arguments;
#[cfg(target_env = "gnu")]
#[path = "../../../malloc/src/symbols.rs"]
mod malloc;
#[path = "../../src/objects.rs"]
mod objects;
#[path = "../../src/own.rs"]
mod own;
#[path = "../../src/predefined.rs"]
mod predefined;
#[path = "../../src/predefined_datatypes.rs"]
mod predefined_datatypes;
#[path = "../../src/request.rs"]
mod request;
#[path = "../../src/status.rs"]
mod status;
mod symbols;
