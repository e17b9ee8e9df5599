//! What ranks of this node have asked of other nodes, by the node that is asked.
//!
//! A node has at most a *window* of requests under way to one target; others are held back here, in order. So what one
//! origin can park in others is bounded, and a hot target slows down those who want it.

use super::outgoing::Link;
use super::{Asked, Kind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How the origin learns that a request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ends {
    /// The target says up to which number all are.
    ByCount,
    /// By an answer of its own.
    ByAnswer,
    /// It need not know.
    Unseen,
}

/// A request under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Its number.
    pub sequence: u64,
    /// What the outside knows it by.
    pub ticket: u64,
    /// Job rank of the one who asks.
    pub rank: u32,
    /// How it ends.
    pub ends: Ends,
    /// The link whose credit comes back with its answer.
    pub credit: Option<Link>,
}

/// What is under way to one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair {
    requests: VecDeque<Request>,
    held: VecDeque<Asked>,
}

/// All pairs of this node that are active.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnderWay {
    pairs: BTreeMap<u32, Pair>,
    last: u64,
}

impl UnderWay {
    /// Whether nothing is under way to a target.
    pub fn is_idle(&self, target: u32) -> bool {
        !self.pairs.contains_key(&target)
    }

    /// Holds it back if the window is full; whether it may go.
    pub fn admit(&mut self, asked: Asked, window: u16) -> bool {
        let pair = self.pairs.entry(asked.target).or_default();
        let may_go = pair.held.is_empty() && pair.requests.len() < usize::from(window);
        if !may_go {
            pair.held.push_back(asked);
        }
        may_go
    }

    /// The number of a request that begins now.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// It is under way.
    pub fn begin(&mut self, target: u32, request: Request) {
        self.pairs.entry(target).or_default().requests.push_back(request);
    }

    /// The target has answered; the request, if it is under way.
    pub fn answered(&mut self, target: u32, ticket: u64) -> Option<Request> {
        let requests = &mut self.pairs.get_mut(&target)?.requests;
        let place = requests.iter().position(|request| request.ticket == ticket)?;
        requests.remove(place)
    }

    /// Whether a request is under way, and the one who has asked for it still there.
    pub fn knows(&self, target: u32, ticket: u64) -> bool {
        let Some(pair) = self.pairs.get(&target) else { return false };
        pair.requests.iter().any(|request| request.ticket == ticket && request.ends != Ends::Unseen)
    }

    /// The next of those that end because all up to a number are done.
    pub fn next_done(&mut self, target: u32, done: u64) -> Option<Request> {
        let requests = &mut self.pairs.get_mut(&target)?.requests;
        let is_done = |request: &Request| request.sequence <= done && request.ends != Ends::ByAnswer;
        let place = requests.iter().position(is_done)?;
        requests.remove(place)
    }

    /// The next that was held back and may go; forgets the pair if nothing is left.
    pub fn next_held(&mut self, target: u32, window: u16) -> Option<Asked> {
        let pair = self.pairs.get_mut(&target)?;
        if pair.requests.is_empty() && pair.held.is_empty() {
            self.pairs.remove(&target);
            return None;
        }
        match pair.requests.len() < usize::from(window) {
            true => pair.held.pop_front(),
            false => None,
        }
    }

    /// A rank is gone: forgets what it has asked for and what has not been sent, but for what `stays`. The ends of the
    /// others are seen by nobody.
    pub fn withdraw(&mut self, rank: u32, unsent: &BTreeSet<u64>, stays: impl Fn(&Asked) -> bool) {
        for pair in self.pairs.values_mut() {
            pair.requests.retain(|request| !unsent.contains(&request.sequence));
            let of_rank = pair.requests.iter_mut().filter(|request| request.rank == rank);
            of_rank.for_each(|request| request.ends = Ends::Unseen);
            pair.held.retain(|asked| asked.rank != rank || stays(asked));
        }
    }

    /// Forgets what was held back of a kind.
    pub fn drop_held(&mut self, kind: Kind) {
        self.pairs.values_mut().for_each(|pair| pair.held.retain(|asked| asked.kind != kind));
    }

    /// Forgets a pair: what was under way, and what was held back.
    pub fn lose(&mut self, target: u32) -> (VecDeque<Request>, VecDeque<Asked>) {
        let pair = self.pairs.remove(&target).unwrap_or_default();
        (pair.requests, pair.held)
    }

    /// Targets to which something is under way.
    pub fn targets(&self) -> Vec<u32> {
        self.pairs.keys().copied().collect()
    }

    /// What is under way to a target and has left this node.
    pub fn sent(&self, target: u32, unsent: &BTreeSet<u64>) -> Vec<Request> {
        let requests = self.pairs.get(&target).into_iter().flat_map(|pair| &pair.requests);
        requests.filter(|request| !unsent.contains(&request.sequence)).copied().collect()
    }

    /// Requests under way to a target, and held back.
    pub fn of(&self, target: u32) -> (usize, usize) {
        self.pairs.get(&target).map_or((0, 0), |pair| (pair.requests.len(), pair.held.len()))
    }
}
