//! The system calls on TCP sockets, and on local ones in their place, that the standard library does not have, or has with a signal when the other
//! end is gone.

use crate::memory::socket_option::{is_local, socket_option};
use crate::memory::system_calls::uninterrupted;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

/// Connections that wait until they are accepted, at most.
const BACKLOG: libc::c_int = 4096;
/// Seconds of silence after which the kernel asks whether the other end is there, seconds between such questions,
/// and how many go without an answer before the connection counts as broken. Whoever looks at it is sooner.
const KEEP_ALIVE: [libc::c_int; 3] = [2, 1, 20];

/// Listens at an address.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    // SAFETY: no memory is involved.
    done(unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) })?;
    Ok(listener)
}

/// The next connection that waits at a listener. It does not block.
pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let nowhere = std::ptr::null_mut();
    // SAFETY: the address is not asked for, so no memory is involved.
    let raw = unsafe { libc::accept4(listener.as_raw_fd(), nowhere, nowhere.cast(), flags) };
    done(raw.min(0))?;
    // SAFETY: the system has just made it for us.
    Ok(unsafe { TcpStream::from_raw_fd(raw) })
}

/// Begins to connect: [`is_connected`] tells when that is done.
pub fn begin_to_connect(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    let raw = unsafe { libc::socket(family, kind, 0) };
    done(raw.min(0))?;
    // SAFETY: the system has just made it for us.
    let stream = unsafe { TcpStream::from_raw_fd(raw) };
    let (place, length) = system_address(address);
    // SAFETY: `place` is valid for `length` bytes.
    match done(unsafe { libc::connect(raw, (&raw const place).cast(), length) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(stream),
    }
}

fn system_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zero is a valid value.
    let mut place: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(address) => {
            let system = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: a `sockaddr_storage` has room for any address, and is aligned for it.
            unsafe { (&raw mut place).cast::<libc::sockaddr_in>().write(system) };
            std::mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            let system = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut place).cast::<libc::sockaddr_in6>().write(system) };
            std::mem::size_of::<libc::sockaddr_in6>()
        }
    };
    (place, length as libc::socklen_t)
}

/// Whether a connection that was begun is there by now.
///
/// # Errors
/// Why there will be none.
pub fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: `poll` is valid during the call.
    if unsafe { libc::poll(&raw mut poll, 1, 0) } <= 0 {
        return Ok(false);
    }
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(true),
    }
}

/// Makes a connection ready for frames: it waits for nothing, sends at once, and notices a peer that is gone.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    if is_local(stream) {
        return Ok(());
    }
    stream.set_nodelay(true)?;
    set(stream, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    let options = [libc::TCP_KEEPIDLE, libc::TCP_KEEPINTVL, libc::TCP_KEEPCNT];
    options
        .into_iter()
        .zip(KEEP_ALIVE)
        .try_for_each(|(option, value)| set(stream, libc::IPPROTO_TCP, option, value))
}

fn set(stream: &TcpStream, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: `value` is valid for its length.
    done(unsafe { libc::setsockopt(stream.as_raw_fd(), level, option, (&raw const value).cast(), length) })
}

/// Sends as much of the parts as there is room for, without a signal when the other end is gone.
pub fn send(stream: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: an all-zero `msghdr` is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // An `IoSlice` has the layout of an `iovec`, and the parts are only read.
    (message.msg_iov, message.msg_iovlen) = (parts.as_ptr().cast_mut().cast(), parts.len() as _);
    // SAFETY: the parts are readable for their lengths.
    uninterrupted(|| unsafe {
        match parts {
            [part] => libc::send(stream.as_raw_fd(), part.as_ptr().cast(), part.len(), flags),
            _ => libc::sendmsg(stream.as_raw_fd(), &raw const message, flags),
        }
    })
}

/// Receives into one place and then into another as much as there is; 0 at the end.
pub fn receive(stream: &TcpStream, first: &mut [u8], then: &mut [u8]) -> io::Result<usize> {
    let part = |place: &mut [u8]| libc::iovec { iov_base: place.as_mut_ptr().cast(), iov_len: place.len() };
    let parts = [part(first), part(then)];
    // SAFETY: both places are writable for their lengths.
    uninterrupted(|| unsafe {
        match first.len() {
            0 => libc::recv(stream.as_raw_fd(), parts[1].iov_base, parts[1].iov_len, libc::MSG_DONTWAIT),
            _ => libc::readv(stream.as_raw_fd(), parts.as_ptr(), 2),
        }
    })
}

/// Receives into a list of places and then into one more; 0 at the end.
///
/// # Safety
/// The places must be writable.
pub unsafe fn receive_into(stream: &TcpStream, places: &[libc::iovec], then: &mut [u8]) -> io::Result<usize> {
    let mut list = places.to_vec();
    if !then.is_empty() {
        list.push(libc::iovec { iov_base: then.as_mut_ptr().cast(), iov_len: then.len() });
    }
    // SAFETY: by the caller.
    uninterrupted(|| unsafe { libc::readv(stream.as_raw_fd(), list.as_ptr(), list.len() as libc::c_int) })
}

/// Whether a socket is only full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM))
}

/// Bytes that were sent and that the other end's system has not confirmed, and may still.
pub fn unconfirmed(stream: &TcpStream) -> usize {
    if is_local(stream) {
        return 0;
    }
    let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: 0, revents: 0 };
    let mut bytes: libc::c_int = 0;
    // SAFETY: `poll` is valid during the call; the other call writes one integer.
    unsafe {
        libc::poll(&raw mut poll, 1, 0);
        libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes);
    }
    match poll.revents & (libc::POLLHUP | libc::POLLERR) {
        0 => bytes.max(0) as usize,
        _ => 0,
    }
}

/// What the kernel tells of a connection: the beginning of its `struct tcp_info`, to which it only adds behind.
#[repr(C)]
#[derive(Default)]
struct Info {
    state: u8,
    congestion: u8,
    /// Times in a row that something was sent again, or that it was asked whether the other end is there, without an answer.
    retransmits: u8,
    probes: u8,
    _bytes: [u8; 4],
    _words: [u32; 11],
    /// Milliseconds since data has come, and an acknowledgement.
    last_data_received: u32,
    last_acknowledged: u32,
}

/// For how long nothing has come from the other end's system, if it owes an answer.
pub fn unanswered(stream: &TcpStream) -> Option<Duration> {
    // SAFETY: integers.
    let info = unsafe { socket_option(stream, (libc::IPPROTO_TCP, libc::TCP_INFO), Info::default()) };
    let info = info.unwrap_or_default();
    let owes = info.retransmits > 0 || info.probes > 0;
    owes.then(|| Duration::from_millis(info.last_data_received.min(info.last_acknowledged).into()))
}

fn done(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
