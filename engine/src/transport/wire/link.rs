//! What a rank knows of a peer: the frames to and from it, whatever becomes of the connections that carry them.
//!
//! # Two connections made at once
//! Both ends may make one before either knows of the other's. An end uses the first that it has; the other stands
//! aside. If the ends use different ones, that of the lower rank wins: it is taken as soon as the peer has said
//! something over it. None is let go of before the peer has spoken over the one in use: the peer may have sent all
//! that it had to send over the other, and left. So one that stands aside is taken when the one in use ends.

use super::intake::Unfinished;
use super::pipe::Pipe;
use super::registered::{Data, Serving};
use super::unreceived::Outgoing;
use crate::transport::network::framing::Head;
use crate::transport::network::{Credits, LAUNCHERS_TURN};
use crate::JobRank;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// Bytes that wait to be sent, at most, and bytes that a peer has not said it has received.
const UNSENT: usize = 128 << 10;
const KEPT: usize = 512 << 10;
/// A peer is told how much has been received after so many frames or bytes, if no frame to it tells.
const UNTOLD_FRAMES: u64 = 512;
const UNTOLD_BYTES: usize = 64 << 10;
/// The same when nothing else is to be done: so much may stay with a peer at rest.
const UNTOLD_AT_REST: usize = 2 << 10;
/// A peer that cannot be reached any more for so long is lost, although nobody has said that it is gone.
const OUT_OF_REACH: Duration = Duration::from_secs(60);
/// The same of a peer that has never been reached: nothing is on its way to it, and there may never be a way.
const NEVER_REACHED: Duration = Duration::from_secs(20);

/// Why a peer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It has ended without leave.
    Gone,
    /// Nothing has answered for so many seconds.
    OutOfReach(u64),
    /// It seals its connections and this rank does not, or the other way round.
    Unlike,
}

/// How far the connection to a peer is.
#[derive(Debug, Default)]
#[allow(clippy::large_enum_variant)] // some 200 bytes for a peer that is talked to
pub enum State {
    /// There is none, and none is needed.
    #[default]
    Idle,
    /// The porter has been asked for one.
    Asked,
    /// It is there.
    Up(Connection),
}

/// A connection whose ends are proven.
#[derive(Debug)]
pub struct Connection {
    /// Its socket.
    pub pipe: Pipe,
    /// This rank has made it.
    pub is_mine: bool,
    /// It is known which frame goes first.
    pub may_send: bool,
    /// It has something when there is room.
    pub wants_room: bool,
    /// The peer has said something over it.
    pub has_spoken: bool,
    /// The peer has made another connection, as if this one were not there, and has said nothing here since.
    is_doubted: bool,
    /// The beginning of what has not come whole.
    pub unfinished: Unfinished,
    /// Frames that are not numbered and go before all others.
    pub urgent: Vec<u8>,
    /// A frame of data that is being sent.
    pub data: Option<Data>,
}

impl Connection {
    /// A new connection. Without `may_send` the peer's first frame tells what goes first.
    pub fn new(pipe: Pipe, is_mine: bool, may_send: bool) -> Connection {
        Connection {
            pipe,
            is_mine,
            may_send,
            wants_room: false,
            has_spoken: false,
            is_doubted: false,
            unfinished: Unfinished::default(),
            urgent: Vec::new(),
            data: None,
        }
    }
}

/// A connection whose ends are proven, and that is not in use.
#[derive(Debug)]
pub struct Aside {
    /// Its socket.
    pub pipe: Pipe,
    /// This rank has made it.
    pub is_mine: bool,
    /// It is that of the lower rank.
    pub is_of_lower: bool,
}

/// What becomes of a new connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Use {
    /// It is used from now on, and the one before is given up.
    Now,
    /// It stands aside.
    Aside { is_of_lower: bool },
}

/// What a rank knows of a peer.
#[derive(Debug)]
pub struct Link {
    /// Who it is.
    pub peer: JobRank,
    /// The connection.
    pub state: State,
    /// Frames to it.
    pub outgoing: Outgoing,
    /// Memory that it has asked for.
    pub serving: VecDeque<Serving>,
    /// Long payloads on their way.
    pub credits: Credits,
    /// Numbered frames that have come.
    pub received: u64,
    /// Of those, how many the peer has been told of; and bytes of those that it has not.
    told: u64,
    untold_bytes: usize,
    /// Another connection, made at the same time as the one in use.
    pub aside: Option<Aside>,
    /// There has been a connection.
    pub was_up: bool,
    /// It waits in the list of those that have to be told something.
    pub is_owing: bool,
    /// Since when it is known to have failed, in a job that goes on.
    pub failed_since: Option<Instant>,
    /// It has failed, and nothing comes from it or goes to it any more.
    pub is_parted: bool,
    /// Since when it cannot be reached, and whether its system says that nobody listens.
    unreachable: Option<(Instant, bool)>,
    is_given_up: bool,
    /// It seals its connections and this rank does not, or the other way round.
    pub is_unlike: bool,
}

impl Link {
    /// To a peer of whom nothing has been heard.
    pub fn new(peer: JobRank) -> Link {
        Link {
            peer,
            state: State::Idle,
            outgoing: Outgoing::default(),
            serving: VecDeque::new(),
            credits: Credits::default(),
            received: 0,
            told: 0,
            untold_bytes: 0,
            aside: None,
            was_up: false,
            is_owing: false,
            failed_since: None,
            is_parted: false,
            unreachable: None,
            is_given_up: false,
            is_unlike: false,
        }
    }

    /// Whether there is room for one more frame.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.outgoing.unsent() < UNSENT && self.outgoing.kept() < KEPT
    }

    /// A head that tells how much has been received.
    #[inline]
    pub fn telling(&mut self, head: Head) -> Head {
        (self.told, self.untold_bytes) = (self.received, 0);
        Head { received: self.received as u16, ..head }
    }

    /// A numbered frame has come. Whether the peer should be told soon how much has.
    #[inline]
    pub fn count(&mut self, bytes: usize) -> bool {
        self.received += 1;
        self.untold_bytes += bytes;
        self.received - self.told >= UNTOLD_FRAMES || self.untold_bytes >= UNTOLD_BYTES
    }

    /// Whether the peer should be told when nothing else is to be done.
    #[inline]
    pub fn owes_word(&self) -> bool {
        self.untold_bytes >= UNTOLD_AT_REST
    }

    /// What becomes of a new connection, which this rank has made or the peer; of the two it is the lower one or not.
    pub fn use_of(&mut self, is_lower: bool, is_mine: bool) -> Use {
        let State::Up(connection) = &mut self.state else { return Use::Now };
        let is_of_lower = is_mine == is_lower;
        if is_mine == connection.is_mine {
            return Use::Now;
        }
        // If the peer makes one more, it does not have the one in use.
        match !is_of_lower && !is_mine && std::mem::replace(&mut connection.is_doubted, true) {
            true => Use::Now,
            false => Use::Aside { is_of_lower },
        }
    }

    /// The peer has said something over the connection in use: it uses the same one.
    pub fn is_heard(&mut self) {
        if let State::Up(connection) = &mut self.state {
            (connection.is_doubted, connection.has_spoken) = (false, true);
        }
        self.aside = None;
    }

    /// The connection that stands aside, if the peer uses it now. One that has come to its end is let go of.
    pub fn aside_in_use(&mut self) -> Option<Aside> {
        let aside = self.aside.as_ref().filter(|aside| aside.is_of_lower)?;
        match aside.pipe.socket().peek(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Ok(1..) => self.aside.take(),
            _ => {
                self.aside = None;
                None
            }
        }
    }

    /// It could not be reached; `nobody_listens` if its system says so. It is lost then, `at_once` or a little later.
    pub fn is_out_of_reach(&mut self, nobody_listens: bool, at_once: bool) {
        self.is_given_up |= nobody_listens && at_once;
        let (since, said) = self.unreachable.unwrap_or((Instant::now(), false));
        self.unreachable = Some((since, said || nobody_listens));
    }

    /// It has been reached.
    pub fn is_reached(&mut self) {
        (self.unreachable, self.is_given_up) = (None, false);
    }

    /// Whether it is gone without having taken leave, once a launcher has had time to end the job.
    pub fn is_lost(&self) -> bool {
        self.loss().is_some()
    }

    /// Why it is lost, if it is.
    pub fn loss(&self) -> Option<Loss> {
        if self.is_unlike {
            return Some(Loss::Unlike);
        }
        let (since, nobody_listens) = self.unreachable.filter(|_| !self.credits.leaves())?;
        let longest = match (nobody_listens, self.was_up) {
            (true, _) => LAUNCHERS_TURN,
            (false, true) => OUT_OF_REACH,
            (false, false) => NEVER_REACHED,
        };
        let is_lost = self.is_given_up || since.elapsed() >= longest;
        is_lost.then_some(match nobody_listens || self.is_given_up {
            true => Loss::Gone,
            false => Loss::OutOfReach(longest.as_secs()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn connection(is_mine: bool) -> State {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        State::Up(Connection::new(Pipe::new(socket, None), is_mine, true))
    }

    #[test]
    fn a_connection_that_the_peer_does_not_have_gives_way() {
        let mut link = Link::new(JobRank(8));
        link.state = connection(true);
        let aside = Use::Aside { is_of_lower: false };
        assert_eq!(link.use_of(true, false), aside);
        link.is_heard();
        assert_eq!(link.use_of(true, false), aside, "it is alive");
        assert_eq!(link.use_of(true, false), Use::Now, "the peer makes one more");
        link.state = connection(false);
        assert_eq!(link.use_of(true, false), Use::Now, "it has lost the one that it has made");
    }

    #[test]
    fn a_peer_that_took_leave_is_not_lost() {
        let mut link = Link::new(JobRank(1));
        link.is_out_of_reach(true, false);
        assert!(!link.is_lost(), "the launcher's turn");
        std::thread::sleep(LAUNCHERS_TURN);
        assert!(link.is_lost());
        link.credits.tells(crate::transport::network::LEAVE);
        assert!(!link.is_lost());
        let mut link = Link::new(JobRank(1));
        link.is_out_of_reach(false, true);
        assert!(!link.is_lost(), "it may listen");
        link.is_out_of_reach(true, true);
        assert!(link.is_lost());
    }
}
