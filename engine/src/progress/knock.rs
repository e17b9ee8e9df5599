//! Waking a rank that waits for descriptors too, and so cannot sleep on a word of memory: its doorbell has the name of
//! a local socket then, and whoever rings sends a datagram there. The name means something to nobody else.

use crate::memory::system_calls;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;

/// A name, as it stands in a doorbell; all zero for none.
pub type Name = [u64; 2];

fn address_of([high, low]: Name) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("serried-knock-{high:016x}{low:016x}"))
}

/// Knocks at the socket of this name. Where there is none, or it has been knocked at often enough, nothing happens.
pub fn knock(name: Name) {
    static FROM: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let open = || {
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(socket)
    };
    if let (Some(from), Ok(address)) = (FROM.get_or_init(open), address_of(name)) {
        let _ = from.send_to_addr(&[1], &address);
    }
}

/// The socket of a rank.
#[derive(Debug)]
pub struct Knocker {
    socket: UnixDatagram,
    name: Name,
}

impl Knocker {
    /// One with a new name.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn open() -> io::Result<Knocker> {
        let mut bytes = [0; 16];
        if system_calls::random(&mut bytes, 0) != bytes.len() as isize {
            return Err(io::Error::last_os_error());
        }
        let number = u128::from_ne_bytes(bytes);
        let name = [(number >> 64) as u64 | 1, number as u64];
        let socket = UnixDatagram::bind_addr(&address_of(name)?)?;
        socket.set_nonblocking(true)?;
        Ok(Knocker { socket, name })
    }

    /// Its name.
    pub fn name(&self) -> Name {
        self.name
    }

    /// The descriptor that can be read once somebody has knocked.
    pub fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// All knocks so far have been heard.
    pub fn heard(&self) {
        while self.socket.recv(&mut [0]).is_ok() {}
    }
}
