//! MPI under the standard ABI of MPI-5.0 (chapter 20).
//!
//! Everything but `abi` is written once, in `faces/mpi/src`, over the types of
//! that module.

pub mod abi;
#[path = "../../src/arguments.rs"]
pub mod arguments;
#[path = "../../src/border.rs"]
pub mod border;
#[path = "../../src/callbacks.rs"]
pub mod callbacks;
#[path = "../../src/class.rs"]
pub mod class;
#[path = "../../src/codes.rs"]
pub mod codes;
#[path = "../../src/engine.rs"]
pub mod engine;
#[path = "../../src/functions/mod.rs"]
pub mod functions;
#[path = "../../src/handle.rs"]
pub mod handle;
#[path = "../../src/handle_arguments.rs"]
pub mod handle_arguments;
#[path = "../../src/objects.rs"]
pub mod objects;
#[path = "../../src/predefined.rs"]
pub mod predefined;
#[path = "../../src/predefined_datatypes.rs"]
mod predefined_datatypes;
#[path = "../../src/request.rs"]
pub mod request;
#[path = "../../src/status.rs"]
pub mod status;
