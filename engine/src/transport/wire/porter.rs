//! The porter of a rank: a thread that makes connections and lets those in that prove themselves.
//!
//! A rank that computes makes no progress, and would keep its peers waiting outside; strangers that knock would keep
//! a rank from its work. So a thread of each rank does all that comes before the first frame, and hands connections
//! that are proven to the lanes. It sleeps until somebody connects or a lane asks it to. A job on one node has none.
//!
//! # Rules
//! The porter alone has listeners, strangers and dials. Lanes put requests into a list and write to a descriptor
//! that the porter waits for. The porter puts what has come of them into another list, then says so in a word of
//! that lane, and then rings. Nobody takes a lock while holding one of these lists.

use super::dialling::{Answer, Dial, Dialled};
use super::handing_over::Hatch;
use super::handshake::Identity;
use super::pipe::Pipe;
use super::proofs::PROOF_BYTES;
use super::reception::{Proven, Reception, LISTENERS};
use super::silences::Silences;
use super::tcp;
use crate::job::node_segment::ALL_LANES;
use crate::progress::Doorbell;
use crate::transport::network::{refused, without_signals, WaitSet};
use crate::{Class, Error, JobRank, Result};
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Names in the set: the lanes' descriptor, the hatch; dials are counted from the last one on, strangers from 1.
const REQUESTS: u64 = u64::MAX;
const HATCH: u64 = u64::MAX - 1;
const DIALS: u64 = 1 << 62;

/// A connection for a rank that does not take it yet is tried again after a while, and given up in the end.
const AGAIN: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(2);
/// Such connections, at most.
const UNDELIVERED: usize = 64;

/// What a lane wants.
#[derive(Debug)]
enum Request {
    /// A connection to the same lane of a peer, not before this time.
    Connect(JobRank, usize, Instant),
    /// That the porter goes home.
    End,
}

/// What has come of it, or by itself.
#[derive(Debug)]
pub enum Outcome {
    /// A connection to a peer, and whether this rank has made it.
    Connected(JobRank, Pipe, bool),
    /// A peer cannot be reached now; whether its system says that nobody listens, and whether the launcher has that in hand.
    Failed(JobRank, bool, bool),
    /// A peer seals its connections and this rank does not, or the other way round: there will be none.
    Unlike(JobRank),
}

/// What lanes and porter share.
#[derive(Debug)]
pub struct Porter {
    me: Identity,
    doorbell: &'static Doorbell,
    requests: Mutex<Vec<Request>>,
    descriptor: OwnedFd,
    outcomes: [Mutex<Vec<Outcome>>; ALL_LANES],
    waiting: [AtomicU32; ALL_LANES],
    /// Of lanes that somebody else than the rank waits in.
    others: [OnceLock<&'static Doorbell>; ALL_LANES],
    refused: AtomicU64,
}

impl Porter {
    /// Begins to listen for the rank that sleeps at `doorbell`.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn begin(me: Identity, doorbell: &'static Doorbell) -> Result<Arc<Porter>> {
        // SAFETY: no memory is involved.
        let raw = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if raw < 0 {
            return Err(refused("eventfd", &io::Error::last_os_error()));
        }
        // SAFETY: the system has just made it for us.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        let set = WaitSet::new()?;
        let opened = || {
            set.add(descriptor.as_raw_fd(), REQUESTS)?;
            let hatch = Hatch::open(&me)?;
            set.add(hatch.raw(), HATCH)?;
            Ok((hatch, Reception::new(me, &set)?))
        };
        let (hatch, reception) = opened().map_err(|error| refused("listening", &error))?;
        let porter = Arc::new(Porter {
            me,
            doorbell,
            requests: Mutex::default(),
            descriptor,
            outcomes: Default::default(),
            waiting: Default::default(),
            others: Default::default(),
            refused: AtomicU64::new(0),
        });
        let work = Work {
            porter: Arc::clone(&porter),
            set,
            hatch,
            reception,
            undelivered: Vec::new(),
            silences: Silences::default(),
            dials: Vec::new(),
            last: DIALS,
        };
        match without_signals("porter", move || work.run()) {
            Some(_) => Ok(porter),
            None => Err(Error::new(Class::NoMem, "the network between nodes: no thread can be made")),
        }
    }

    /// Who this rank is.
    pub fn me(&self) -> &Identity {
        &self.me
    }

    /// Where the rank sleeps.
    pub fn doorbell(&self) -> &'static Doorbell {
        self.doorbell
    }

    /// Whoever waits in a lane sleeps at another doorbell.
    pub fn ring_at(&self, lane: usize, doorbell: &'static Doorbell) {
        let _ = self.others[lane].set(doorbell);
    }

    /// Connections that were refused or shut out so far.
    #[cfg(test)]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Asks for a connection from a lane to the same lane of a peer, not before a time.
    pub fn connect(&self, peer: JobRank, lane: usize, at: Instant) {
        self.ask(Request::Connect(peer, lane, at));
    }

    /// Takes no connections any more.
    pub fn end(&self) {
        self.ask(Request::End);
    }

    fn ask(&self, request: Request) {
        lock(&self.requests).push(request);
        let one = 1_u64;
        // SAFETY: eight bytes are read. It fails only if the porter has been told often enough.
        unsafe { libc::write(self.descriptor.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Whether there is something for a lane.
    #[inline]
    pub fn has_for(&self, lane: usize) -> bool {
        self.waiting[lane].load(Ordering::SeqCst) != 0
    }

    /// Takes what there is for a lane.
    pub fn take(&self, lane: usize) -> Vec<Outcome> {
        if !self.has_for(lane) {
            return Vec::new();
        }
        self.waiting[lane].store(0, Ordering::SeqCst);
        std::mem::take(&mut lock(&self.outcomes[lane]))
    }

    fn give(&self, lane: usize, outcome: Outcome) {
        lock(&self.outcomes[lane]).push(outcome);
        self.waiting[lane].store(1, Ordering::SeqCst);
        self.others[lane].get().unwrap_or(&self.doorbell).ring();
    }
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the node of a peer listens.
fn addresses_of(me: &Identity, peer: JobRank) -> Result<Vec<SocketAddr>> {
    let card = me.directory.card(me.directory.place_of(peer).0)?;
    Ok(card.addresses.iter().map(|address| SocketAddr::new(address.ip, card.port)).collect())
}

/// What the porter has in hand.
struct Work {
    porter: Arc<Porter>,
    set: WaitSet,
    hatch: Hatch,
    reception: Reception,
    /// Connections for other ranks of the node, and since when they wait.
    undelivered: Vec<(Proven, Instant)>,
    dials: Vec<Calling>,
    /// Connections that were let go of.
    silences: Silences,
    /// The name that was given last to a dial.
    last: u64,
}

/// A peer that a lane wants.
struct Calling {
    name: u64,
    peer: JobRank,
    lane: usize,
    /// When it is to be gone on with at the latest, if at any time.
    at: Option<Instant>,
    dial: Option<Dial>,
}

impl Work {
    fn run(mut self) {
        loop {
            let wakes = self.dials.iter().filter_map(|one| one.at);
            let delivers = self.undelivered.first().map(|_| Instant::now() + AGAIN);
            let wakes = wakes
                .chain(self.reception.shut_out_the_slow())
                .chain(delivers)
                .chain(self.silences.looks_at())
                .min();
            self.porter.refused.store(self.reception.refused(), Ordering::Relaxed);
            for ready in self.set.wait(wakes) {
                match ready.name {
                    REQUESTS if self.hear_requests() => return,
                    REQUESTS => {}
                    HATCH => {
                        while let Some(proven) = self.hatch.take(&self.porter.me) {
                            self.let_in(proven);
                        }
                    }
                    name if (DIALS..LISTENERS).contains(&name) => {
                        let dialled = self.dials.iter_mut().filter(|one| one.name == name);
                        dialled.for_each(|one| one.at = Some(Instant::now()));
                    }
                    name => {
                        for proven in self.reception.look(name, &self.set) {
                            self.let_in(proven);
                        }
                    }
                }
            }
            self.dial_those_due();
            self.silences.look(&self.porter.me);
            for (proven, since) in std::mem::take(&mut self.undelivered) {
                self.deliver(proven, since);
            }
        }
    }

    /// A connection is proven.
    fn let_in(&mut self, proven: Proven) {
        // Who it is for may seal as the peer does; but then not all ranks of this node do alike.
        if proven.is_unlike {
            return self.porter.give(proven.wanted.lane, Outcome::Unlike(proven.wanted.from));
        }
        if proven.wanted.to != self.porter.me.rank {
            return self.deliver(proven, Instant::now());
        }
        let Proven { wanted, socket, keys, .. } = proven;
        let pipe = Pipe::new(socket, keys.as_ref());
        self.silences.is_connected(&self.porter.me, wanted.from, &pipe);
        self.porter.give(wanted.lane, Outcome::Connected(wanted.from, pipe, false));
    }

    /// Hands a connection to another rank of the node.
    fn deliver(&mut self, proven: Proven, since: Instant) {
        if self.porter.me.directory.has_failed(proven.wanted.to) {
            return;
        }
        let given = self.hatch.give(&self.porter.me, &proven);
        if given.is_err() && since.elapsed() < PATIENCE && self.undelivered.len() < UNDELIVERED {
            self.undelivered.push((proven, since));
        }
    }

    fn dial_those_due(&mut self) {
        let now = Instant::now();
        let mut index = 0;
        while let Some(one) = self.dials.get(index) {
            if one.at.is_some_and(|at| at <= now) && self.go_on(index) {
                self.dials.swap_remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Hears what lanes want; whether it is to go home.
    fn hear_requests(&mut self) -> bool {
        let mut times = 0_u64;
        // SAFETY: `times` has room for the eight bytes.
        unsafe { libc::read(self.porter.descriptor.as_raw_fd(), (&raw mut times).cast(), 8) };
        for request in std::mem::take(&mut *lock(&self.porter.requests)) {
            let Request::Connect(peer, lane, at) = request else { return true };
            if !self.dials.iter().any(|one| one.peer == peer && one.lane == lane) {
                self.last += 1;
                self.dials.push(Calling { name: self.last, peer, lane, at: Some(at), dial: None });
            }
        }
        false
    }

    /// Goes on with a peer that a lane wants; whether it has come to an end.
    fn go_on(&mut self, index: usize) -> bool {
        let Calling { name, peer, lane, at, dial } = &mut self.dials[index];
        let (peer, lane) = (*peer, *lane);
        let dial = dial.get_or_insert_with(|| {
            // Without an address it counts as out of reach, and the lane asks again.
            Dial::new(peer, lane, addresses_of(&self.porter.me, peer).unwrap_or_default())
        });
        let me = &self.porter.me;
        let outcome = match dial.go_on(me, &self.set, *name) {
            Dialled::Pending(wakes) => {
                *at = wakes;
                return false;
            }
            // Also one that is unlike is told the last word, and thereby what this rank does.
            Dialled::Answered(socket, Answer { proof, is_unlike: true, .. }) => {
                self.prove(&socket, &proof);
                Outcome::Unlike(peer)
            }
            Dialled::Answered(socket, answer) if self.prove(&socket, &answer.proof) => {
                let pipe = Pipe::new(socket, answer.keys.as_ref());
                self.silences.is_connected(me, peer, &pipe);
                Outcome::Connected(peer, pipe, true)
            }
            ended => {
                let nobody_listens = matches!(ended, Dialled::Refused);
                Outcome::Failed(peer, nobody_listens, self.silences.has_failed(me, peer, nobody_listens))
            }
        };
        self.porter.give(lane, outcome);
        true
    }

    /// Says the last word of the handshake, and lets a connection go.
    fn prove(&self, socket: &TcpStream, proof: &[u8; PROOF_BYTES]) -> bool {
        let sent = tcp::send(socket, &[IoSlice::new(proof)]);
        self.set.remove(socket.as_raw_fd()).is_ok() && sent.is_ok_and(|bytes| bytes == proof.len())
    }
}
