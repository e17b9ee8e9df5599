//! What the operating system gives of memory: segments that several processes
//! map, copying between processes (see [`cross_memory`], [`memory_file`]), and memory of a rank
//! that its peers map (see [`window`]).
//!
//! Promises: a segment has no name in any file system, so nothing is left
//! behind; its pages are reserved before they are touched, so that a full
//! memory cgroup or tmpfs is an error and not a SIGBUS.

pub mod bounce;
pub mod copy;
pub mod cross_memory;
pub mod loaded_objects;
pub mod memory_file;
pub mod segment;
pub mod socket_option;
pub mod system_calls;
pub mod window;

pub use segment::Segment;

/// Gives back to the system what a burst has left in this process's heap; for
/// the ends of bursts only, for it looks through the whole heap.
pub fn give_back() {
    window::Window::of_process().give_back();
    // SAFETY: releases free memory only; may be called at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
