//! Which moves of a state have to be tried, where requests alone take time (`Order::Direct`).
//!
//! Two moves depend on each other only if they add requests to the queue of one link, do something with one lock, or do
//! requests of the same node: all others commute, whatever else happens. Of moves that commute one order stands for all. So in each state it is enough
//! to try the moves of a *stubborn set*: it begins with some move; for each move in it that is possible, all moves that
//! depend on it are in it, now or whenever they come; for each that is not possible, those that have to come before.

use crate::program::{self, Step};
use crate::server::{Gone, Header, Kind, Sender, Topology};
use crate::world::{Move, World};
use std::collections::{BTreeMap, BTreeSet};

/// What moves contend for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource {
    /// The end of the queue of a link.
    Link(u32, u32),
    /// The lock of a node.
    Lock(u32),
    /// The order in which requests of one node to another are done.
    Pair(u32, u32),
}

/// A request of a program: all that it will ever do.
#[derive(Debug)]
struct Request {
    node: u32,
    local: usize,
    number: usize,
    step: Step,
    uses: Vec<Resource>,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unasked,
    /// In the queue of a link, as the so manyeth.
    Queue((u32, u32)),
    /// Between two nodes; whether it is the first there.
    Channel((u32, u32), bool),
    Done,
}

/// The requests of a world's programs.
#[derive(Debug)]
pub struct Reduction {
    requests: Vec<Request>,
    by_ticket: BTreeMap<u64, usize>,
}

impl Reduction {
    /// Of a world.
    pub fn new(world: &World) -> Reduction {
        let mut requests = Vec::new();
        let mut by_ticket = BTreeMap::new();
        for (node, ranks) in world.plan.programs.iter().enumerate() {
            for (local, steps) in ranks.iter().enumerate() {
                for (number, &step) in steps.iter().enumerate() {
                    let ticket = program::ticket(world.rank(node as u32, local), number);
                    by_ticket.insert(ticket, requests.len());
                    let uses = uses(world, node as u32, step, ticket);
                    requests.push(Request { node: node as u32, local, number, step, uses });
                }
            }
        }
        Reduction { requests, by_ticket }
    }

    /// The moves that have to be tried.
    pub fn choose(&self, world: &World, moves: Vec<Move>) -> Vec<Move> {
        if moves.len() < 2 {
            return moves;
        }
        let places = self.places(world);
        let mut best = moves.clone();
        for &seed in &moves {
            let Some(set) = self.stubborn(world, &places, seed, best.len()) else { continue };
            best = set;
            if best.len() == 1 {
                break;
            }
        }
        best
    }

    /// The possible moves of the stubborn set of a seed, if they are fewer than so many.
    fn stubborn(&self, world: &World, places: &[Place], seed: Move, most: usize) -> Option<Vec<Move>> {
        let mut inside = BTreeSet::new();
        let mut open = vec![self.request_of(world, seed)];
        let mut moves = Vec::new();
        while let Some(request) = open.pop() {
            if !inside.insert(request) {
                continue;
            }
            match self.move_of(world, places, request) {
                Ok(next) => {
                    if !moves.contains(&next) {
                        moves.push(next);
                    }
                    if moves.len() >= most {
                        return None;
                    }
                    open.extend(self.dependent(places, request));
                }
                Err(before) => open.extend(before),
            }
        }
        Some(moves)
    }

    /// The request of a possible move.
    fn request_of(&self, world: &World, next: Move) -> usize {
        match next {
            Move::Rank(node, local) => {
                let (number, _) = world.next_step(node, local).expect("it is possible");
                self.by_ticket[&program::ticket(world.rank(node, local), number)]
            }
            Move::Message(from, to) => self.by_ticket[&world.head(from, to).expect("it is possible").ticket],
        }
    }

    /// The next move of a request if it is possible now, else requests one of which has to move before.
    fn move_of(&self, world: &World, places: &[Place], request: usize) -> Result<Move, Vec<usize>> {
        let Request { node, local, number, .. } = self.requests[request];
        match places[request] {
            Place::Channel((from, to), true) => Ok(Move::Message(from, to)),
            Place::Channel((from, to), false) => Err(vec![self.request_of(world, Move::Message(from, to))]),
            Place::Queue(link) => Err(self.holders(places, link)),
            Place::Done => Err(self.openers(places, request)),
            Place::Unasked => {
                let (next, waits) = world.nodes[node as usize].ranks[local];
                let first = request - number;
                match (waits, next == number) {
                    (false, true) => Ok(Move::Rank(node, local)),
                    (false, false) => Err(vec![first + next]),
                    (true, _) => Err(vec![first + next - 1]),
                }
            }
        }
    }

    /// Requests that have the credits of a link.
    fn holders(&self, places: &[Place], link: (u32, u32)) -> Vec<usize> {
        let all = (0..self.requests.len()).filter(|&other| {
            let uses = &self.requests[other].uses;
            match places[other] {
                Place::Channel(there, _) => there == link,
                Place::Queue((from, to)) => {
                    let at = uses.iter().position(|&it| it == Resource::Link(from, to)).expect("it is there");
                    at > 0 && uses[at - 1] == Resource::Link(link.0, link.1)
                }
                _ => false,
            }
        });
        all.collect()
    }

    /// Requests that give back the lock for which a request waits that was done.
    fn openers(&self, places: &[Place], request: usize) -> Vec<usize> {
        let of = self.requests[request].step.target();
        let is_opener = |other: &usize| matches!(self.requests[*other].step, Step::Unlock { of: other, .. } if other == of);
        (0..self.requests.len()).filter(|other| places[*other] != Place::Done && is_opener(other)).collect()
    }

    /// Requests that will contend with a request for what its next move is about.
    fn dependent(&self, places: &[Place], request: usize) -> Vec<usize> {
        let this = &self.requests[request];
        let next = self.used(request, places[request]);
        // A fence that finds nothing under way sends nothing.
        let is_fence = matches!(this.step, Step::Fence { .. });
        let also = this.uses.last().filter(|_| is_fence && next == 0);
        let now = match this.uses[next] {
            Resource::Link(..) => &this.uses[next..=next],
            _ => &this.uses[next..],
        };
        let wanted: Vec<Resource> = now.iter().chain(also).copied().collect();
        let is_after = |other: &Request| {
            (other.node, other.local) == (this.node, this.local)
                && other.number > this.number
                && other.uses == this.uses
                && !matches!(other.step, Step::Fence { .. })
        };
        let contends = |other: &usize| {
            let it = &self.requests[*other];
            let left = &it.uses[self.used(*other, places[*other])..];
            *other != request && !is_after(it) && left.iter().any(|it| wanted.contains(it))
        };
        (0..self.requests.len()).filter(contends).collect()
    }

    /// How much of what a request does is over.
    fn used(&self, request: usize, place: Place) -> usize {
        let uses = &self.requests[request].uses;
        match place {
            Place::Unasked => 0,
            Place::Done => uses.len(),
            Place::Queue((from, to)) | Place::Channel((from, to), _) => {
                1 + uses.iter().position(|&it| it == Resource::Link(from, to)).expect("it is there")
            }
        }
    }

    /// Where all requests are.
    fn places(&self, world: &World) -> Vec<Place> {
        let next = |request: &Request| world.nodes[request.node as usize].ranks[request.local].0;
        let asked =
            |request: &Request| if request.number < next(request) { Place::Done } else { Place::Unasked };
        let mut places: Vec<Place> = self.requests.iter().map(asked).collect();
        for (&link, channel) in &world.channels {
            for (at, message) in channel.iter().enumerate() {
                let (header, _) = Header::read(message).expect("a message");
                places[self.by_ticket[&header.ticket]] = Place::Channel(link, at == 0);
            }
        }
        for node in &world.nodes {
            for (link, header) in node.server.waiting() {
                let (to, Sender::Node(from)) = link else { panic!("the credits are a process's") };
                places[self.by_ticket[&header.ticket]] = Place::Queue((from, to));
            }
        }
        places
    }
}

/// What a request contends for, in order.
fn uses(world: &World, origin: u32, step: Step, ticket: u64) -> Vec<Resource> {
    let target = step.target();
    let kind = step.asked(origin, ticket).kind;
    let request = Header { kind, origin, target, ticket, ..Header::default() };
    let (mut here, mut uses) = (origin, Vec::new());
    while here != target {
        let hop = world.plan.ways.next(here, &request, Gone::default().all()).expect("nobody is gone");
        uses.push(Resource::Link(here, hop.node));
        here = hop.node;
    }
    if matches!(kind, Kind::Lock | Kind::Unlock) {
        uses.push(Resource::Lock(target));
    }
    uses.push(Resource::Pair(origin, target));
    uses
}
