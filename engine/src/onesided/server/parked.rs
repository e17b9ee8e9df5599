//! Requests that have arrived and cannot be done at once: there is no room for an answer, or their data are still with
//! the origin. Those of one origin are done in order, so others of it wait behind them.

use super::{Header, Sender};
use std::collections::{BTreeMap, VecDeque};

/// A request in a buffer of this server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parked {
    /// Its header.
    pub header: Header,
    /// Its body.
    pub body: Box<[u8]>,
    /// Whose buffer it is in.
    pub sender: Sender,
    /// Its data have been asked for.
    pub is_fetching: bool,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parking {
    origins: BTreeMap<u32, VecDeque<Parked>>,
    fetching: u16,
}

impl Parking {
    /// Whether requests of an origin have to wait behind others.
    pub fn is_waiting(&self, origin: u32) -> bool {
        self.origins.contains_key(&origin)
    }

    /// Parks a request.
    pub fn park(&mut self, request: Parked) {
        self.origins.entry(request.header.origin).or_default().push_back(request);
    }

    /// The first of an origin.
    pub fn first(&self, origin: u32) -> Option<&Parked> {
        self.origins.get(&origin)?.front()
    }

    /// Data are asked for, for the first of an origin, which this is; `None` if that is being done for too many.
    pub fn begin_to_fetch(&mut self, origin: u32, most: u16) -> Option<&Parked> {
        let first = self.origins.get_mut(&origin)?.front_mut()?;
        if self.fetching >= most {
            return None;
        }
        self.fetching += 1;
        first.is_fetching = true;
        Some(first)
    }

    /// The first of an origin is done.
    pub fn leave(&mut self, origin: u32) -> Option<Parked> {
        let all = self.origins.get_mut(&origin)?;
        let first = all.pop_front()?;
        if all.is_empty() {
            self.origins.remove(&origin);
        }
        self.fetching -= u16::from(first.is_fetching);
        Some(first)
    }

    /// Those who have any, in order.
    pub fn origins(&self) -> Vec<u32> {
        self.origins.keys().copied().collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.origins.values().map(VecDeque::len).sum()
    }
}
