//! The wire between processes: a local socket for each direction between two ranks, made when the first
//! frame is sent. A sender connects to the name under which the receiver listens and says who it is. All
//! that is left of a rank that ends is the end of its connections, by which its peers notice.

use super::carrier::{Came, Sent, Wire};
use super::frame::{Frame, Head, HEAD_BYTES, LONGEST};
use super::socket;
use crate::memory::system_calls;
use crate::progress::Doorbell;
use crate::transport::network::{refused, Questions, WaitSet};
use crate::transport::Ready;
use crate::{Class, Error, JobRank, Result};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Of the set: the listener.
const LISTENER: u64 = u64::MAX;
/// The same: added to the rank of a peer that is sent to. Others are places in the list of senders.
const OUTGOING: u64 = 1 << 32;

/// The name under which a rank listens: a secret of the job and no name in a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// A name that nobody has.
    pub fn random() -> Name {
        let mut bytes = [0u8; 16];
        system_calls::random(&mut bytes, 0);
        Name(format!("{:032x}", u128::from_ne_bytes(bytes)))
    }

    /// As it is published.
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// As it was published; `None` if that is none.
    pub fn from_text(text: &str) -> Option<Name> {
        let is_one = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| Name(text.to_owned()))
    }

    pub(super) fn of_lane(&self, lane: usize) -> String {
        format!("serried-loopback-{}-{lane}", self.0)
    }
}

/// A connection by which frames come.
#[derive(Debug)]
struct Sender {
    socket: OwnedFd,
    /// Who it is, once it has said so.
    rank: Option<JobRank>,
}

/// A connection by which frames go.
#[derive(Debug)]
enum Receiver {
    /// Nothing has been sent so far.
    Unknown,
    /// It is there.
    Open(OwnedFd),
    /// It is gone.
    Closed,
}

/// The sockets of a lane of a rank.
#[derive(Debug)]
pub struct Sockets {
    me: JobRank,
    lane: usize,
    /// By job rank.
    names: Arc<[Name]>,
    listener: OwnedFd,
    sockets: &'static Asked,
    doorbell: &'static Doorbell,
    senders: Vec<Option<Sender>>,
    /// By job rank.
    receivers: Vec<Receiver>,
    came: VecDeque<Came>,
    /// Where frames are received.
    place: Box<[u8]>,
}

/// The sockets, and how often they have been asked whether one has something.
#[derive(Debug)]
struct Asked {
    set: WaitSet,
    questions: Questions,
}

impl Ready for Asked {
    fn is_ready(&self) -> bool {
        self.questions.ask() && self.set.poll(false)
    }
}

/// A rank that listens, before it knows the names of the others.
#[derive(Debug)]
pub struct Listening {
    name: Name,
    listener: OwnedFd,
}

impl Listening {
    /// The name to be published.
    pub fn name(&self) -> &Name {
        &self.name
    }
}

impl Sockets {
    /// Listens under a new name.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn listen() -> Result<Listening> {
        let name = Name::random();
        let listener = socket::listen(&name.of_lane(0)).map_err(|error| refused("listen", &error))?;
        Ok(Listening { name, listener })
    }

    /// The sockets of the first lane of rank `me`, which sleeps at `doorbell`. `names` are those of all ranks of
    /// the job, which listen by now.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(
        me: JobRank,
        listening: Listening,
        names: Arc<[Name]>,
        doorbell: &'static Doorbell,
    ) -> Result<Sockets> {
        Sockets::of_lane(me, 0, listening.listener, names, doorbell)
    }

    fn of_lane(
        me: JobRank,
        lane: usize,
        listener: OwnedFd,
        names: Arc<[Name]>,
        doorbell: &'static Doorbell,
    ) -> Result<Sockets> {
        let asked = Asked { set: WaitSet::new()?, questions: Questions::default() };
        let added = asked.set.add(listener.as_raw_fd(), LISTENER);
        added.map_err(|error| refused("epoll_ctl", &error))?;
        let sockets: &'static Asked = Box::leak(Box::new(asked));
        let receivers = names.iter().map(|_| Receiver::Unknown).collect();
        let place = vec![0; HEAD_BYTES + LONGEST + 1].into_boxed_slice();
        let (senders, came) = (Vec::new(), VecDeque::new());
        Ok(Sockets { me, lane, names, listener, sockets, doorbell, senders, receivers, came, place })
    }

    /// Connects to a peer, and says who this rank is.
    fn connect(&mut self, peer: JobRank) -> Result<()> {
        let name = self.names[peer.index()].of_lane(self.lane);
        let open = || {
            let socket = socket::connect(&name)?;
            socket::send(&socket, &[&self.me.0.to_le_bytes()])?;
            self.sockets.set.add_silent(socket.as_raw_fd(), OUTGOING + u64::from(peer))?;
            Ok(socket)
        };
        self.receivers[peer.index()] = match open() {
            Ok(socket) => Receiver::Open(socket),
            // A full queue of connections: try again later.
            Err(error) if is_full(&error) => Receiver::Unknown,
            Err(error) if is_end(&error) => Receiver::Closed,
            Err(error) => return Err(cannot_connect(peer, &error)),
        };
        Ok(())
    }

    /// Takes what the sockets have now; `false` if they have nothing.
    fn look(&mut self) -> bool {
        let mut has_something = false;
        for ready in self.sockets.set.ready() {
            has_something = true;
            match ready.name {
                LISTENER => self.accept(),
                OUTGOING.. => {
                    // Its room may have been wanted, or it has come to its end.
                    let peer = JobRank((ready.name - OUTGOING) as u32);
                    if !self.is_open(peer) {
                        self.receivers[peer.index()] = Receiver::Closed;
                        self.came.push_back(Came::End(peer));
                    }
                }
                index => self.take_from(index as usize),
            }
        }
        has_something
    }

    /// Takes all connections that wait.
    fn accept(&mut self) {
        while let Some(socket) = socket::accept(&self.listener) {
            let free = self.senders.iter().position(Option::is_none);
            let index = free.unwrap_or(self.senders.len());
            if self.sockets.set.add(socket.as_raw_fd(), index as u64).is_ok() {
                let sender = Some(Sender { socket, rank: None });
                match self.senders.get_mut(index) {
                    Some(place) => *place = sender,
                    None => self.senders.push(sender),
                }
            }
        }
    }

    /// Takes one frame of a sender. One that says what no rank says is shut out.
    fn take_from(&mut self, index: usize) {
        let Some(Some(sender)) = self.senders.get_mut(index) else { return };
        let Some(bytes) = socket::receive(&sender.socket, &mut self.place) else { return };
        let said = &self.place[..bytes];
        let came = match sender.rank {
            None => match said.try_into().map(u32::from_le_bytes) {
                Ok(rank) if (rank as usize) < self.receivers.len() => {
                    sender.rank = Some(JobRank(rank));
                    return;
                }
                _ => None,
            },
            Some(rank) => Some(read(said).map_or(Came::End(rank), |frame| Came::Frame(rank, frame))),
        };
        if !matches!(came, Some(Came::Frame(..))) {
            self.senders[index] = None;
        }
        self.came.extend(came);
    }
}

/// A frame as it was sent; `None` if it is none, which the end of a connection is not either.
fn read(said: &[u8]) -> Option<Frame> {
    let (head, payload) = said.split_first_chunk::<HEAD_BYTES>()?;
    (payload.len() <= LONGEST).then_some(())?;
    Some(Frame::new(Head::read(head)?, payload))
}

impl Wire for Sockets {
    fn send(&mut self, peer: JobRank, head: &Head, payload: &[u8]) -> Result<Sent> {
        if let Receiver::Unknown = self.receivers[peer.index()] {
            self.connect(peer)?;
        }
        let socket = match &self.receivers[peer.index()] {
            Receiver::Open(socket) => socket,
            Receiver::Unknown => return Ok(Sent::NoRoom),
            Receiver::Closed => return Ok(Sent::Gone),
        };
        match socket::send(socket, &[&head.write(), payload]) {
            Ok(()) => Ok(Sent::Away),
            Err(error) if is_full(&error) => Ok(Sent::NoRoom),
            Err(_) => {
                self.receivers[peer.index()] = Receiver::Closed;
                Ok(Sent::Gone)
            }
        }
    }

    fn receive(&mut self) -> Option<Came> {
        if let Some(came) = self.came.pop_front() {
            return Some(came);
        }
        // A new connection says first who it is: so its first frame needs several looks.
        while self.came.is_empty() && self.look() {}
        self.came.pop_front()
    }

    fn want_room(&mut self, peer: JobRank) {
        if let Receiver::Open(socket) = &self.receivers[peer.index()] {
            // If it is refused, the sleep ends after its limit.
            let _ = self.sockets.set.want_room(socket.as_raw_fd(), OUTGOING + u64::from(peer));
        }
    }

    fn ready(&self) -> &'static dyn Ready {
        self.sockets
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.sockets.set.raw())
    }

    fn doorbell(&self) -> &'static Doorbell {
        self.doorbell
    }

    fn beside(&self, lane: usize) -> Result<Box<dyn Wire>> {
        let name = self.names[self.me.index()].of_lane(lane);
        let listener = socket::listen(&name).map_err(|error| refused("listen", &error))?;
        let names = Arc::clone(&self.names);
        Ok(Box::new(Sockets::of_lane(self.me, lane, listener, names, self.doorbell)?))
    }
}

impl Sockets {
    /// Whether the other end of the connection to a peer is there.
    fn is_open(&self, peer: JobRank) -> bool {
        let Receiver::Open(socket) = &self.receivers[peer.index()] else { return false };
        let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: `poll` is valid during the call.
        unsafe { libc::poll(&raw mut poll, 1, 0) };
        poll.revents & (libc::POLLHUP | libc::POLLERR) == 0
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM))
}

fn is_end(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ECONNREFUSED | libc::EPIPE | libc::ECONNRESET))
}

#[cold]
fn cannot_connect(peer: JobRank, error: &io::Error) -> Error {
    let message = format!(
        "SERRIED_TRANSPORT=loopback: rank {peer} cannot be reached by a local socket: {error}; all ranks have to be \
         on one machine, in one network name space, and of one user"
    );
    Error::new(Class::Other, message)
}
