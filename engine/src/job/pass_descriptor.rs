//! Passing a descriptor to another process over a local socket, and who that
//! process is.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

const DESCRIPTOR_BYTES: u32 = std::mem::size_of::<i32>() as u32;

/// Room for one control message with one descriptor, aligned as the kernel
/// wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// The user at the other end (0xfffe when it has no name in our namespace).
pub(super) fn peer_user(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = std::mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `who` and `length` describe a valid place for the answer.
    let refused = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &mut length,
        )
    };
    if refused != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(who.uid)
}

/// Sends one byte with `descriptor` attached.
pub(super) fn send_descriptor(stream: &UnixStream, descriptor: BorrowedFd) -> io::Result<()> {
    let mut byte = [1u8];
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut message = empty_message(&mut part, &mut control);
    // SAFETY: `control` has room for a header and one descriptor, so the first
    // header and its data lie inside it.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(DESCRIPTOR_BYTES) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(DESCRIPTOR_BYTES) as _;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(descriptor.as_raw_fd());
    }
    // SAFETY: `message` and all it points to are valid during the call.
    match unsafe { libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL) } {
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Receives what [`send_descriptor`] sent.
pub(super) fn receive_descriptor(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut message = empty_message(&mut part, &mut control);
    // SAFETY: `message` and all it points to are valid during the call.
    let got = unsafe { libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel filled `control`; the header is checked before use,
    // and a descriptor received belongs to us alone.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned()))
    }
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
