//! Where peers connect: listeners, and connections that have not been proven yet.
//!
//! Of strangers it keeps a small number, and of each no more than a handshake has. Beyond that number the oldest is
//! shut out, and so is one that takes too long.

use super::handshake::{Called, Identity, Refusal, Wanted, HELLO_BYTES};
use super::proofs::PROOF_BYTES;
use super::records::Keys;
use super::tcp;
use crate::transport::network::WaitSet;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Connections that are not proven, at most.
const STRANGERS: usize = 64;
/// So long one may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections that are accepted at a time: peers that are known come between.
const AT_A_TIME: usize = 16;
/// Names in the set: listeners from this one on, strangers below.
pub const LISTENERS: u64 = 1 << 63;

/// A connection that is proven.
#[derive(Debug)]
pub struct Proven {
    /// What it is for.
    pub wanted: Wanted,
    /// Its socket.
    pub socket: TcpStream,
    /// Its keys, if it is sealed.
    pub keys: Option<Keys>,
    /// One end seals and the other does not: there is no connection.
    pub is_unlike: bool,
}

/// A connection that is not.
#[derive(Debug)]
struct Stranger {
    name: u64,
    socket: TcpStream,
    since: Instant,
    hello: [u8; HELLO_BYTES],
    proof: [u8; PROOF_BYTES],
    filled: usize,
    called: Option<Called>,
}

/// The reception of a rank.
#[derive(Debug)]
pub struct Reception {
    me: Identity,
    listeners: Vec<TcpListener>,
    strangers: VecDeque<Stranger>,
    names: u64,
    /// Connections that were refused or shut out.
    refused: u64,
}

impl Reception {
    /// Of a rank whose node listens; its descriptors stand in a set.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(me: Identity, set: &WaitSet) -> io::Result<Reception> {
        let own = |listener: BorrowedFd<'_>| listener.try_clone_to_owned().map(TcpListener::from);
        let listeners: Vec<_> = me.directory.listeners().into_iter().map(own).collect::<io::Result<_>>()?;
        for (listener, name) in listeners.iter().zip(LISTENERS..) {
            // All ranks of the node wait for connections; one of them is woken for each.
            set.add_exclusive(listener.as_raw_fd(), name)?;
        }
        Ok(Reception { me, listeners, strangers: VecDeque::new(), names: 0, refused: 0 })
    }

    /// Connections that were refused or shut out so far.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A descriptor of the set has something; the connections that are proven by that.
    pub fn look(&mut self, name: u64, set: &WaitSet) -> Vec<Proven> {
        if let Some(listener) = name.checked_sub(LISTENERS) {
            return self.accept(listener as usize, set);
        }
        let known = self.strangers.iter().position(|one| one.name == name);
        known.and_then(|index| self.hear(index, set)).into_iter().collect()
    }

    /// Shuts out those that take too long. When to look again, if anybody is left.
    pub fn shut_out_the_slow(&mut self) -> Option<Instant> {
        while self.strangers.front().is_some_and(|oldest| oldest.since.elapsed() >= PATIENCE) {
            self.shut_out(0);
        }
        self.strangers.front().map(|oldest| oldest.since + PATIENCE)
    }

    fn accept(&mut self, listener: usize, set: &WaitSet) -> Vec<Proven> {
        let mut proven = Vec::new();
        for _ in 0..AT_A_TIME {
            let Some(Ok(socket)) = self.listeners.get(listener).map(tcp::accept) else { break };
            if self.strangers.len() == STRANGERS {
                self.shut_out(0);
            }
            self.names += 1;
            let name = self.names;
            if tcp::prepare(&socket).and_then(|()| set.add(socket.as_raw_fd(), name)).is_err() {
                continue;
            }
            let (hello, proof) = ([0; HELLO_BYTES], [0; PROOF_BYTES]);
            let since = Instant::now();
            self.strangers.push_back(Stranger { name, socket, since, hello, proof, filled: 0, called: None });
            // Its hello may be here already.
            proven.extend(self.hear(self.strangers.len() - 1, set));
        }
        proven
    }

    fn shut_out(&mut self, index: usize) {
        self.strangers.remove(index);
        self.refused += 1;
    }

    /// Hears what a stranger says.
    fn hear(&mut self, index: usize, set: &WaitSet) -> Option<Proven> {
        match self.strangers[index].hear(&self.me) {
            Ok(None) => None,
            Ok(Some(wanted)) => {
                let Stranger { socket, called, .. } = self.strangers.remove(index)?;
                set.remove(socket.as_raw_fd()).ok()?;
                let called = called?;
                Some(Proven { wanted, socket, keys: called.keys(), is_unlike: called.is_unlike() })
            }
            Err(_) => {
                self.shut_out(index);
                None
            }
        }
    }
}

fn no_peer(_: Refusal) -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

impl Stranger {
    /// Reads what is due, and no more: frames may follow. What it is for, once that is proven.
    fn hear(&mut self, me: &Identity) -> io::Result<Option<Wanted>> {
        if self.called.is_none() {
            if !fill(&self.socket, &mut self.hello, &mut self.filled)? {
                return Ok(None);
            }
            let called = Called::new(me, &self.hello).map_err(no_peer)?;
            let answer = called.answer();
            // A socket to which nothing was sent has room for it.
            if tcp::send(&self.socket, &[IoSlice::new(&answer)])? < answer.len() {
                return Err(io::ErrorKind::WriteZero.into());
            }
            (self.called, self.filled) = (Some(called), 0);
        }
        if !fill(&self.socket, &mut self.proof, &mut self.filled)? {
            return Ok(None);
        }
        let called = self.called.as_ref().expect("it has said hello");
        called.proven(me, &self.proof).map(Some).map_err(no_peer)
    }
}

/// Fills a place further; whether it is full.
fn fill(socket: &TcpStream, place: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < place.len() {
        match tcp::receive(socket, &mut [], &mut place[*filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => *filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
