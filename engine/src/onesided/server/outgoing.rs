//! Requests that leave this node: credits of its links, and what waits for them, in order.

use super::{Header, Sender};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request that waits for a credit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// A rank of this node has it.
    Own(Header),
    /// It is in a buffer of this server, which is its sender's.
    Passing(Header, Box<[u8]>, Sender),
}

/// A link: where it leads, and whose credits it has.
pub type Link = (u32, Sender);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Queue {
    used: u8,
    waiting: VecDeque<Waiting>,
}

/// The links of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Outgoing {
    links: BTreeMap<Link, Queue>,
}

impl Outgoing {
    /// Takes a credit for a request that comes now, if nothing waits before it.
    pub fn take(&mut self, link: Link, credits: u8) -> bool {
        let queue = self.links.entry(link).or_default();
        let is_free = queue.waiting.is_empty() && queue.used < credits;
        queue.used += u8::from(is_free);
        is_free
    }

    /// It waits.
    pub fn wait(&mut self, link: Link, request: Waiting) {
        self.links.entry(link).or_default().waiting.push_back(request);
    }

    /// Credits come back; whether there was use for so many.
    pub fn give_back(&mut self, link: Link, credits: u8) -> bool {
        let Some(queue) = self.links.get_mut(&link) else { return credits == 0 };
        let used = queue.used.checked_sub(credits);
        queue.used = used.unwrap_or(0);
        used.is_some()
    }

    /// The next request that has a credit, which it takes.
    pub fn next(&mut self, link: Link, credits: u8) -> Option<Waiting> {
        let queue = self.links.get_mut(&link).filter(|queue| queue.used < credits)?;
        let next = queue.waiting.pop_front()?;
        queue.used += 1;
        Some(next)
    }

    /// Credits of a link in use, and requests that wait for one.
    pub fn of(&self, link: Link) -> (u8, usize) {
        self.links.get(&link).map_or((0, 0), |queue| (queue.used, queue.waiting.len()))
    }

    /// Forgets the links of which this is true; what has waited there.
    pub fn lose(&mut self, is_lost: impl Fn(Link) -> bool) -> Vec<Waiting> {
        let lost: Vec<Link> = self.links.keys().copied().filter(|&link| is_lost(link)).collect();
        lost.iter().filter_map(|link| self.links.remove(link)).flat_map(|queue| queue.waiting).collect()
    }

    /// Forgets requests of ranks of this node of which this is true, and gives their numbers.
    pub fn withdraw(&mut self, is_meant: impl Fn(&Header) -> bool) -> BTreeSet<u64> {
        let mut numbers = BTreeSet::new();
        for queue in self.links.values_mut() {
            queue.waiting.retain(|waiting| match waiting {
                Waiting::Own(header) if is_meant(header) => !numbers.insert(header.sequence),
                _ => true,
            });
        }
        numbers
    }

    /// This node's own requests that wait.
    pub fn own(&self) -> impl Iterator<Item = &Header> + '_ {
        self.links.values().flat_map(|queue| &queue.waiting).filter_map(|waiting| match waiting {
            Waiting::Own(header) => Some(header),
            Waiting::Passing(..) => None,
        })
    }

    /// What waits, with the link for which it does.
    pub fn waiting(&self) -> impl Iterator<Item = (Link, &Header)> + '_ {
        let all = self.links.iter().flat_map(|(&link, queue)| queue.waiting.iter().map(move |it| (link, it)));
        all.map(|(link, it)| match it {
            Waiting::Own(header) | Waiting::Passing(header, ..) => (link, header),
        })
    }

    /// Each link.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.links.keys().copied()
    }

    /// Whether nothing waits.
    pub fn is_idle(&self) -> bool {
        self.links.values().all(|queue| queue.waiting.is_empty())
    }
}
