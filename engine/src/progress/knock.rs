//! Waking a rank that waits for descriptors too, and so cannot sleep on a word of memory: its doorbell has the name of
//! a local socket then, and whoever rings sends a datagram there. The name means something to nobody else.
//!
//! The kernel keeps such names apart by network namespace. Where the ranks of a node may be in several, somebody makes the sockets
//! for all of them ([`make_by`]).

use crate::memory::system_calls;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;

/// A name, as it stands in a doorbell; all zero for none.
pub type Name = [u64; 2];

fn text_of([high, low]: Name) -> String {
    format!("serried-knock-{high:016x}{low:016x}")
}

fn address_of(name: Name) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(text_of(name))
}

/// Makes a socket of datagrams, of this name or, if that is empty, of none.
pub type Maker = dyn Fn(&str) -> io::Result<OwnedFd> + Send + Sync;

/// Who makes them, if not the process itself.
static MAKER: OnceLock<Box<Maker>> = OnceLock::new();

/// From now on somebody makes the sockets of this process, in the namespace that all ranks of the node use.
pub fn make_by(maker: Box<Maker>) {
    let _ = MAKER.set(maker);
}

/// A socket, which does not block.
fn socket(name: Option<Name>) -> io::Result<UnixDatagram> {
    let text = name.map(text_of).unwrap_or_default();
    let socket = match (MAKER.get().map(|make| make(&text)), name) {
        (Some(Ok(made)), _) => UnixDatagram::from(made),
        (_, None) => UnixDatagram::unbound()?,
        (_, Some(name)) => UnixDatagram::bind_addr(&address_of(name)?)?,
    };
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Knocks at the socket of this name. Where there is none, or it has been knocked at often enough, nothing happens.
pub fn knock(name: Name) {
    static FROM: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    if let (Some(from), Ok(address)) = (FROM.get_or_init(|| socket(None).ok()), address_of(name)) {
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
        Ok(Knocker { socket: socket(Some(name))?, name })
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
