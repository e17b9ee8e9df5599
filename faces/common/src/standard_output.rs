//! A rank's standard output: a line goes out when it is written.
//!
//! The C library keeps what a program prints until it has some thousand bytes, unless a terminal reads them. Between a rank and the
//! terminal is its launcher, with a pipe or a socket. So a program that prints a line a minute would show nothing for an
//! hour, and would lose all of it if it were killed. Programs in Python and Fortran have buffers of their own, of which
//! the launcher tells them (`tools/src/run/environment.rs`).

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

extern "C" {
    #[link_name = "stdout"]
    static STANDARD_OUTPUT: *mut libc::FILE;
    /// Bytes of the buffer of a stream: 0 before anything is written, 1 if there is none.
    fn __fbufsize(stream: *mut libc::FILE) -> usize;
    fn setvbuf(stream: *mut libc::FILE, buffer: *mut c_char, mode: c_int, size: usize) -> c_int;
}

/// Has lines go out at once if a launcher reads them. A program that has chosen a buffer keeps it.
pub fn show_lines() {
    let Some(usual) = buffer_for_launcher() else { return };
    // SAFETY: the stream is there as long as the process; the C library locks it, and may change how it is buffered at
    // any time (glibc and musl).
    unsafe {
        if [0, usual, libc::BUFSIZ as usize].contains(&__fbufsize(STANDARD_OUTPUT)) {
            setvbuf(STANDARD_OUTPUT, null_mut(), libc::_IOLBF, 0);
            libc::fflush(STANDARD_OUTPUT);
        }
    }
}

/// The bytes that the C library's own choice of a buffer has, if standard output is a pipe or a socket.
fn buffer_for_launcher() -> Option<usize> {
    // SAFETY: all bytes zero are a valid `stat`, which the call fills.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(libc::STDOUT_FILENO, &raw mut status) == 0).then_some(status)?
    };
    let is_read_by_others = matches!(status.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK);
    is_read_by_others.then_some(status.st_blksize as usize)
}
