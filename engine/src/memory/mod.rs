//! What the operating system gives of memory: segments that several processes
//! map, and (see [`cross_memory`]) copying between processes.
//!
//! Promises: a segment has no name in any file system, so nothing is left
//! behind; its pages are reserved before they are touched, so that a full
//! memory cgroup or tmpfs is an error and not a SIGBUS.

pub mod cross_memory;
pub mod segment;

pub use segment::Segment;
