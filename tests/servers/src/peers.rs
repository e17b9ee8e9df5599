//! Synthetic peers around one server: as many as a job of a million nodes has. They keep to the protocol: their
//! credits, their ways, the order of their messages.

use crate::random::Random;
use crate::server::{Gone, Grid, Header, Kind, Sender, Settings, Topology, ANSWER, HEADER_BYTES};
use crate::subject::{Sent, Subject};
use crate::ways::Ways;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The peers of a server.
pub struct Peers {
    here: u32,
    ways: Ways,
    settings: Settings,
    ranks: u32,
    random: Random,
    /// Those who send to the server, and the credits that each has left.
    senders: Vec<(Sender, u8)>,
    place: BTreeMap<Sender, usize>,
    sequence: u64,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Requests that peers have sent to the server.
    pub requests: u64,
    /// Messages that it has sent.
    pub messages: u64,
    /// How many of them were requests passed on.
    pub passed: u64,
    /// The most of its buffers that were in use at once.
    pub most_in_use: u64,
}

impl Peers {
    /// All peers that can send to a server.
    pub fn new(here: u32, ways: Ways, settings: Settings, ranks: u32, seed: u64) -> Peers {
        let senders: Vec<Sender> = match &ways {
            Ways::Clusters(clusters) => {
                let first = here - here % clusters.of;
                let all = 0..clusters.nodes * ranks;
                let others = all.filter(|&rank| rank / ranks != here && clusters.member(rank, here) == here);
                let members = (first..(first + clusters.of).min(clusters.nodes)).filter(|&node| node != here);
                others.map(Sender::Process).chain(members.map(Sender::Node)).collect()
            }
            ways => {
                let neighbours = ways.grid().expect("it is one").neighbours(here);
                neighbours.into_iter().map(|hop| Sender::Node(hop.node)).collect()
            }
        };
        let place = senders.iter().enumerate().map(|(place, &sender)| (sender, place)).collect();
        let senders = senders.into_iter().map(|sender| (sender, settings.credits)).collect();
        Peers { here, ways, settings, ranks, random: Random::new(seed), senders, place, sequence: 0 }
    }

    /// How many can send to the server.
    pub fn count(&self) -> usize {
        self.senders.len()
    }

    /// All peers send all they can, each as long as a buffer, while the server can pass nothing on and answer nobody: so
    /// all of its buffers are in use. Then all goes on, until it is at rest.
    pub fn flood(&mut self, subject: &mut impl Subject, buffer_bytes: usize, mut full: impl FnMut()) -> Seen {
        let mut seen = Seen::default();
        // Its own links are full, because nobody gives credits back.
        let mut owed = BTreeMap::new();
        subject.hold(true);
        while self.senders.iter().any(|&(_, left)| left > 0) {
            for place in 0..self.senders.len() {
                if self.senders[place].1 > 0 {
                    let sent = self.send_to(place, buffer_bytes, false, subject, &mut seen);
                    owe(&sent, &mut owed);
                    self.note(&sent, &mut seen);
                }
            }
            // What the first ones have left in its links fills them; their credits come back.
            let sent = subject.poll();
            owe(&sent, &mut owed);
            self.note(&sent, &mut seen);
            self.count_in_use(&mut seen);
        }
        full();
        subject.hold(false);
        // Credits come back, so more goes out, until all is through.
        let mut open = subject.poll();
        loop {
            owe(&open, &mut owed);
            self.note(&open, &mut seen);
            let Some((node, credits)) = owed.pop_first() else { break };
            let credit = Header { credits, ..Header::default() };
            open = subject.arrive(node, &credit.write());
            open.extend(subject.poll());
        }
        seen
    }

    /// A time of traffic by chance under a virtual clock: peers send as they have credits, and give back those of the
    /// server after a while. `hot` of 8 requests are for the server's own node.
    pub fn traffic(&mut self, subject: &mut impl Subject, (requests, bytes, hot): (u64, usize, u64)) -> Seen {
        let mut seen = Seen::default();
        let mut clock = BinaryHeap::new();
        let mut now = 0u64;
        while seen.requests < requests {
            now += self.random.below(20);
            while let Some(Reverse((time, node))) = clock.peek().copied() {
                if time > now {
                    break;
                }
                clock.pop();
                let credit = Header { credits: 1, ..Header::default() };
                let sent = subject.arrive(node, &credit.write());
                self.follow(&sent, now, &mut clock, &mut seen);
            }
            let place = self.random.below(self.senders.len() as u64) as usize;
            if self.senders[place].1 > 0 {
                let is_hot = self.random.below(8) < hot;
                let sent = self.send_to(place, bytes, is_hot, subject, &mut seen);
                self.follow(&sent, now, &mut clock, &mut seen);
            }
            if self.random.below(4) == 0 {
                let sent = subject.poll();
                self.follow(&sent, now, &mut clock, &mut seen);
            }
            let used: u64 =
                self.senders.iter().map(|(_, left)| u64::from(self.settings.credits - left)).sum();
            seen.most_in_use = seen.most_in_use.max(used);
        }
        while let Some(Reverse((_, node))) = clock.pop() {
            let credit = Header { credits: 1, ..Header::default() };
            let mut sent = subject.arrive(node, &credit.write());
            sent.extend(subject.poll());
            self.follow(&sent, now, &mut clock, &mut seen);
        }
        seen
    }

    /// What the server has passed on comes back as a credit after a while.
    fn follow(
        &mut self,
        sent: &Sent,
        now: u64,
        clock: &mut BinaryHeap<Reverse<(u64, u32)>>,
        seen: &mut Seen,
    ) {
        for (to, header) in sent {
            if header.kind.is_request() {
                clock.push(Reverse((now + 50 + self.random.below(200), *to)));
            }
        }
        self.note(sent, seen);
    }

    /// What the server has sent gives credits back, or answers.
    fn note(&mut self, sent: &Sent, seen: &mut Seen) {
        for (to, header) in sent {
            seen.messages += 1;
            seen.passed += u64::from(header.kind.is_request());
            if let Some(&place) = self.place.get(&Sender::Node(*to)) {
                self.senders[place].1 += header.credits;
            }
            // In clusters the credit of a process comes back with its answer: at once, for what is passed on.
            let process = Sender::Process(header.origin_rank);
            let is_over = header.kind == Kind::Answer || header.kind.is_request();
            if let Some(&place) = self.place.get(&process).filter(|_| is_over) {
                let is_by_process = self.senders[place].1 < self.settings.credits;
                self.senders[place].1 += u8::from(is_by_process);
            }
        }
    }

    fn count_in_use(&self, seen: &mut Seen) {
        let used: u64 = self.senders.iter().map(|(_, left)| u64::from(self.settings.credits - left)).sum();
        seen.most_in_use = seen.most_in_use.max(used);
    }

    /// One of the senders sends a request whose way leads through the server.
    fn send_to(
        &mut self,
        place: usize,
        bytes: usize,
        is_hot: bool,
        subject: &mut impl Subject,
        seen: &mut Seen,
    ) -> Sent {
        let sender = self.senders[place].0;
        self.sequence += 1;
        let (origin, origin_rank, target, class) = match self.ways.clone() {
            Ways::Clusters(clusters) => {
                let first = self.here - self.here % clusters.of;
                let members = clusters.of.min(clusters.nodes - first);
                let other = first + self.random.below(u64::from(members)) as u32;
                match sender {
                    Sender::Process(rank) => {
                        (rank / self.ranks, rank, if is_hot { self.here } else { other }, 0)
                    }
                    Sender::Node(node) => {
                        // Passed on by a member, for the server itself: of a process that sends to that member.
                        let index = node - first;
                        let rank = index
                            + members
                                * self.random.below(u64::from(clusters.nodes * self.ranks / members)) as u32;
                        (rank / self.ranks, rank, self.here, 1)
                    }
                }
            }
            ways => {
                let grid = ways.grid().expect("it is one");
                let Sender::Node(node) = sender else { panic!("credits are a node's") };
                let (origin, target, class) = self.through(grid, node, is_hot);
                (origin, origin * self.ranks, target, class)
            }
        };
        self.senders[place].1 -= 1;
        seen.requests += 1;
        let from = if let Sender::Node(node) = sender { node } else { origin };
        let flags = if self.ways.has_one_way() { 0 } else { ANSWER };
        let header = Header {
            kind: Kind::Operation,
            class,
            flags,
            origin,
            target,
            origin_rank,
            target_rank: target * self.ranks,
            bytes: bytes as u32,
            sequence: self.sequence,
            ticket: self.sequence,
            ..Header::default()
        };
        let mut message = header.write().to_vec();
        message.resize(HEADER_BYTES + bytes, 0x5a);
        subject.arrive(from, &message)
    }

    /// Origin, target and class of a request that a neighbour sends to the server: by chance, or for the server's node.
    fn through(&mut self, grid: &Grid, neighbour: u32, is_hot: bool) -> (u32, u32, u8) {
        let to_here = grid.hop(neighbour, self.here, Gone::default().all()).expect("they are neighbours");
        let mut target = self.here;
        let mut stride = 1;
        for (class, &extent) in grid.extents().iter().enumerate() {
            if class > usize::from(to_here.class) && !is_hot {
                let own = target / stride % extent;
                let other = target - own * stride + self.random.below(u64::from(extent)) as u32 * stride;
                target = if other < grid.nodes() { other } else { target };
            }
            stride = stride.saturating_mul(extent);
        }
        (neighbour, target, to_here.class)
    }
}

/// Notes the credits that the server has used.
fn owe(sent: &Sent, owed: &mut BTreeMap<u32, u8>) {
    for (to, _) in sent.iter().filter(|(_, header)| header.kind.is_request()) {
        *owed.entry(*to).or_default() += 1;
    }
}
