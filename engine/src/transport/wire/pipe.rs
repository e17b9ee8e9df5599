//! The socket of a proven connection, plain or sealed.

use super::nearby::{Nearby, OwnNode};
use super::records::{Forged, Keys, Records};
use super::tcp;
use crate::job::pass_descriptor;
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};

/// A connection's socket, and its records if it is sealed.
#[derive(Debug)]
pub struct Pipe {
    socket: Arc<TcpStream>,
    records: Option<Box<Records>>,
    /// The memory of the other end.
    pub nearby: Nearby,
}

impl Pipe {
    /// Of a connection that is proven; with `keys` it is sealed.
    pub fn new(socket: TcpStream, keys: Option<&Keys>) -> Pipe {
        let nearby = if keys.is_some() { Nearby::Closed } else { Nearby::of(socket.as_fd()) };
        Pipe { socket: Arc::new(socket), records: keys.map(|keys| Box::new(Records::new(keys))), nearby }
    }

    /// For those who wait for it, or only look whether something has come.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// For those who look whether the other end answers, as long as it is there.
    pub fn watched(&self) -> Weak<TcpStream> {
        Arc::downgrade(&self.socket)
    }

    /// What the second word of the first frame says, see [`Nearby`].
    pub fn tells(&self, own: Option<OwnNode>) -> u64 {
        match (&self.nearby, own) {
            (Nearby::Awaited, Some((_, local))) => 1 + u64::from(local.0),
            _ => 0,
        }
    }

    /// Sends the first frame of a connection. How many of its bytes have gone.
    ///
    /// # Errors
    /// As [`Pipe::send`].
    pub fn begin(&mut self, frame: &[u8], own: Option<OwnNode>) -> io::Result<usize> {
        match (&self.nearby, own) {
            // An empty socket has room for it.
            (Nearby::Awaited, Some((node, _))) => {
                pass_descriptor::send_with(self.socket().as_fd(), frame, Some(node.descriptor()))
                    .map(|()| frame.len())
            }
            _ => self.send(&[IoSlice::new(frame)]),
        }
    }

    /// Takes as much of the parts as there is room for. What a sealed one has taken may have to be pushed on.
    ///
    /// # Errors
    /// What the system says; that there is no room.
    pub fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.push()?;
        let Some(records) = &mut self.records else { return tcp::send(&self.socket, parts) };
        let taken = records.seal(parts);
        match self.push() {
            Err(error) if tcp::is_full(&error) => Ok(taken),
            pushed => pushed.map(|()| taken),
        }
    }

    /// Sends what was taken and not sent.
    ///
    /// # Errors
    /// As [`Pipe::send`].
    pub fn push(&mut self) -> io::Result<()> {
        let Some(records) = &mut self.records else { return Ok(()) };
        while !records.waiting().is_empty() {
            let bytes = tcp::send(&self.socket, &[IoSlice::new(records.waiting())])?;
            records.has_gone(bytes);
        }
        Ok(())
    }

    /// Receives into one place and then into another as much as there is; 0 at the end.
    ///
    /// # Errors
    /// What the system says; that there is nothing; that something else has come than the other end has sent.
    pub fn receive(&mut self, first: &mut [u8], then: &mut [u8]) -> io::Result<usize> {
        match self.opened()? {
            None => match self.nearby {
                Nearby::Awaited if first.is_empty() => self.nearby.receive(self.socket.as_fd(), then),
                _ => tcp::receive(&self.socket, first, then),
            },
            Some(None) => Ok(0),
            Some(Some(records)) => Ok(records.read(first) + records.read(then)),
        }
    }

    /// Receives into a list of places and then into one more; 0 at the end.
    ///
    /// # Safety
    /// The places must be writable.
    ///
    /// # Errors
    /// As [`Pipe::receive`].
    pub unsafe fn receive_into(&mut self, places: &[libc::iovec], then: &mut [u8]) -> io::Result<usize> {
        match self.opened()? {
            // SAFETY: by the caller.
            None => unsafe { tcp::receive_into(&self.socket, places, then) },
            Some(None) => Ok(0),
            Some(Some(records)) => {
                let mut bytes = 0;
                for place in places {
                    // SAFETY: by the caller.
                    let place =
                        unsafe { std::slice::from_raw_parts_mut(place.iov_base.cast(), place.iov_len) };
                    bytes += records.read(place);
                }
                Ok(bytes + records.read(then))
            }
        }
    }

    /// What has come and is opened; the inner `None` at the end, the outer one if this is not sealed.
    fn opened(&mut self) -> io::Result<Option<Option<&mut Records>>> {
        let Some(records) = self.records.as_deref_mut() else { return Ok(None) };
        if !records.has_opened() {
            match tcp::receive(&self.socket, &mut [], records.room())? {
                0 => return Ok(Some(None)),
                bytes => records.came(bytes).map_err(|Forged| io::Error::from(io::ErrorKind::InvalidData))?,
            }
            if !records.has_opened() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        Ok(Some(Some(records)))
    }

    /// Whether something was received that nobody waits for at the socket any more.
    pub fn has_opened(&self) -> bool {
        self.records.as_ref().is_some_and(|records| records.has_opened())
    }

    /// Whether something has to be pushed on.
    pub fn has_waiting(&self) -> bool {
        self.records.as_ref().is_some_and(|records| !records.waiting().is_empty())
    }

    /// Bytes that were taken and that the other end's system does not have, as far as is known.
    pub fn unconfirmed(&self) -> usize {
        tcp::unconfirmed(&self.socket) + self.records.as_ref().map_or(0, |records| records.waiting().len())
    }
}
