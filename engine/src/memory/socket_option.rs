//! What the system says of a socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The value of an option of a socket (`getsockopt`), of which `value` is overwritten as far as the system knows it.
///
/// # Errors
/// What the system says.
///
/// # Safety
/// Any bytes must make a valid `T`.
pub unsafe fn socket_option<T>(
    socket: &impl AsFd,
    (level, option): (libc::c_int, libc::c_int),
    mut value: T,
) -> io::Result<T> {
    let (descriptor, mut length) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `value` is a place of that length; the rest by the caller.
    match unsafe { libc::getsockopt(descriptor, level, option, (&raw mut value).cast(), &raw mut length) } {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The same of an option that is a number.
///
/// # Errors
/// What the system says.
pub fn socket_number(socket: &impl AsFd, option: (libc::c_int, libc::c_int)) -> io::Result<libc::c_int> {
    // SAFETY: any bytes are a number.
    unsafe { socket_option(socket, option, 0) }
}

/// Whether a socket is one of this machine only.
pub fn is_local(socket: &impl AsFd) -> bool {
    socket_number(socket, (libc::SOL_SOCKET, libc::SO_DOMAIN)).is_ok_and(|family| family == libc::AF_UNIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::unix::net::UnixStream;

    #[test]
    fn sockets_are_told_apart() {
        let (local, _other) = UnixStream::pair().unwrap();
        let network = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(is_local(&local) && !is_local(&network));
        assert!(socket_number(&network, (libc::SOL_SOCKET, libc::SO_RCVBUF)).unwrap() > 0);
        assert!(socket_number(&network, (libc::SOL_SOCKET, -1)).is_err());
    }
}
