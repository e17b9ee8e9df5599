//! Whether a child of a fork still lives that has not executed another program.
//!
//! Children inherit a writable shared mapping of a file of one page. The kernel
//! refuses to seal a file against writing while such a mapping exists anywhere.

use super::super::system_calls;
use std::os::fd::RawFd;

/// The file, and our mapping of it during a fork.
#[derive(Debug)]
pub struct Liveness {
    file: RawFd,
    mapping: usize,
}

impl Liveness {
    /// No fork so far.
    pub const fn new() -> Liveness {
        Liveness { file: -1, mapping: 0 }
    }

    /// Before a fork. `false`: children could not be told.
    pub fn before_fork(&mut self) -> bool {
        if self.none_lives() && !self.make() {
            return false;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file of ours.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, self.file, 0) };
        self.mapping = if at == libc::MAP_FAILED { 0 } else { at as usize };
        self.mapping != 0
    }

    /// After it, in the parent.
    pub fn after_fork(&mut self) {
        if self.mapping != 0 {
            // SAFETY: mapped in `before_fork`.
            unsafe { libc::munmap(self.mapping as *mut _, 4096) };
            self.mapping = 0;
        }
    }

    /// Whether no child lives any more.
    pub fn none_lives(&mut self) -> bool {
        if self.file < 0 {
            return true;
        }
        // SAFETY: system calls on a file of ours.
        unsafe {
            if libc::fcntl(self.file, libc::F_ADD_SEALS, libc::F_SEAL_WRITE) != 0 {
                return false;
            }
            libc::close(self.file); // sealed: of no use for another fork
        }
        self.file = -1;
        true
    }

    fn make(&mut self) -> bool {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        self.file = system_calls::memory_file(c"serried-children", flags);
        // SAFETY: a system call on our own file.
        self.file >= 0 && unsafe { libc::ftruncate(self.file, 4096) } == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_seen_until_it_has_gone() {
        let mut liveness = Liveness::new();
        assert!(liveness.none_lives() && liveness.before_fork());
        let mut ends = [0; 2];
        // SAFETY: the child only waits for the end of the pipe and leaves.
        let child = unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                libc::close(ends[1]);
                let mut byte = 0u8;
                libc::read(ends[0], (&raw mut byte).cast(), 1);
                libc::_exit(0);
            }
            child
        };
        liveness.after_fork();
        assert!(!liveness.none_lives());
        assert!(!liveness.none_lives());
        // SAFETY: our own pipe and child.
        unsafe {
            libc::close(ends[1]);
            libc::close(ends[0]);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        assert!(liveness.none_lives() && liveness.before_fork());
        liveness.after_fork();
        assert!(liveness.none_lives());
    }
}
