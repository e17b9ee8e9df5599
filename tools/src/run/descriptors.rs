//! Small helpers around descriptors.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

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
    status(descriptor).map(|status| (status.st_dev, status.st_ino))
}

/// Whether a descriptor is a regular file.
pub fn is_regular(descriptor: RawFd) -> bool {
    kind(descriptor) == Some(libc::S_IFREG)
}

fn kind(descriptor: RawFd) -> Option<libc::mode_t> {
    status(descriptor).map(|status| status.st_mode & libc::S_IFMT)
}

fn status(descriptor: RawFd) -> Option<libc::stat> {
    // SAFETY: an all-zero `stat` is a valid value to be overwritten; a bad descriptor is an error.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &mut status) == 0).then_some(status)
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

/// How many bytes of a pipe nobody has read yet.
pub fn unread(pipe: BorrowedFd) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: `count` is a valid place for the answer; what is no pipe is an error, not a fault.
    unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &mut count) };
    count as usize
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

/// Waits until a descriptor takes something, or is broken.
pub fn wait_for_room(descriptor: RawFd) {
    let mut entry = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `entry` is one valid pollfd.
    unsafe { libc::poll(&mut entry, 1, -1) };
}

/// Closes a second descriptor of a file, at which some file systems (NFS) say
/// what went wrong with writing.
///
/// # Errors
/// What the system says.
pub fn close_another(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: the second descriptor is ours, and closed once.
    unsafe {
        let second = check(libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0))?;
        check(libc::close(second)).map(drop)
    }
}

/// Whether the reader of a pipe has gone.
pub fn has_no_reader(pipe: RawFd) -> bool {
    let mut entry = libc::pollfd { fd: pipe, events: 0, revents: 0 };
    // SAFETY: `entry` is one valid pollfd.
    unsafe { libc::poll(&mut entry, 1, 0) > 0 && entry.revents & libc::POLLERR != 0 }
}

/// Whether there is something to read, or the end.
pub fn is_ready(descriptor: BorrowedFd) -> bool {
    let mut entry = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `entry` is one valid pollfd.
    unsafe { libc::poll(&mut entry, 1, 0) > 0 }
}

/// Writes a file anew.
///
/// # Errors
/// What the system says.
pub fn write_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    close_another(file.as_raw_fd())
}

/// Whether writing to a descriptor can fail for want of room: it is a file, or
/// a device that is neither a terminal nor the one that takes everything.
pub fn can_be_full(descriptor: RawFd) -> bool {
    let is_null = std::fs::metadata("/dev/null")
        .is_ok_and(|null| Some((null.st_dev(), null.st_ino())) == identity(descriptor));
    let device = kind(descriptor) == Some(libc::S_IFCHR) && !is_terminal(descriptor) && !is_null;
    device || is_regular(descriptor)
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

/// Allows as many open files as the system lets us; returns the limit before, also where it was raised already.
pub fn raise_limit() -> Option<libc::rlimit> {
    static BEFORE: OnceLock<Option<libc::rlimit>> = OnceLock::new();
    *BEFORE.get_or_init(raise)
}

fn raise() -> Option<libc::rlimit> {
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
