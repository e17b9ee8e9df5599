//! System calls for which the C library has functions only since glibc 2.18 or later. Programs
//! that are to run with 2.17 make them themselves; a house rule looks for the others. And how calls are made again.

use std::ffi::{c_int, c_uint, CStr};
use std::io;

/// A new file in memory; its descriptor, or -1 with the cause in `errno`.
pub fn memory_file(name: &CStr, flags: c_uint) -> c_int {
    // SAFETY: the name is a C string; the kernel checks the flags.
    unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) as c_int }
}

/// Fills memory with random bytes; how many were stored, or -1 with the cause in `errno`.
pub fn random(bytes: &mut [u8], flags: c_uint) -> isize {
    // SAFETY: a valid buffer of that length.
    unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), flags) as isize }
}

/// Makes a call anew as often as a signal interrupts it: the kernel does not, where there is a limit on the time. What it gives,
/// unless that is negative: how many bytes it has moved, mostly.
///
/// # Errors
/// What the system says.
pub fn uninterrupted(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let moved = call();
        if moved >= 0 {
            return Ok(moved as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The number of this thread.
pub fn thread_number() -> u32 {
    // SAFETY: asks for a number only.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_gives_is_right() {
        let mut bytes = [0; 32];
        assert_eq!(random(&mut bytes, 0), 32);
        assert_ne!(bytes, [0; 32]);
        assert_eq!(thread_number() == std::process::id(), std::thread::current().name() == Some("main"));
        let file = memory_file(c"test", libc::MFD_CLOEXEC);
        assert!(file >= 0);
        // SAFETY: our own descriptor.
        assert_eq!(unsafe { libc::close(file) }, 0);
        assert_eq!(memory_file(c"test", !0), -1);
    }
}
