//! What the operating system gives of memory: segments that several processes
//! map, copying between processes (see [`cross_memory`]), and memory of a rank
//! that its peers map (see [`window`]).
//!
//! Promises: a segment has no name in any file system, so nothing is left
//! behind; its pages are reserved before they are touched, so that a full
//! memory cgroup or tmpfs is an error and not a SIGBUS.

pub mod cross_memory;
pub mod segment;
pub mod window;

pub use segment::Segment;
