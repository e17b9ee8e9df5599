//! What all faces share: the entry wall, this rank's page, start and stop of the
//! engine, buffers in the memory of GPUs, tables of handles, settings that are chosen before the start, standard output.
//!
//! # Why a folder of sources and no crate
//! Each shared library is one crate, made of the sources of all its faces, and this
//! folder is a module of it (`#[path]` in the library's root). So
//! * a library has one engine, one page and one entry wall, whichever faces a program
//!   mixes, for each of these is one `static` of the crate;
//! * every face reaches them without a table of addresses, in one instruction: between
//!   crates the compiler takes the address from a table first;
//! * a face may know another one where their standards meet (a group of ARMCI has a
//!   communicator of MPI), with the types of the library's own ABI.
//!
//! Nothing here names a face: files name each other by `super`, and never `crate`.

pub mod buffers;
pub mod engine;
pub mod entry;
pub mod handles;
pub mod page;
pub mod settings;
mod standard_output;
