//! Connecting to a peer: the way that this machine alone has is tried, if there is one, and its addresses, one shortly after the
//! other. The first that answers the handshake wins.

use super::handshake::{Caller, Identity, ANSWER_BYTES};
use super::proofs::PROOF_BYTES;
use super::records::Keys;
use super::tcp;
use crate::transport::network::WaitSet;
use crate::JobRank;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// An address is tried so long after the one before it.
const APART: Duration = Duration::from_millis(200);
/// A connection that the network has not made in so long will not be made.
const LONGEST: Duration = Duration::from_secs(5);

/// What an answer of a peer has brought.
#[derive(Debug)]
pub struct Answer {
    /// The proof that it waits for.
    pub proof: [u8; PROOF_BYTES],
    /// The keys of the connection, if it is sealed.
    pub keys: Option<Keys>,
    /// One end seals and the other does not: there is no connection.
    pub is_unlike: bool,
}

/// What has become of it.
#[derive(Debug)]
pub enum Dialled {
    /// The peer is there: a connection, and its answer.
    Answered(TcpStream, Answer),
    /// It goes on; if nothing comes, at this time.
    Pending(Option<Instant>),
    /// No address has a listener.
    Refused,
    /// No address is known or can be reached, or it was somebody else who answered.
    Failed,
}

/// One address that is tried.
#[derive(Debug)]
struct Attempt {
    socket: TcpStream,
    caller: Caller,
    since: Instant,
    is_connected: bool,
    answer: [u8; ANSWER_BYTES],
    filled: usize,
}

/// A peer that is being connected to.
#[derive(Debug)]
pub struct Dial {
    peer: JobRank,
    lane: usize,
    addresses: VecDeque<SocketAddr>,
    attempts: Vec<Attempt>,
    next: Instant,
    /// The way of this machine has not been tried.
    has_way_here: bool,
    /// Something was tried, and all that was has refused.
    is_refused: Option<bool>,
}

impl Dial {
    /// Begins with the first address.
    pub fn new(peer: JobRank, lane: usize, addresses: Vec<SocketAddr>) -> Dial {
        let (next, addresses) = (Instant::now(), addresses.into());
        Dial { peer, lane, addresses, attempts: Vec::new(), next, has_way_here: true, is_refused: None }
    }

    /// Goes on as far as it can. Its sockets stand in `set` under `name`.
    pub fn go_on(&mut self, me: &Identity, set: &WaitSet, name: u64) -> Dialled {
        let now = Instant::now();
        let mut index = 0;
        while let Some(attempt) = self.attempts.get_mut(index) {
            match attempt.go_on(set, name, now) {
                Ok(None) => index += 1,
                Ok(Some(answer)) => {
                    let Attempt { socket, .. } = self.attempts.swap_remove(index);
                    return Dialled::Answered(socket, answer);
                }
                Err(error) => self.failed(index, &error),
            }
        }
        while (self.attempts.is_empty() || now >= self.next) && self.has_more() {
            self.try_next(me, set, name, now);
        }
        if self.attempts.is_empty() {
            return if self.is_refused == Some(true) { Dialled::Refused } else { Dialled::Failed };
        }
        Dialled::Pending(self.wakes_at())
    }

    fn failed(&mut self, index: usize, error: &io::Error) {
        let attempt = self.attempts.swap_remove(index);
        // A stranger hangs up on those who do not have the secret of the port, or no more.
        let hangs_up = attempt.is_connected && self.peer.is_stranger();
        let is_refused = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => hangs_up,
            kind => kind == io::ErrorKind::ConnectionRefused,
        };
        self.note(is_refused);
    }

    /// One of what was tried has failed.
    fn note(&mut self, is_refused: bool) {
        self.is_refused = Some(is_refused && self.is_refused != Some(false));
    }

    fn has_more(&self) -> bool {
        !self.addresses.is_empty() || self.has_way_here
    }

    fn try_next(&mut self, me: &Identity, set: &WaitSet, name: u64, now: Instant) {
        let (mut address, mut begun) = (None, None);
        if std::mem::replace(&mut self.has_way_here, false) {
            begun = me.directory.connect_here(self.peer).map(|connected| connected.map(TcpStream::from));
        } else if let Some(next) = self.addresses.pop_front() {
            (address, begun) = (Some(next), Some(tcp::begin_to_connect(next)));
        }
        let Some(begun) = begun else { return };
        self.next = now + APART;
        let begun = begun.and_then(|socket| {
            set.add_writer(socket.as_raw_fd(), name)?;
            let caller = Caller::new(me, self.peer, self.lane);
            let (answer, filled) = ([0; ANSWER_BYTES], 0);
            Ok(Attempt { socket, caller, since: now, is_connected: false, answer, filled })
        });
        match begun {
            Ok(attempt) => self.attempts.push(attempt),
            Err(error) => {
                // Nobody listens at a loopback device that is down.
                let is_down = error.kind() == io::ErrorKind::NetworkUnreachable
                    && address.is_some_and(|address| address.ip().is_loopback());
                self.note(is_down || error.kind() == io::ErrorKind::ConnectionRefused);
            }
        }
    }

    fn wakes_at(&self) -> Option<Instant> {
        let next = self.has_more().then_some(self.next);
        let ends = self.attempts.iter().filter(|one| !one.is_connected).map(|one| one.since + LONGEST);
        ends.chain(next).min()
    }
}

impl Attempt {
    /// The answer of the peer, once it is there.
    fn go_on(&mut self, set: &WaitSet, name: u64, now: Instant) -> io::Result<Option<Answer>> {
        if !self.is_connected {
            if !tcp::is_connected(&self.socket)? {
                let is_late = now >= self.since + LONGEST;
                return if is_late { Err(io::ErrorKind::TimedOut.into()) } else { Ok(None) };
            }
            tcp::prepare(&self.socket)?;
            self.is_connected = true;
            set.change(self.socket.as_raw_fd(), name, false)?;
            let hello = self.caller.hello();
            let sent = tcp::send(&self.socket, &[IoSlice::new(hello)])?;
            // An empty socket has room for it.
            if sent < hello.len() {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        while self.filled < ANSWER_BYTES {
            match tcp::receive(&self.socket, &mut [], &mut self.answer[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let answer = &self.answer;
        let (keys, is_unlike) = (self.caller.keys(answer), self.caller.is_unlike(answer));
        let proof = self.caller.answered(answer);
        proof
            .map(|proof| Some(Answer { proof, keys, is_unlike }))
            .map_err(|_| io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::OfTests;
    use super::*;
    use crate::job::node_card::JobKey;

    #[test]
    fn a_peer_that_does_not_listen_yet_is_not_one_where_nobody_listens() {
        let directory = Box::leak(Box::new(OfTests::new(0, JobKey::random().unwrap())));
        let (me, set) =
            (Identity { rank: JobRank(0), ranks: 2, directory, is_sealed: false }, WaitSet::new().unwrap());
        let ends = |addresses| Dial::new(JobRank(1), 0, addresses).go_on(&me, &set, 1);
        assert!(matches!(ends(Vec::new()), Dialled::Failed));
        // The system refuses at once, or a moment later.
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut dial = Dial::new(JobRank(1), 0, vec![nobody]);
        crate::transport::conformance::wait_for("the refusal", || {
            matches!(dial.go_on(&me, &set, 1), Dialled::Refused).then_some(())
        });
    }
}
