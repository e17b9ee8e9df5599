//! What a rank has asked servers of other nodes for: a line for each member of each exposure, of messages that are under way and
//! one that is held (`deferred`).

use super::block::Block;
use super::request::Request;
use crate::engine::server::{body_of, UnderWay};
use crate::onesided::{Ask, Lock, Locking, Servant, HEAD_BYTES, MOST_BYTES};
use crate::{Class, Error, JobRank, Result};
use std::collections::{BTreeMap, VecDeque};

/// The most messages of a line under way.
const MOST_SENT: usize = 16;
/// The most bytes of all lines under way: whoever asks for more waits.
pub(super) const MOST_UNDER_WAY: usize = 4 << 20;
/// The most bytes of requests that are held together.
const MOST_HELD: usize = MOST_BYTES as usize;

/// A rank that is asked, and the context of an exposure.
pub(super) type Key = (JobRank, u64);
/// Own memory into which an answer goes: address and bytes.
pub(super) type Place = (usize, usize);

pub(super) fn key_of(servant: Servant) -> Key {
    (servant.job_rank, servant.context)
}

/// All lines.
#[derive(Default)]
pub(super) struct Lines {
    pub of: BTreeMap<Key, Line>,
    pub bytes: usize,
    /// Numbers grow from message to message; this is the last that one may have got.
    last: u64,
}

/// What a member has been asked for.
pub(super) struct Line {
    pub servant: Servant,
    pub held: Option<Message>,
    pub sent: VecDeque<(UnderWay, Message)>,
    pub failed: Option<Error>,
    /// What is still to be said of the lock under which all this is done.
    pub lock: Option<LineLock>,
}

/// Requests that go together.
pub(super) struct Message {
    /// Among all of this rank.
    pub number: u64,
    /// Gone when it is sent.
    pub body: Vec<u8>,
    pub bytes: usize,
    /// What is done with the lock of the member.
    pub locking: Locking,
    /// It has no request.
    pub is_empty: bool,
    /// Where the answers go, one behind the other.
    places: Vec<Place>,
    pub answer: usize,
    /// It is a block that goes whole.
    pub block: Option<Block>,
    /// Memory of the origin is used until it is over, even without an answer.
    pub lends: bool,
}

/// What is still to be said of the lock of a line.
#[derive(Clone, Debug)]
pub(super) enum LineLock {
    /// It goes with the next message.
    Wanted(Lock),
    /// A message that asks for it is under way. `true`: what is held leaves as soon as it is granted.
    AskedFor(bool),
    /// It could not be had.
    NotHad(Error),
}

impl Message {
    pub fn new(servant: Servant, number: u64) -> Message {
        let locking = Locking::default();
        let body = body_of(servant, Ask::Several(locking), &[]);
        let bytes = body.len();
        let (places, is_empty) = (Vec::new(), true);
        Message { number, bytes, body, locking, is_empty, places, answer: 0, block: None, lends: false }
    }

    pub fn has_room(&self, data: usize, answer: usize) -> bool {
        self.body.len() + HEAD_BYTES + data <= MOST_HELD && self.answer + answer <= MOST_HELD
    }

    pub fn add(&mut self, request: &Request, places: impl Iterator<Item = Place>) {
        request.ask.record(request.bytes, request.add, &mut self.body);
        (self.bytes, self.is_empty) = (self.body.len(), false);
        for (at, bytes) in places {
            self.answer += bytes;
            match self.places.last_mut() {
                Some(last) if last.0 + last.1 == at => last.1 += bytes,
                _ => self.places.push((at, bytes)),
            }
        }
    }

    /// Whether memory of the origin is used until it is over.
    pub fn uses_origin(&self) -> bool {
        self.answer > 0 || self.lends
    }

    /// Stores the answers where they belong; `false`: they are of another length.
    pub fn deliver(&self, answer: &[u8]) -> bool {
        let fits = answer.len() == self.answer;
        if fits {
            // SAFETY: whoever asked has lent these bytes until it settles.
            unsafe { store(&self.places, answer) };
        }
        fits
    }

    /// Why it could not be done. A lock that cannot be given back, as its owner has failed, is gone.
    pub fn failed(&self, error: Error) -> Option<Error> {
        let only_gives = self.locking.give.is_some() && self.is_empty;
        Some(error).filter(|error| !(only_gives && error.class() == Class::ProcFailed))
    }
}

/// Stores an answer, which is as long as all places together.
///
/// # Safety
/// The places can be written.
pub(super) unsafe fn store(places: &[Place], mut answer: &[u8]) {
    for &(at, bytes) in places {
        let (piece, rest) = answer.split_at(bytes);
        // SAFETY: by the caller.
        unsafe { std::ptr::copy(piece.as_ptr(), at as *mut u8, bytes) };
        answer = rest;
    }
}

impl Lines {
    pub fn line(&mut self, servant: Servant) -> &mut Line {
        let new = || Line { servant, held: None, sent: VecDeque::new(), failed: None, lock: None };
        self.of.entry(key_of(servant)).or_insert_with(new)
    }

    /// The number of a new message.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The message that a line holds.
    pub fn held(&mut self, servant: Servant) -> &mut Message {
        let number = self.number();
        self.line(servant).held.get_or_insert_with(|| Message::new(servant, number))
    }

    /// What has to end before a member is asked for more.
    pub fn in_the_way(&self, servant: Servant, (data, answer): (usize, usize)) -> Option<UnderWay> {
        let is_full = |line: &&Line| {
            line.sent.len() >= MOST_SENT || line.awaits_lock() && line.has_no_room(data, answer)
        };
        let first = match self.bytes > MOST_UNDER_WAY {
            true => self.of.values().find_map(|line| line.sent.front()),
            false => self.of.get(&key_of(servant)).filter(is_full)?.sent.front(),
        };
        first.map(|sent| sent.0.clone())
    }

    /// Whether a member may be asked for something.
    ///
    /// # Errors
    /// Why its lock could not be had.
    pub fn check_lock(&self, key: Key) -> Result<()> {
        match self.of.get(&key).and_then(|line| line.lock.as_ref()) {
            Some(LineLock::NotHad(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

impl Line {
    /// Whether nothing can leave before a lock is granted.
    pub fn awaits_lock(&self) -> bool {
        matches!(self.lock, Some(LineLock::AskedFor(_)))
    }

    /// Whether the message that is held has no room for data and an answer of so many bytes.
    pub fn has_no_room(&self, data: usize, answer: usize) -> bool {
        self.held.as_ref().is_some_and(|held| !held.has_room(data, answer))
    }

    /// Whether it can be forgotten.
    pub fn is_over(&self) -> bool {
        self.sent.is_empty() && self.held.is_none() && self.lock.is_none()
    }

    /// What is held, if it may leave now; with the lock, if that is wanted.
    pub fn take_held(&mut self) -> Option<Message> {
        match &mut self.lock {
            Some(LineLock::AskedFor(leaves_then)) => {
                *leaves_then = self.held.is_some();
                return None;
            }
            Some(LineLock::NotHad(_)) => return None,
            _ => {}
        }
        let mut message = self.held.take()?;
        if let Some(LineLock::Wanted(kind)) = self.lock {
            message.locking.take = Some(kind);
            self.lock = Some(LineLock::AskedFor(false));
        }
        Some(message)
    }

    /// Whether answers are still to come, or something could not be done, perhaps one of these.
    pub fn has_answers(&self) -> bool {
        self.failed.is_some()
            || self.held.iter().chain(self.sent.iter().map(|sent| &sent.1)).any(Message::uses_origin)
    }
}
