//! Passing a descriptor to another process over a local socket, and who that
//! process is.

use crate::memory::socket_option::socket_option;
use crate::memory::system_calls::uninterrupted;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

const DESCRIPTOR_BYTES: u32 = std::mem::size_of::<i32>() as u32;

/// Room for one control message with one descriptor, aligned as the kernel
/// wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Listens on an abstract socket, which has no name in any file system.
pub(crate) fn listen(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Connects to one, if that can be done without waiting.
pub(crate) fn connect(name: &str) -> io::Result<UnixStream> {
    // An abstract name begins with a zero.
    connect_at(&[b"\0", name.as_bytes()].concat())
}

/// Connects to a socket that is a file, if that can be done without waiting.
pub(crate) fn connect_to_file(path: &Path) -> io::Result<UnixStream> {
    connect_at(&[path.as_os_str().as_bytes(), b"\0"].concat())
}

fn connect_at(place: &[u8]) -> io::Result<UnixStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: a plain system call; the descriptor is nobody else's.
    let stream = unsafe {
        match libc::socket(libc::AF_UNIX, kind, 0) {
            -1 => return Err(io::Error::last_os_error()),
            raw => UnixStream::from_raw_fd(raw),
        }
    };
    // SAFETY: all zero is a valid value.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    address.sun_path.iter_mut().zip(place).for_each(|(there, &byte)| *there = byte as libc::c_char);
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + place.len();
    if length > std::mem::size_of_val(&address) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `address` is valid for `length` bytes.
    let refused =
        unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length as libc::socklen_t) };
    match refused {
        0 => Ok(stream),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The user at the other end (0xfffe when it has no name in our namespace).
///
/// # Errors
/// What the system says.
pub fn peer_user(socket: &impl AsFd) -> io::Result<libc::uid_t> {
    let who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    // SAFETY: integers.
    unsafe { socket_option(socket, (libc::SOL_SOCKET, libc::SO_PEERCRED), who) }.map(|who| who.uid)
}

/// Whether the other end is of the user of this process.
pub fn is_of_own_user(socket: &impl AsFd) -> bool {
    // SAFETY: getting one's own user id cannot fail.
    peer_user(socket).ok() == Some(unsafe { libc::geteuid() })
}

/// Sends one byte with `descriptor` attached.
///
/// # Errors
/// What the system says.
pub fn send_descriptor(stream: &UnixStream, descriptor: BorrowedFd) -> io::Result<()> {
    send_with(stream.as_fd(), &[1], Some(descriptor))
}

/// Receives what [`send_descriptor`] sent.
///
/// # Errors
/// What the system says; `UnexpectedEof`: no descriptor has come.
pub fn receive_descriptor(stream: &UnixStream) -> io::Result<OwnedFd> {
    let (_, descriptor) = receive_with(stream.as_fd(), &mut [0], 0)?;
    descriptor.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"))
}

/// Sends some bytes, and a descriptor with them.
///
/// # Errors
/// What the system says.
pub fn send_with(socket: BorrowedFd, bytes: &[u8], descriptor: Option<BorrowedFd>) -> io::Result<()> {
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut message = empty_message(&mut part, &mut control);
    match descriptor {
        None => message.msg_controllen = 0,
        // SAFETY: `control` has room for a header and one descriptor, so the first
        // header and its data lie inside it.
        Some(descriptor) => unsafe {
            message.msg_controllen = libc::CMSG_SPACE(DESCRIPTOR_BYTES) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(DESCRIPTOR_BYTES) as _;
            libc::CMSG_DATA(header).cast::<i32>().write_unaligned(descriptor.as_raw_fd());
        },
    }
    // SAFETY: `message` and all it points to are valid during the call, which only reads the bytes.
    uninterrupted(|| unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) }).map(drop)
}

/// Receives what [`send_with`] sent: how many bytes, 0 at the end, and the descriptor, if one has come. `flags` are those of
/// `recvmsg`.
///
/// # Errors
/// What the system says.
pub fn receive_with(
    socket: BorrowedFd,
    bytes: &mut [u8],
    flags: libc::c_int,
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut message = empty_message(&mut part, &mut control);
    // So that no second descriptor fits.
    // SAFETY: only a length is computed.
    message.msg_controllen = unsafe { libc::CMSG_LEN(DESCRIPTOR_BYTES) } as _;
    let flags = flags | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: `message` and all it points to are valid during the call.
    let count = uninterrupted(|| unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, flags) })?;
    // SAFETY: the kernel filled `control`; the header is checked before use,
    // and a descriptor received belongs to us alone.
    let descriptor = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        match header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            true => None,
            false => Some(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned())),
        }
    };
    Ok((count, descriptor))
}

fn empty_message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: an all-zero `msghdr` is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::memory_file;
    use std::os::unix::thread::JoinHandleExt;
    use std::time::Duration;

    extern "C" fn nothing(_: i32) {}

    #[test]
    fn a_signal_does_not_end_the_wait_for_a_descriptor() {
        // SAFETY: a handler that does nothing, for a signal that nobody else uses here.
        unsafe { libc::signal(libc::SIGUSR2, nothing as *const () as libc::sighandler_t) };
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let waiting = std::thread::spawn(move || receive_descriptor(&theirs));
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(5));
            // SAFETY: the thread has not been joined yet.
            unsafe { libc::pthread_kill(waiting.as_pthread_t(), libc::SIGUSR2) };
        }
        let file = memory_file::open().unwrap();
        send_descriptor(&ours, file.as_fd()).unwrap();
        waiting.join().unwrap().unwrap();
    }
}
