//! The bodies, a module per chapter.
//!
//! A body is a safe function over converted arguments; see
//! `docs/guides/new-function.md` for what each kind of argument becomes.

pub mod attribute;
pub mod collective;
pub mod communicator;
pub mod datatype;
pub mod dynamic;
pub mod environment;
pub mod errhandler;
pub mod extension;
pub mod failures;
pub mod file;
pub mod fortran;
pub mod group;
pub mod handle;
pub mod info;
pub mod keyval;
pub mod onesided;
pub mod operation;
pub mod partitioned;
pub mod point_to_point;
pub mod request;
pub mod session;
pub mod support;
pub mod tool;
pub mod topology;
