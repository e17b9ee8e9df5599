//! Descriptors of pieces of device memory, passed from process to process over a local socket.
//!
//! The socket has no name in a file system. Both ends check that the other runs as the same user.

use crate::device::lent::MOST_PIECES;
use crate::device::{self, borrowing};
use crate::job::pass_descriptor::{connect, is_of_own_user, listen, receive_descriptor, send_descriptor};
use crate::memory::system_calls;
use crate::{Class, Error, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// Listens for them, under a name by chance; `None` where the system has no socket.
pub(crate) fn listen_for_descriptors() -> Option<(UnixListener, u128)> {
    let mut name = [0u8; 16];
    system_calls::random(&mut name, libc::GRND_NONBLOCK);
    let name = u128::from_ne_bytes(name);
    let listener = listen(&text(name)).ok()?;
    listener.set_nonblocking(true).ok().map(|()| (listener, name))
}

/// Passes a descriptor of each piece in which so many bytes at an address lie; how long each is.
///
/// # Errors
/// What the driver or the system says; where these are too many pieces, or not all of one device.
pub(crate) fn pass_descriptors((address, bytes): (u64, u64), name: u128) -> Result<Vec<u64>> {
    let of_system =
        |error| Error::new(Class::Other, format!("no descriptor of device memory can be passed: {error}"));
    let first = device::find(address as *const u8)?.ok_or_else(borrowing::is_not_whole)?;
    let pieces = device::pieces_up_to(&first, (address + bytes) as usize, MOST_PIECES)?;
    let pieces = pieces.ok_or_else(borrowing::is_not_whole)?;
    for piece in &pieces {
        let descriptor = borrowing::export(piece)?;
        let stream = connect(&text(name)).map_err(of_system)?;
        check_user(&stream)?;
        send_descriptor(&stream, descriptor.as_fd()).map_err(of_system)?;
    }
    Ok(pieces.iter().map(|piece| piece.bytes as u64).collect())
}

/// The next one that has been passed.
///
/// # Errors
/// What the system says; where it comes from another user.
pub(crate) fn take_descriptor(listener: &UnixListener) -> Result<OwnedFd> {
    let of_system =
        |error| Error::new(Class::Other, format!("no descriptor of device memory has come: {error}"));
    let (stream, _) = listener.accept().map_err(of_system)?;
    check_user(&stream)?;
    receive_descriptor(&stream).map_err(of_system)
}

fn check_user(stream: &UnixStream) -> Result<()> {
    match is_of_own_user(stream) {
        true => Ok(()),
        false => Err(Error::new(Class::Other, "a process of another user is at the socket of a rank")),
    }
}

fn text(name: u128) -> String {
    format!("serried-device-{name:032x}")
}
