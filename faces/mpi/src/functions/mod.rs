//! The bodies, a module per chapter, and the generated functions that call them.
//!
//! A body is a safe function over converted arguments; see
//! `docs/architecture.md` for what each kind of argument becomes.

pub mod attribute;
pub mod collective;
pub mod communicator;
pub mod datatype;
pub mod dynamic;
pub mod environment;
pub mod errhandler;
#[allow(dead_code)] // the standard ABI has none of it
pub mod extension;
#[allow(dead_code)] // the standard ABI has none of it
pub mod fortran;
pub mod graph;
pub mod group;
pub mod handle;
pub mod info;
pub mod keyval;
pub mod operation;
pub mod partitioned;
pub mod point_to_point;
pub mod request;
pub mod session;
pub mod tool;
pub mod topology;

pub use generated::NAMES;

/// What the tables say, made into functions.
#[allow(missing_docs, non_snake_case, unused_variables, unused_imports, clippy::all, clippy::pedantic)]
mod generated {
    use crate::arguments::{self, Counts, Ints, OutArray, OutCount, OutValue};
    use crate::blame::Blame;
    use crate::border::{self, When};
    use crate::handle_arguments::{Handles, InOut, Out, OutHandles};
    use crate::request::{self, InOutRequest, OutRequest, Requests};
    use crate::status::{StatusIn, StatusOut};
    use crate::{abi, functions, handle};
    use std::ffi::{c_char, c_int, c_void};

    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}
