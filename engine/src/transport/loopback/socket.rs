//! Local sockets that carry frames whole: each is sent and received in one call, or not at all.

use crate::job::pass_descriptor::is_of_own_user;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Connections that wait until they are accepted, at most.
const BACKLOG: libc::c_int = 4096;

/// An address in the abstract name space, which has no name in any file system.
fn address_of(name: &str) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: all zero is a valid value.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // An abstract name begins with a zero.
    let places = address.sun_path.iter_mut().skip(1);
    places.zip(name.bytes()).for_each(|(place, byte)| *place = byte as libc::c_char);
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    assert!(length <= std::mem::size_of_val(&address), "the name of a socket is too long");
    (address, length as libc::socklen_t)
}

/// A result of the system as a descriptor.
fn descriptor(raw: libc::c_int) -> io::Result<OwnedFd> {
    match raw {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the system has just made it for us.
        raw => Ok(unsafe { OwnedFd::from_raw_fd(raw) }),
    }
}

fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    descriptor(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })
}

fn done(refused: libc::c_int) -> io::Result<()> {
    match refused {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Listens under a name.
pub fn listen(name: &str) -> io::Result<OwnedFd> {
    let (socket, (address, length)) = (open()?, address_of(name));
    // SAFETY: `address` is valid for `length` bytes.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    // SAFETY: no memory is involved.
    done(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(socket)
}

/// Connects to who listens under a name, if that is a process of the same user.
pub fn connect(name: &str) -> io::Result<OwnedFd> {
    let (socket, (address, length)) = (open()?, address_of(name));
    // SAFETY: `address` is valid for `length` bytes.
    done(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    if !is_of_own_user(&socket) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(socket)
}

/// The next connection; `None` if there is none. One of another user is closed at once.
pub fn accept(listener: &OwnedFd) -> Option<OwnedFd> {
    loop {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let (no_address, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the address of the other end is not asked for.
        let raw = unsafe { libc::accept4(listener.as_raw_fd(), no_address, no_length, flags) };
        let socket = descriptor(raw).ok()?;
        if is_of_own_user(&socket) {
            return Some(socket);
        }
    }
}

/// Sends the parts as one, or says why not.
pub fn send(socket: &OwnedFd, parts: &[&[u8]]) -> io::Result<()> {
    let mut list = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2];
    for (place, part) in list.iter_mut().zip(parts) {
        *place = libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
    }
    // SAFETY: an all-zero `msghdr` is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = list.as_mut_ptr();
    message.msg_iovlen = parts.len().min(list.len()) as _;
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    loop {
        // SAFETY: the parts are readable, and are only read.
        if unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Receives one frame: its length, 0 at the end of the connection; `None` if there is none.
pub fn receive(socket: &OwnedFd, place: &mut [u8]) -> Option<usize> {
    loop {
        // SAFETY: `place` is writable for its length.
        let bytes = unsafe {
            libc::recv(socket.as_raw_fd(), place.as_mut_ptr().cast(), place.len(), libc::MSG_DONTWAIT)
        };
        if bytes >= 0 {
            return Some(bytes as usize);
        }
        match io::Error::last_os_error().kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return None,
            // The other end is gone.
            _ => return Some(0),
        }
    }
}
