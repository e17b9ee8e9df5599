//! Small helpers around descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A pipe, closed on exec: the end to read and the end to write.
///
/// # Errors
/// What the system says.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` is a valid place for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both were just made and belong to us.
    let [read_end, write_end] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    Ok((read_end, write_end))
}

/// A pair of connected local sockets, closed on exec.
///
/// # Errors
/// What the system says.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: `ends` is a valid place for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    // SAFETY: both were just made and belong to us.
    let [one, other] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    Ok((one, other))
}

/// Makes reads and writes on this descriptor return at once.
pub fn never_block(descriptor: &OwnedFd) {
    // SAFETY: plain system calls on our own descriptor.
    unsafe {
        let flags = libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

/// The device and inode behind a descriptor.
pub fn identity(descriptor: RawFd) -> Option<(u64, u64)> {
    // SAFETY: an all-zero `stat` is a valid value to be overwritten.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is a valid place; a bad descriptor is an error.
    let known = unsafe { libc::fstat(descriptor, &mut status) } == 0;
    known.then_some((status.st_dev, status.st_ino))
}

/// Whether a descriptor is a regular file.
pub fn is_regular(descriptor: RawFd) -> bool {
    // SAFETY: as in `identity`.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        libc::fstat(descriptor, &mut status) == 0 && status.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Whether a descriptor is a terminal.
pub fn is_terminal(descriptor: RawFd) -> bool {
    // SAFETY: a bad descriptor is an error, not a fault.
    unsafe { libc::isatty(descriptor) == 1 }
}

/// Whether this process may read from the terminal behind a descriptor.
pub fn is_in_foreground(descriptor: RawFd) -> bool {
    // SAFETY: a descriptor that is no terminal is an error, not a fault.
    unsafe { libc::tcgetpgrp(descriptor) == libc::getpgrp() }
}

/// Reads what is there, up to the size of `buffer`.
///
/// # Errors
/// What the system says.
pub fn read(descriptor: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `buffer` is a valid place of its length.
    let got = unsafe { libc::read(descriptor, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Writes as much of `bytes` as the system takes at once.
///
/// # Errors
/// What the system says.
pub fn write(descriptor: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is valid for its length.
    let put = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(put).map_err(|_| io::Error::last_os_error())
}

/// Turns the C convention (negative: look at errno) into a result.
///
/// # Errors
/// What errno says.
pub fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Allows as many open files as the system lets us; returns the limit before.
pub fn raise_limit() -> Option<libc::rlimit> {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `before` and `wanted` are valid places.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut before) != 0 {
            return None;
        }
        let wanted = libc::rlimit { rlim_cur: before.rlim_max, ..before };
        (libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) == 0).then_some(before)
    }
}
